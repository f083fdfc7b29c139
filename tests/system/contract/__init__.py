"""The contract, sentence by sentence, over real sockets."""
