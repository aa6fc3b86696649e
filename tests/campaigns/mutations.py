"""Ways to spoil a file: blindly, behind a correct checksum, and by its structure."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.runtime import model_file_format

PREFIX = struct.Struct("<8sIQ32s")
NASTY_VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 7, 2**31, 2**31 - 1, 2**63, -(2**63), 10**30,
    0.0, -0.5, 1e308, 5e-324, {"$float": "nan"}, {"$float": "inf"}, "", "a", "a0", "a1",
    "rbf", "linear", "precomputed", "SVC", "Pipeline", "Certificate", "Gaussian", "os",
    "__class__", "predict", [], [0], [1, 2], [-1], [[]], {},
    {"$": "array", "array": "a0"}, {"$": "array", "array": "a2"},
    {"$": "tuple", "items": []}, {"$": "csr"},
    {"$": "object", "class": "SVC", "state": {}}, {"$": "dict", "items": [[[], 1]]},
]  # fmt: skip
NASTY_TOKENS = [
    b"", b"0", b"-1", b"1", b"nan", b"inf", b"-inf", b"1e999", b"-1e999", b"1e-999",
    b"0x1p3", b"2147483647:1", b"2147483648:1", b"99999999999999999999:1", b"-1:1",
    b"0:1", b"1:1 1:1", b"3:1 2:1", b"1:", b":1", b":", b"1:1:1", b"1:\x00", b"\x00",
    b"\xff\xfe", b"qid:1", b"#", b'"', b'""', b'"a', b",", b",,,,", b";", b"\t", b"\r",
    b"\n", b"\r\n",
    b"+", b"-", b"+-1", b".", b"e5", b"1e", b"1" * 400, b"0." + b"1" * 400, b"1_000",
    "\u0661:\u0662".encode(), "\U0001f304".encode(), b"1:1e", b"1:+", b"label",
]  # fmt: skip


def bytes_changed(good: bytes, rng: np.random.Generator, start: int = 0) -> bytes:
    """Flip, cut, insert or repeat at random places from ``start`` on."""
    data = bytearray(good)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(start, max(len(data), start + 1)))
        length = int(rng.integers(1, 9))
        match int(rng.integers(5)):
            case 0:
                data[at : at + 1] = bytes([int(rng.integers(256))])
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = rng.bytes(length)
            case 3:
                data[at : at + length] = bytes([int(rng.choice([0, 255]))]) * length
            case _:
                data = data[:at] if rng.random() < 0.3 else data + data[at : at + 8]
    return bytes(data)


def resealed(data: bytes) -> bytes:
    """Give a spoilt model file a checksum that is right."""
    if len(data) < PREFIX.size:
        return data
    magic, version, length, _ = PREFIX.unpack(data[: PREFIX.size])
    body = data[PREFIX.size :]
    digest = hashlib.sha256(body).digest()
    return PREFIX.pack(magic, version, length, digest) + body


def structure_changed(good: bytes, rng: np.random.Generator) -> bytes:
    """Put nasty values into the header, or into the arrays, and seal the file."""
    text, arrays = header_and_arrays(good)
    if rng.random() < 0.35:
        return put_together(text, _numbers_changed(arrays, rng))
    document = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        _replace_somewhere(document, rng)
    return put_together(json.dumps(document).encode(), arrays)


def header_and_arrays(good: bytes) -> tuple[bytes, bytes]:
    """Return the JSON of a model file, inflated, and its arrays from the first on."""
    _, _, length, _ = PREFIX.unpack(good[: PREFIX.size])
    end = PREFIX.size + length
    text = good[PREFIX.size : end]
    plain = text if text.startswith(b"{") else zlib.decompress(text)
    return plain, good[end + -end % 64 :]


def put_together(text: bytes, arrays: bytes) -> bytes:
    """Return a sealed file with this header, not deflated."""
    padding = bytes(-(PREFIX.size + len(text)) % 64) if arrays else b""
    head = PREFIX.pack(
        model_file_format.MAGIC, model_file_format.VERSION, len(text), bytes(32)
    )
    return resealed(head + text + padding + arrays)


def _numbers_changed(arrays: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(arrays)
    whole = len(data) // 8
    for _ in range(int(rng.integers(1, 6)) if whole else 0):
        at = 8 * int(rng.integers(whole))
        nasty = (
            struct.pack("<d", float(rng.choice([np.nan, np.inf, 1e308, -1.0]))),
            struct.pack("<q", int(rng.choice([-1, 2**62, 2**31, 10**6, -(2**63)]))),
            struct.pack("<ii", int(rng.choice([-1, 2**31 - 1, 10**6])), 5),
        )
        data[at : at + 8] = nasty[int(rng.integers(3))]
    return bytes(data)


def _replace_somewhere(document: Any, rng: np.random.Generator) -> None:
    """Walk down to a random place of the tree and spoil what is there."""
    place = document
    while True:
        keys: list[Any] = list(place) if isinstance(place, dict) else []
        if isinstance(place, list):
            keys = list(range(len(place)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        below = place[key]
        if isinstance(below, (dict, list)) and below and rng.random() < 0.85:
            place = below
            continue
        if rng.random() < 0.15:
            del place[key]
        else:
            nasty = NASTY_VALUES[int(rng.integers(len(NASTY_VALUES)))]
            place[key] = copy.deepcopy(nasty)  # it may be spoilt itself next
        return


def model_mutant(good: bytes, rng: np.random.Generator) -> bytes:
    """Return one spoilt model file."""
    kinds: list[Callable[[], bytes]] = [
        lambda: bytes_changed(good, rng),
        lambda: resealed(
            bytes_changed(put_together(*header_and_arrays(good)), rng, PREFIX.size)
        ),
        lambda: structure_changed(good, rng),
        lambda: structure_changed(good, rng),
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def data_mutant(good: bytes, rng: np.random.Generator) -> bytes:
    """Return one malformed data file: nasty tokens, then perhaps blind changes."""
    lines = good.split(b"\n")
    for _ in range(int(rng.integers(1, 4))):
        i = int(rng.integers(len(lines)))
        separator = b"," if b"," in lines[i] else b" "
        tokens = lines[i].split(separator)
        j = int(rng.integers(len(tokens)))
        tokens[j] = NASTY_TOKENS[int(rng.integers(len(NASTY_TOKENS)))]
        if rng.random() < 0.2:
            rng.shuffle(tokens)
        lines[i] = separator.join(tokens)
    spoilt = b"\n".join(lines)
    return bytes_changed(spoilt, rng) if rng.random() < 0.3 else spoilt
