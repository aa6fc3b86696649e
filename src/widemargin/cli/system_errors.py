"""Errors of the operating system in one line: memory, space, threads, permission."""

from __future__ import annotations

from widemargin.cli.suggestions import nearby_file

_NO_THREAD = "can't start new thread"  # the message of Python


def is_refusal(error: BaseException) -> bool:
    """Whether the system refused something, rather than this program being wrong."""
    return isinstance(error, (OSError, MemoryError)) or (
        type(error) is RuntimeError and _NO_THREAD in str(error)
    )


def refusal(error: BaseException) -> str:
    """Return one line that says what was refused."""
    if isinstance(error, MemoryError):
        # NumPy says how much was asked for; Python says nothing, and C++ std::bad_alloc
        asked = str(error) if "llocate" in str(error) else ""
        return f"not enough memory ({asked})" if asked else "not enough memory"
    if isinstance(error, OSError):
        text = error.strerror or str(error) or type(error).__name__
    else:
        text = f"{error} (use fewer: --n-jobs)"
    return " ".join(text.split())


def file_refusal(path: str, error: BaseException) -> str:
    """Return one line that says why a file cannot be read; a near name if it is not."""
    near = nearby_file(path) if isinstance(error, FileNotFoundError) else ""
    return f"{path}: {refusal(error)}{near}"
