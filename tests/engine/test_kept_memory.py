"""Memory of row caches that is kept between fits: never seen in a result."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.testing import assert_array_equal

from widemargin._core import kept_slab_bytes
from widemargin.engine.gram import Gram, release_kept_memory
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve

N = 3000  # rows beyond what the heap keeps ready


def solved(seed, gamma=0.3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(N) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((N, 4)) + 0.7 * y[:, None]
    gram = Gram(X, Gaussian(gamma), cache_mb=100)
    return solve(classification_problem(gram, y, 2.0)).beta


def test_a_fit_leaves_its_memory_to_the_next_and_gives_it_back_when_asked():
    release_kept_memory()
    solved(0)
    kept = kept_slab_bytes()
    assert kept > 8e6
    solved(1)
    assert kept_slab_bytes() == kept
    release_kept_memory()
    assert kept_slab_bytes() == 0


def test_what_is_left_in_kept_memory_changes_no_result():
    """As it was left, or cleared by a system short of memory: the same bits."""
    release_kept_memory()
    fresh = solved(0)
    assert kept_slab_bytes() > 0
    solved(1, gamma=2.0)
    assert_array_equal(solved(0), fresh)
    release_kept_memory()


def test_fits_in_threads_share_kept_slab_bytes():
    release_kept_memory()
    alone = [solved(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(solved, [0, 1, 2, 3] * 2))
    for seed, beta in enumerate(together):
        assert_array_equal(beta, alone[seed % 4])
    release_kept_memory()
