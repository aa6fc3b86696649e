"""The threads of the BLAS behind numpy's matrix products."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep matrix products in one thread: those of small matrices are not worth more.

    Waking the threads of a BLAS for each costs more than the product, and on a busy
    machine many times more.
    """
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit
