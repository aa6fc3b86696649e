"""Output of the commands: results to stdout, the rest to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import click
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from widemargin.cli.files import read
from widemargin.cli.parsed_data import Data, DataError
from widemargin.cli.streams import is_stream
from widemargin.cli.system_errors import file_refusal, refusal
from widemargin.estimators.base.feature_scales import ScaleWarning
from widemargin.persistence import StorageError, load, save


class InputError(click.ClickException):
    """Bad input: exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message, as it is."""
        return self.message


def remark(text: str, quiet: bool = False) -> None:
    """Print a remark to stderr, unless ``quiet``."""
    if not quiet:
        click.echo(text, err=True)


def show_progress(quiet: bool) -> bool:
    """Whether progress is wanted: on a terminal, not in a pipe."""
    return not quiet and sys.stderr.isatty()


def read_data(path: str, *, quiet: bool = False, **settings: Any) -> Data:
    """Read a data file; whatever is wrong with it ends the command with code 2."""
    with contextlib.ExitStack() as stack:
        watch = None
        if show_progress(quiet):
            # files that take less than a second show nothing
            bar = tqdm(unit="B", unit_scale=True, leave=False, delay=1.0)
            bar.set_description(f"reading {path}", refresh=False)
            stack.enter_context(bar)

            def watch(done: int, size: int) -> None:
                bar.total = size or None
                bar.update(done - bar.n)

        try:
            return read(path, watch=watch, **settings)
        except DataError as error:
            raise InputError(str(error)) from error
        except MemoryError as error:
            raise InputError(f"{path}: {refusal(error)}") from error


def load_model(path: str) -> Any:
    """Read a model file; whatever is wrong with it ends the command with code 2."""
    try:
        return load(path)
    except StorageError as error:
        raise InputError(str(error)) from error
    except (OSError, MemoryError) as error:
        raise InputError(file_refusal(path, error)) from error


def refuse_overwriting(output: str, *inputs: str) -> None:
    """Raise if what is to be written is a file that is to be read."""
    for given in inputs:
        # only files: a terminal may well be read and written
        both = os.path.isfile(output) and os.path.exists(given)
        if both and os.path.samefile(output, given):
            raise InputError(f"{output}: would overwrite {given}, which is read")


def check_model_path(path: str, *inputs: str, what: str = "a model") -> None:
    """Raise, before any work, if no model (or `what`) can be written there."""
    if path == "" or is_stream(path):  # a device would be replaced by the file
        raise InputError(f"{path!r} is not a name for {what}, which must be a file")
    if os.path.isdir(path):
        raise InputError(f"{path}: Is a directory")
    try:
        os.stat(os.path.join(os.path.dirname(path) or ".", ""))
    except OSError as error:
        raise InputError(f"{path}: {refusal(error)}") from error
    refuse_overwriting(path, *inputs)


def save_model(model: Any, path: str) -> None:
    """Write a model file; where that cannot be done the command ends with code 2."""
    try:
        save(model, path)
    except (OSError, MemoryError) as error:
        raise InputError(f"{path}: {refusal(error)}") from error


class Outcome:
    """Whether a piece of work converged."""

    def __init__(self) -> None:
        self.converged = True


@contextlib.contextmanager
def catching_warnings(quiet: bool) -> Iterator[Outcome]:
    """Print warnings as remarks; one of convergence also sets the outcome."""
    outcome = Outcome()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield outcome
        except (ValueError, TypeError, ImportError) as error:
            raise InputError(str(error)) from error
        finally:
            said = set()
            for warning in caught:
                if issubclass(warning.category, ConvergenceWarning):
                    outcome.converged = False
                elif issubclass(warning.category, DeprecationWarning):
                    continue
                elif issubclass(warning.category, ScaleWarning):
                    continue  # the hint before training says so, with the option
                elif "valid feature names" in str(warning.message):
                    continue  # columns were matched by name when the file was read
                if str(warning.message) not in said:
                    said.add(str(warning.message))
                    remark(f"warning: {warning.message}", quiet)
