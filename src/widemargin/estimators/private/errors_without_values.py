"""Errors about private records that quote none of their values.

numpy, pandas and scikit-learn put the offending value, or the whole array, into many of
their messages ("could not convert string to float: 'secret-diagnosis'"), and an error
travels: into logs, tickets, notebooks. Here only the part of a foreign message passes
that is known to consist of names of parameters and features, types, shapes and counts;
a message that is not known is replaced. The original is not chained either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

_SHAPE = r"\([\d, ]*\)"
_KNOWN = {
    r"Found array with \d+ (?:sample|feature)\(s\) \(shape=" + _SHAPE + r"\) while a "
    r"minimum of \d+ is required(?: by \w+)?": "",
    r"Found array with dim \d+, while dim <= 2 is required(?: by \w+)?": "",
    r"Found array with dim \d+\. \w+ expected <= 2": "",
    r"Found input variables with inconsistent numbers of samples: \[[\d, ]+\]": "",
    r"X has \d+ features, but \w+ is expecting \d+ features as input": "",
    r"The feature names should match those that were passed during fit(?s:.*\S)": "",
    r"Input \w+ contains (?:NaN|infinity or a value too large for dtype\('\w+'\))": (
        "Remove or fill in such entries, by values that do not depend on the data"
    ),
    r"(?:This \w+ estimator )?requires y to be passed, but the target y is None": "",
    r"y should be a 1d array, got an array of shape " + _SHAPE: "Give a label per row",
    r"Unknown label type: [\w-]+": "Classes are whole numbers or text",
    r"y has \d+ missing labels \(None or NaN\)": "Leave those rows out of X and y",
    r"y mixes labels of different types \([\w, ]+\), which have no order": (
        "Give labels of one type"
    ),
    r"'<' not supported between instances of '\w+' and '\w+'": (
        "Give labels of one type, without None"
    ),
    r"Expected 2D array, got (?:1D|scalar) array instead": (
        "Reshape your data to (n_samples, n_features)"
    ),
    r"Complex data not supported": "",
    r"Sparse data was passed for [Xy], but dense data is required": "",
    r"X is a damaged sparse matrix: [\w\s]+\. Build it again from its entries": "",
    r"setting an array element with a sequence": "Every row must have as many entries",
    r"(?:float|int)\(\) argument must be a string(?:, a bytes-like object)? or a "
    r"(?:real )?number, not '\w+'": "",
    r"could not convert string to float|Unable to convert array of bytes/strings|"
    r"dtype='numeric' is not compatible with arrays of bytes/strings": (
        "Features must be numbers: encode text first, by a code that is known without "
        "looking at the data"
    ),
}
_UNKNOWN = (
    "the data could not be read as a matrix of numbers and one label per row; check "
    "their types and shapes"
)


def unquoted(error: Exception) -> Exception:
    """Return an error of the same kind whose message holds no value of the data."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for pattern, remedy in _KNOWN.items():
        if found := re.match(pattern, str(error)):
            return kind(". ".join(filter(None, (found[0], remedy))))
    return kind(f"{_UNKNOWN} (a {type(error).__name__}; values are not shown)")


def without_values(
    read: Callable[..., Result], /, *arguments: Any, **settings: Any
) -> Result:
    """Call `read` on private data; what it raises quotes none of them."""
    try:
        return read(*arguments, **settings)
    except MemoryError:
        raise  # sizes and shapes only
    except Exception as error:
        refusal = unquoted(error)
    # Outside of the handler, or the original would be kept as the context.
    raise refusal
