"""The phases of a connection, and the table of its transitions.

Invariant: a connection is in one phase, and a step that the table does not know is a bug, which raises before
it does harm.

Theory of operation
===================

Four small machines share a connection. Each has its state in one variable:

1) The *phase* (this file): what the connection is doing.
2) The *stage* of the parser (`parser.Stage`): whether its next byte belongs to no message, to a head, to a
   body, or to nothing that anybody reads.
3) The *reading half* of the socket (`channel.Reading`): bytes flow, bytes wait in the kernel, or the client
   has sent its last.
4) The *writing half* of the socket (`channel.Writing`): the client keeps up, it does not, or the connection
   is gone.

The phase is the only one with rules about requests. In the order of a life:

    OPENING    The connection is accepted. Its handshake is not over, or the loop has not told of it yet.
    FRESH      Nothing has been asked. The next bytes are parsed at once.
    HEAD       A part of a head has come, and nothing is being answered. The rest is parsed at once.
    BODY       A request has its turn, and the rest of it is still to come.
    ANSWERING  A request has its turn, and has come as a whole. What comes behind it waits: as bytes in the
               socket, or as the request that was in the same slice (`Connection._queue`).
    IDLE       Everything that was asked is answered. The next bytes are parsed at once and begin a request.
    HELD       As IDLE or HEAD, but nothing may begin: the client has to read first, or others have their
               turn. What comes is kept unparsed.
    LAST       What comes from now on is no request. What was asked before is still being answered, in its
               order, and a refusal may be spoken behind it.
    LINGERING  The last word is said and our side is shut down. What comes is dropped.
    CLOSED     Nothing more is written. The loop may still have to tell of the end.

Steps are of two kinds. *Events* of the outside lead to most of them: the loop has opened the connection, the
parser has found a head, the application has answered. A few follow from the *joint* state of two machines,
as soon as it is there, whatever led to it:

* IDLE with a parser in the middle of a head becomes HEAD. (The head came in one slice with the request before
  it, and had to wait for that one's answer.)
* IDLE with a client that does not read, or with bytes that are not parsed yet, becomes HELD. It is IDLE again
  as soon as the client has read and the bytes have their turn.
* IDLE on a connection whose client has sent its last becomes LINGERING; so do HEAD and BODY.

`Connection` takes these as it goes on (`Connection.go_on`); everything else is in the table.

Three choices deserve a word:

*IDLE and FRESH are exact.* The hot path asks for nothing but the phase before it answers a vote check from
its bytes alone. So IDLE has to mean all of it: no exchange, no byte unparsed, no part of a head, a client
that reads. That is why HELD is a phase, and not a property of IDLE.

*A vote check is no phase.* It is answered in the call that brings it. From outside, an IDLE connection stays
IDLE, so the hot path takes no step at all.

*A client that does not read does not change the phase of an exchange.* BODY, ANSWERING and LAST go on; the
application waits for the future of its write instead. Only what would begin is HELD.
"""

from enum import Enum, auto


class Phase(Enum):
    OPENING = auto()
    FRESH = auto()
    HEAD = auto()
    BODY = auto()
    ANSWERING = auto()
    IDLE = auto()
    HELD = auto()
    LAST = auto()
    LINGERING = auto()
    CLOSED = auto()


class Step(Enum):
    """The reason for a transition."""

    OPENED = auto()  # the loop has a transport for the connection
    DIRECT = auto()  # the first request was answered without the application
    HEAD_PART = auto()  # a part of a head is there, and its request would have its turn
    TURN = auto()  # an exchange begins
    WHOLE = auto()  # the request whose turn it is has come as a whole
    ANSWERED = auto()  # the exchange is over, and another may follow
    HOLD = auto()  # nothing may begin now
    FREE = auto()  # the next request may begin
    NO_MORE = auto()  # what comes from now on is no request
    LAST_WORD = auto()  # everything that will be written is written
    GONE = auto()  # the connection is lost, or was cut off


class ImpossibleStep(Exception):
    """A step that the table does not have: a bug of ours, which has lost track of the connection."""

    def __init__(self, phase: Phase, step: Step) -> None:
        super().__init__(f"{step.name} while {phase.name}")


TRANSITIONS: dict[Phase, dict[Step, Phase]] = {
    Phase.OPENING: {
        Step.OPENED: Phase.FRESH,
    },
    Phase.FRESH: {
        Step.DIRECT: Phase.IDLE,
        Step.HEAD_PART: Phase.HEAD,
        Step.TURN: Phase.BODY,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.HEAD: {
        Step.TURN: Phase.BODY,
        Step.HOLD: Phase.HELD,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.BODY: {
        Step.WHOLE: Phase.ANSWERING,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.ANSWERING: {
        Step.ANSWERED: Phase.IDLE,
        Step.NO_MORE: Phase.LAST,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.IDLE: {
        Step.HEAD_PART: Phase.HEAD,
        Step.TURN: Phase.BODY,
        Step.HOLD: Phase.HELD,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.HELD: {
        Step.TURN: Phase.BODY,  # of the slice in which the client was found not to read, or of the queue
        Step.FREE: Phase.IDLE,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.LAST: {
        Step.TURN: Phase.LAST,  # of a request that waited; all of them have come as a whole
        Step.WHOLE: Phase.LAST,
        Step.ANSWERED: Phase.LAST,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.LINGERING: {
        Step.GONE: Phase.CLOSED,
    },
    Phase.CLOSED: {
        Step.GONE: Phase.CLOSED,  # cut off by us, and then the loop tells of it
    },
}


def after(phase: Phase, step: Step) -> Phase:
    """Return the phase that a step leads to. Raises ImpossibleStep."""
    try:
        return TRANSITIONS[phase][step]
    except KeyError:
        raise ImpossibleStep(phase, step) from None
