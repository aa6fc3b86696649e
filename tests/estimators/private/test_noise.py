"""The laws of the noise, by distribution: fixed seeds, false alarms 1 in 10^4."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from widemargin.estimators.private import noise
from widemargin.estimators.private.noise import (
    EXACT,
    REAL_ARITHMETIC,
    SEEDED,
    OpenDPNoise,
    SeededNoise,
    SystemNoise,
    noise_source,
)

FALSE_ALARM = 1e-4  # of each test below, if the seed were fresh


@pytest.mark.parametrize("dimension", [1, 2, 7, 40])
def test_spherical_length_is_gamma(dimension):
    source = SeededNoise(1)
    draws = np.array([source.spherical(dimension, 0.3) for _ in range(3000)])
    lengths = np.linalg.norm(draws, axis=1)
    law = stats.gamma(dimension, scale=0.3)
    assert stats.kstest(lengths, law.cdf).pvalue > FALSE_ALARM


def test_spherical_direction_is_uniform():
    source = SeededNoise(2)
    draws = np.array([source.spherical(3, 1.0) for _ in range(3000)])
    cosines = draws[:, 0] / np.linalg.norm(draws, axis=1)
    assert stats.kstest(cosines, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


def test_spherical_density_falls_by_the_scale():
    # One dimension: exp(-|z|/scale) is the Laplace law.
    source = SeededNoise(3)
    draws = np.array([source.spherical(1, 0.7)[0] for _ in range(3000)])
    assert stats.kstest(draws, stats.laplace(scale=0.7).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("source", [SeededNoise(4), SystemNoise(), OpenDPNoise()])
def test_gaussian_and_laplace_laws(source):
    values = np.linspace(-5, 5, 3000)
    normal = source.gaussian(values, 0.4) - values
    assert stats.kstest(normal, stats.norm(scale=0.4).cdf).pvalue > FALSE_ALARM
    laplace = source.laplace(values, 0.4) - values
    assert stats.kstest(laplace, stats.laplace(scale=0.4).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("source", [SeededNoise(6), OpenDPNoise()])
def test_noise_fills_bins_of_equal_probability_equally(source, law):
    # Chi-square over 20 bins, in the middle and in the tails alike.
    draw = {"gaussian": source.gaussian, "laplace": source.laplace}[law]
    form = {"gaussian": stats.norm, "laplace": stats.laplace}[law](scale=0.4)
    noise = draw(np.full(4000, 3.0), 0.4) - 3.0
    counts, _ = np.histogram(form.cdf(noise), bins=20, range=(0.0, 1.0))
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    halved, _ = np.histogram(form.cdf(noise / 2), bins=20, range=(0.0, 1.0))
    assert stats.chisquare(halved).pvalue < 1e-12  # half of the noise is seen


def test_opendp_certifies_the_scales_we_ask_for():
    opendp = noise.import_opendp()
    domain = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
    laplace = opendp.m.make_laplace(domain, opendp.l1_distance(T=float), 2.0)
    assert_allclose(laplace.map(3.0), 1.5)
    normal = opendp.m.make_gaussian(domain, opendp.l2_distance(T=float), 2.0)
    assert_allclose(normal.map(3.0), 3.0**2 / (2 * 2.0**2))


def test_a_seed_reproduces_and_no_seed_does_not():
    first, second = SeededNoise(5), SeededNoise(5)
    assert_array_equal(first.spherical(4, 1.0), second.spherical(4, 1.0))
    fresh = SystemNoise()
    assert not np.array_equal(fresh.spherical(4, 1.0), fresh.spherical(4, 1.0))


def test_what_each_source_says_of_itself():
    assert noise_source("gaussian", None, False).statement("gaussian") == EXACT
    assert noise_source("laplace", None, True).statement("laplace") == EXACT
    spherical = noise_source("spherical", None, False)
    assert spherical.statement("spherical") == REAL_ARITHMETIC
    assert OpenDPNoise().statement("spherical") == REAL_ARITHMETIC
    assert noise_source("gaussian", 0, False).statement("gaussian") == SEEDED
    assert "floating-point attacks not excluded" in REAL_ARITHMETIC


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_without_opendp_the_safe_laws_refuse(monkeypatch, law):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(
        ImportError, match=r"widemargin\[private\].*insecure_noise=True"
    ):
        noise_source(law, None, insecure_noise=False)
    permitted = noise_source(law, None, insecure_noise=True)
    assert permitted.statement(law) == REAL_ARITHMETIC
    assert noise_source("spherical", None, False).statement(law) == REAL_ARITHMETIC


def test_unseeded_noise_comes_from_the_operating_system(monkeypatch):
    asked = []

    def watched(count):
        asked.append(count)
        return os.urandom(count)

    monkeypatch.setattr("random._urandom", watched)
    SystemNoise().spherical(3, 1.0)
    assert len(asked) >= 4  # a direction of three coordinates and a length
