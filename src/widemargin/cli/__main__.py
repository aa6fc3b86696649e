"""The ``widemargin`` command.

Exit codes: 0 done; 1 not converged, or only part of the work done; 2 bad usage or bad
input, with file, line and column of the first error, or a refusal of the system (no
memory, no space, no permission), in one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import NoReturn

import click

from widemargin.cli.commands import Commands
from widemargin.cli.system_errors import is_refusal, refusal


@click.group(cls=Commands, context_settings={"help_option_names": ["--help"]})
@click.version_option(package_name="widemargin")
def widemargin() -> None:
    """Support vector machines for data as it really is.

    Files are LIBSVM's, CSV or Parquet, models are safe to open. Start with: widemargin
    demo
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
