"""The ``widemargin`` command.

Exit codes: 0 done; 1 not converged, or only part of the work done; 2 bad usage or bad
input, with file, line and column of the first offence, or a refusal of the system (no
memory, no space, no permission), in one line.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from widemargin.cli.refusals import is_refusal, refusal
from widemargin.cli.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: command -> module, function and a line for ``--help``; modules are imported when
#: their command is called for, so that help is instant
_COMMANDS = {
    "train": ("train_command", "train", "Train on DATA and write MODEL."),
    "tune": ("tune_command", "tune", "Try a grid of parameters, write the best MODEL."),
    "predict": ("predict_command", "predict", "Predict DATA, one label per line."),
    "evaluate": ("predict_command", "evaluate", "Score MODEL on labelled DATA."),
    "info": (
        "model_commands",
        "info",
        "Show what MODEL is and whether it holds training rows.",
    ),
    "ledger": (
        "private_training",
        "ledger",
        "Show or make a privacy budget that fits draw from.",
    ),
    "forget": ("model_commands", "forget", "Remove rows from MODEL, exactly."),
    "export": ("exchange_commands", "export", "Write MODEL for LIBSVM, or as ONNX."),
    "import": ("exchange_commands", "import_model", "Read a model file of LIBSVM."),
    "playground": (
        "playground_command",
        "playground",
        "Add, drag and forget points in the browser.",
    ),
    "demo": ("demo_command", "demo", "See what widemargin does, in about a minute."),
    "doctor": ("doctor_command", "doctor", "Show versions, hardware and a self-test."),
}


#: entry points of this distribution by which widemargin_papers adds its commands
GROUP = "widemargin.commands"


def _added() -> dict[str, EntryPoint]:
    """Return the commands of the packages beside this one."""
    from importlib.metadata import distribution  # only if it is needed

    points = distribution("widemargin").entry_points.select(group=GROUP)
    return {point.name: point for point in points}


class _Commands(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they are used."""
        return [*_COMMANDS, *_added()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in _COMMANDS:
            point = _added().get(cmd_name)
            return None if point is None else point.load()
        module, function, _ = _COMMANDS[cmd_name]
        found = importlib.import_module(f"widemargin.cli.{module}")
        command: click.Command = getattr(found, function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may have been meant."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(f"No such command {args[0]!r}{near}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing any of our own."""
        rows = [(name, line) for name, (_, _, line) in _COMMANDS.items()]
        for name, point in _added().items():
            rows.append((name, point.load().get_short_help_str(limit=80)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


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
        with contextlib.suppress(OSError):  # stderr cannot be written to either
            error.show()
        code = 2
    except click.exceptions.Exit as request:
        code = request.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("widemargin: interrupted; nothing was written")
        code = 1
    except OSError as error:  # a pipe closed by its reader, a full disk, a lost folder
        _give_up_stdout()
        code = 0
        if error.errno != errno.EPIPE:  # widemargin info model | head is no mistake
            _complain(f"Error: {error.filename or 'output'}: {refusal(error)}")
            code = 2
    except (MemoryError, RuntimeError) as error:
        if not is_refusal(error):
            raise
        _complain(f"Error: {refusal(error)}")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def _give_up_stdout() -> None:
    """Discard what could not be written, or Python would try again at exit."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
