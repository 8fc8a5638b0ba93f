"""The page of the command line, written from the commands themselves."""

import inspect
from typing import Any

import typer

from lineament.cli import app

HEAD = """# Command line

Written from the commands themselves; `lineament COMMAND --help` says the same. The exit code is 0 when all went well, 1 when
a claim raised an error or has the verdict "fails", 2 for a mistake in the arguments, told in one line, and 130 after Ctrl-C.

`lineament --install-completion` teaches your shell (bash, zsh, fish, PowerShell) to complete commands, options, ids of claims,
papers and data sets with the Tab key; open a new shell afterwards. `--show-completion` prints the script instead.
"""


def page() -> str:
    """The page: a section for each command, with its usage, what it does, its arguments and its options."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return "\n".join([HEAD, *(_section(f"lineament {name}", command) for name, command in commands.items())])


def _section(name: str, command: Any) -> str:
    if hasattr(command, "commands"):
        return "\n".join(_section(f"{name} {inner}", part) for inner, part in command.commands.items())
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    rows = [_row(parameter, context) for parameter in command.params if parameter.name != "help"]
    table = ["| | |", "| --- | --- |", *rows, ""] if rows else []
    return "\n".join(
        [f"## {name}", "", "```console", f"$ {usage}", "```", "", inspect.cleandoc(command.help), "", *table]
    )


def _row(parameter: Any, context: Any) -> str:
    record = parameter.get_help_record(context)
    if record is None:  # arguments of some versions of click have none
        record = (parameter.make_metavar(context), getattr(parameter, "help", None) or "")
    names, text = (part.strip().replace("|", r"\|") for part in record)
    return f"| `{names}` | {text} |"
