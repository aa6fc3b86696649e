"""The ``widemargin`` command.

Exit codes: 0 done; 1 not converged, or only part of the work done; 2 bad usage or bad
input, with file, line and column of the first offence.
"""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

#: command -> module and function, imported when called for: ``--help`` is instant
_COMMANDS = {
    "train": ("widemargin.cli.training", "train"),
    "predict": ("widemargin.cli.applying", "predict"),
    "evaluate": ("widemargin.cli.applying", "evaluate"),
    "info": ("widemargin.cli.models", "info"),
    "forget": ("widemargin.cli.models", "forget"),
    "demo": ("widemargin.cli.playing", "demo"),
    "reproduce": ("widemargin.cli.papers", "reproduce"),
    "bench": ("widemargin.cli.papers", "bench"),
}


class _Commands(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they are used."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), function)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["--help"]})
@click.version_option(package_name="widemargin")
def widemargin() -> None:
    """Support vector machines for data as it really is.

    Files are LIBSVM's or CSV, models are safe to open. Start with: widemargin demo
    """


def main() -> NoReturn:
    """Run the command and exit with its code."""
    try:
        code = widemargin.main(standalone_mode=False, prog_name="widemargin")
    except click.ClickException as error:
        error.show()
        code = 2
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("widemargin: interrupted; nothing was written", err=True)
        code = 1
    except BrokenPipeError:  # as in: widemargin info model | head
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
