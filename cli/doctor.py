"""`admin doctor`: everything that is wrong with a gateway now. Invariant: the exit status is 0 only if
nothing is wrong."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import click

from cli.caller import CallingCommand, GatewayCaller, pass_caller
from cli.outline import columns
from cli.remote import printable


@click.command(cls=CallingCommand)
@pass_caller
def doctor(caller: GatewayCaller) -> None:
    """Say what is wrong now, and what to do next.

    It ends with 1 if anything is wrong, or if no gateway answers.
    """
    answer = caller.call("showConcerns")
    concerns = answer["concerns"]
    caller.show(answer, lambda: _lines(concerns) if concerns else ["nothing is wrong"])
    if concerns:
        raise click.exceptions.Exit(1)


def _lines(concerns: Sequence[Mapping[str, str]]) -> Iterator[str]:
    width = columns()
    for concern in concerns:
        said = click.style(f"{concern['topic']}:", bold=True), printable(concern["text"])
        yield from textwrap.wrap(" ".join(said), width)
        yield from textwrap.wrap(
            printable(concern["action"]), width, initial_indent="  ", subsequent_indent="  "
        )


COMMANDS: dict[str, click.Command] = {"doctor": doctor}
