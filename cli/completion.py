"""`completion`: the script by which a shell completes commands, options and states of `votegate`."""

import click
from click.shell_completion import get_completion_class

PROGRAM, VARIABLE = "votegate", "_VOTEGATE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, put this line into ~/.bashrc: eval "$(votegate completion bash)"
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"there is no script for {shell}")
    script = kind(context.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())
