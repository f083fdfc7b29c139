"""The phases of a connection, and the table of its transitions.

Invariant: a step that the table does not have raises, and changes nothing: it is a bug.

Theory of operation
===================

Four small machines share a connection. Each has its state in one variable:

1) The *phase* (this file): the present activity of the connection.
2) The *stage* of the parser (`parser.Stage`): its next byte belongs to no message, to a head, to a body, or
   to nothing that anybody reads.
3) The *reading half* of the socket (`channel.Reading`): bytes flow, bytes wait in the kernel, or the client
   has sent its last.
4) The *writing half* of the socket (`channel.Writing`): the client keeps up, it does not, or the connection
   is gone.

The phase is the only one with rules about requests. In the order of a life:

    OPENING    The connection is accepted. Its handshake is not over, or the loop has not reported it yet.
    FRESH      No request has come. The next bytes are parsed at once.
    HEAD       A part of a head has come, and nothing is being answered. The rest is parsed at once.
    BODY       A request has its turn, and the rest of it is still to come.
    ANSWERING  A request has its turn, and is complete. Everything behind it waits: as bytes in the socket, or
               as the request that was in the same slice (`Connection._queue`).
    IDLE       All requests are answered. The next bytes are parsed at once and begin a request.
    HELD       As IDLE or HEAD, but nothing may begin: the client has to read first, or others have their
               turn. Further bytes are kept unparsed.
    LAST       Further bytes are no request. Earlier requests are still being answered, in their order, and a
               refusal may follow.
    LINGERING  Everything is written, and our side is shut down. Further bytes are dropped.
    CLOSED     Nothing more is written. The loop may still have to report the end.

Steps are of two kinds. Most follow from *events* outside: the loop has opened the connection, the parser has
found a head, the application has answered. A few follow from the *joint* state of two machines, as soon as it
is reached, whatever led to it:

* IDLE with a parser in the middle of a head becomes HEAD. (The head came in one slice with the request before
  it, and had to wait for the answer to that.)
* IDLE with a client that does not read, or with bytes that are not parsed yet, becomes HELD. It is IDLE again
  as soon as the client has read and the bytes have their turn.
* IDLE on a connection whose client sends no more becomes LINGERING; so do HEAD and BODY.

`Connection.go_on` takes these steps.

Three choices need an explanation:

*IDLE and FRESH are exact.* The hot path looks at the phase alone before it answers a vote check from its
bytes. So IDLE has to mean all of this: no exchange, no unparsed byte, no part of a head, a client that reads.
That is why HELD is a phase, and not a property of IDLE.

*A vote check is no phase.* It is answered in the call that brings it. An IDLE connection stays IDLE, so the
hot path takes no step.

*A client that does not read does not change the phase of an exchange.* BODY, ANSWERING and LAST go on; the
application waits for the future of its write instead. Only the next request is HELD.
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
    WHOLE = auto()  # the request that has its turn is complete
    ANSWERED = auto()  # the exchange is over, and another may follow
    HOLD = auto()  # nothing may begin now
    FREE = auto()  # the next request may begin
    NO_MORE = auto()  # further bytes are no request
    LAST_WORD = auto()  # everything that will be written is written
    GONE = auto()  # the connection is lost, or was cut off


class ImpossibleStep(Exception):
    """A step that the table does not have: a bug, which has lost track of the connection."""

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
        Step.TURN: Phase.LAST,  # of a request that waited; all of these are complete
        Step.WHOLE: Phase.LAST,
        Step.ANSWERED: Phase.LAST,
        Step.LAST_WORD: Phase.LINGERING,
        Step.GONE: Phase.CLOSED,
    },
    Phase.LINGERING: {
        Step.GONE: Phase.CLOSED,
    },
    Phase.CLOSED: {
        Step.GONE: Phase.CLOSED,  # cut off by us, and then the loop reports it
    },
}


def after(phase: Phase, step: Step) -> Phase:
    """Return the phase that a step leads to. Raises ImpossibleStep."""
    try:
        return TRANSITIONS[phase][step]
    except KeyError:
        raise ImpossibleStep(phase, step) from None
