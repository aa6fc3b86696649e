"""The commands by name: a new one is a line in `COMMANDS`."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

import click

from widemargin.cli.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: command -> module, function and a line for ``--help``; modules are imported when
#: their command is called for, so that help is instant
COMMANDS = {
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


@cache
def _added() -> dict[str, EntryPoint]:
    """Return the commands of the packages beside this one."""
    from importlib.metadata import distribution  # only if it is needed

    points = distribution("widemargin").entry_points.select(group=GROUP)
    return {point.name: point for point in points}


class Commands(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they are used."""
        return [*COMMANDS, *_added()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            point = _added().get(cmd_name)
            return None if point is None else point.load()
        module, function, _ = COMMANDS[cmd_name]
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
        rows = [(name, line) for name, (_, _, line) in COMMANDS.items()]
        for name, point in _added().items():
            rows.append((name, point.load().get_short_help_str(limit=80)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
