"""The threads of a search: never more at work than it was given."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from widemargin.tuning.cores import Cores


class _Count:
    """Counts the threads that are at work."""

    def __init__(self):
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def __enter__(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_):
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("count", [1, 2])
def test_no_more_threads_work_than_were_given(count):
    cores, at_work = Cores(count), _Count()

    def doubled(item):
        with at_work:
            time.sleep(0.002)
            return 2 * item

    def sheet(_):
        with cores:
            with at_work:
                time.sleep(0.002)
            found = cores.mapped(doubled, range(6))
            with at_work:
                return found

    with ThreadPoolExecutor(count) as pool:
        found = list(pool.map(sheet, range(4)))
    assert found == 4 * [[0, 2, 4, 6, 8, 10]]
    assert at_work.most == count


def test_a_core_is_free_again_after_an_error():
    cores = Cores(1)

    def fails(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match="1"), cores:
        cores.mapped(fails, [1, 2])
    with pytest.raises(ValueError, match="3"), cores:
        cores.mapped(fails, [3])
    with cores:
        assert cores.mapped(abs, [-1, -2]) == [1, 2]
