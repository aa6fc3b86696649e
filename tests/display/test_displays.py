"""The pictures: the numbers behind them, and that they can be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    SVC,
    SVR,
    ChanceConstrainedSVC,
    CostReport,
    CostSensitiveSVC,
    DivideConquerSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)
from widemargin.display import (
    BandDisplay,
    ComparisonDisplay,
    CostDisplay,
    GridDisplay,
    HistoryDisplay,
    ImageDisplay,
    MarginDisplay,
)
from widemargin.display.margin import _ellipse
from widemargin.display.plane import Plane


@pytest.fixture
def ax() -> Any:
    figure = Figure()
    FigureCanvasAgg(figure)
    yield figure.subplots()
    figure.canvas.draw()  # whatever cannot be drawn fails here


def test_costs_by_class(ax: Any) -> None:
    report = CostReport(
        np.array(["a", "b"]),
        {"CostSensitiveSVC": 0.5, "always b": 0.75},
        np.array([[0.0, 0.375], [0.125, 0.0]]),
        np.array([[4, 3], [1, 0]]),
    )
    display = CostDisplay(report).plot(ax=ax)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["4 rows", "3 rows\n0.375", "1 rows\n0.125", "0 rows"]
    assert "CostSensitiveSVC 0.5\nalways b 0.75" in ax.get_title()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]


def test_margin_of_two_features(ax: Any) -> None:
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = SVC().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, suspects=[3, 5], ax=ax)
    assert_allclose(display.points, X)
    assert_array_equal(display.classes, y)
    assert_allclose(display.support, model.support_vectors_)
    assert_array_equal(display.suspects, [3, 5])
    grid = np.column_stack([display.across.ravel(), display.up.ravel()])
    assert_allclose(display.values.ravel(), model.decision_function(grid))
    assert display.ax_ is ax


@pytest.mark.parametrize(
    ("pos_label", "margins"), [(1, (-1 / 3, 1.0)), (0, (-1.0, 1 / 3))]
)
@pytest.mark.parametrize("piped", [False, True])
def test_costs_move_the_drawn_margin(
    ax: Any, pos_label: int, margins: tuple[float, float], piped: bool
) -> None:
    """C- = 2 brings the margin of the cheap class in to 1/3, drawn there."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = CostSensitiveSVC(cost_positive=15, cost_negative=2, pos_label=pos_label)
    model = make_pipeline(StandardScaler(), model) if piped else model
    MarginDisplay.from_estimator(model.fit(X, y), X, y, ax=ax, grid_resolution=40)
    (lines,) = (c for c in ax.collections if getattr(c, "filled", True) is False)
    assert_allclose(lines.levels, [margins[0], 0.0, margins[1]])


def test_margin_is_a_section_where_there_are_more_features(ax: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=20)
    plane = Plane.through(X)
    assert_allclose(display.points, (X - X.mean(axis=0)) @ plane.axes.T, atol=1e-12)
    corner = plane.points(np.array([[display.across[0, 0], display.up[0, 0]]]))
    assert_allclose(display.values[0, 0], model.decision_function(corner)[0])


def test_margin_of_three_classes_and_a_data_frame(ax: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X[:, :2], columns=["long", "wide"])
    display = MarginDisplay.from_estimator(SVC().fit(frame, y), frame, y, ax=ax)
    assert display.axis_labels == ("long", "wide")
    assert set(np.unique(display.values)) <= {0.0, 1.0, 2.0}


def test_ellipses_show_the_standard_deviation(ax: Any) -> None:
    X, y = make_moons(20, random_state=0)
    variances = np.tile([4.0, 9.0], (20, 1))
    display = MarginDisplay.from_estimator(
        SVC().fit(X, y), X, y, covariances=variances, ax=ax
    )
    assert_allclose(display.covariances[0], np.diag([4.0, 9.0]))
    assert sorted(_ellipse(display.covariances[0])[:2]) == [4.0, 6.0]
    assert len(ax.patches) == 20


@pytest.mark.parametrize("features", [2, 3])
def test_ellipses_of_uncertain_samples_against_their_boundary(
    ax: Any, features: int
) -> None:
    """Matrices of single samples, as fitted; seen from the plane where there are 3."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, features)) + 1.5 * y[:, None]
    factors = 0.3 * rng.normal(size=(30, features, features))
    matrices = factors @ factors.transpose(0, 2, 1)
    model = ChanceConstrainedSVC().fit(X, y, covariance=matrices)
    assert model.certificate_.gap <= 1e-9 * model.certificate_.objective
    display = MarginDisplay.from_estimator(model, X, y, covariances=matrices, ax=ax)
    axes = np.eye(2) if features == 2 else Plane.through(X).axes
    assert len(ax.patches) == 30
    for patch, point, matrix in zip(ax.patches, display.points, matrices, strict=True):
        assert_allclose(patch.center, point)
        angle = np.radians(patch.angle)
        turned = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        half_axes = np.array(turned) * [patch.width / 2, patch.height / 2]
        assert_allclose(half_axes @ half_axes.T, axes @ matrix @ axes.T, atol=1e-12)
    corner = np.array([[display.across[0, 0], display.up[0, 0]]])
    section = corner if features == 2 else Plane.through(X).points(corner)
    assert_allclose(display.values[0, 0], model.decision_function(section)[0])


def test_suspects_as_a_mask(ax: Any) -> None:
    X, y = make_moons(20, random_state=0)
    mask = np.arange(20) < 3
    model = SVC().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, suspects=mask, ax=ax)
    assert_array_equal(display.suspects, [0, 1, 2])
    with pytest.raises(ValueError, match="mask"):
        MarginDisplay.from_estimator(model, X, y, suspects=mask[:5], ax=ax)
    with pytest.raises(ValueError, match="at least 2 features"):
        MarginDisplay.from_estimator(model, X[:, :1], y, ax=ax)


def test_history_of_an_estimator(ax: Any) -> None:
    class Fitted:
        history_ = (
            {"stage": "a", "seconds": 1.0, "objective": 5.0, "size": 10},
            {"stage": "b", "seconds": 2.0, "objective": None, "size": 20},
            {"stage": "a", "seconds": 3.0, "objective": 4.0, "size": 40},
        )

    display = HistoryDisplay.from_estimator(Fitted(), x="seconds", ax=ax)
    x, y = display.series_["objective"]
    assert_allclose(x, [1.0, 6.0])
    assert_allclose(y, [5.0, 4.0])
    display = HistoryDisplay.from_estimator(Fitted(), y=["objective", "size"], ax=ax)
    assert list(display.series_) == ["objective", "samples"]
    assert_array_equal(display.series_["samples"][0], ["0 a", "1 b", "2 a"])
    with pytest.raises(ValueError, match="no 'colour'; it has 'objective'"):
        HistoryDisplay.from_estimator(Fitted(), y="colour", ax=ax)
    with pytest.raises(ValueError, match="fit it first"):
        HistoryDisplay.from_estimator(SVC(), ax=ax)


def test_history_of_a_real_fit(ax: Any) -> None:
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = (
        SVC(keep_rows=True, gamma=1.0).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    )
    display = HistoryDisplay.from_estimator(model, y="gap", ax=ax, log=True)
    assert len(display.series_["duality gap"][1]) >= 1


def test_history_of_levels(ax: Any) -> None:
    X, y = make_moons(400, noise=0.2, random_state=0)
    model = DivideConquerSVC(n_levels=2, gamma=2.0, random_state=0).fit(X, y)
    display = HistoryDisplay.from_estimator(model, y=["precision", "recall"], ax=ax)
    levels = [stage for stage in model.history_ if "clusters" in stage]
    assert len(levels) == 2
    for key in ("precision", "recall"):  # of levels only: other stages have neither
        names, shares = display.series_[key]
        assert_array_equal(names, ["0 level 2", "1 level 1"])
        assert_allclose(shares, [level[key] for level in levels])


def test_comparison(ax: Any) -> None:
    display = ComparisonDisplay(["a", "b"], [1, 2], errors=[0.1, 0.2], quantity="cost")
    display.plot(ax=ax)
    assert [bar.get_width() for bar in ax.patches] == [1.0, 2.0]
    assert ax.get_xlabel() == "cost"
    with pytest.raises(ValueError, match="same length"):
        ComparisonDisplay(["a"], [1, 2])


def test_grid(ax: Any) -> None:
    display = GridDisplay([[1, 2, 3], [4, np.nan, 6]], "abc", "xy", "C", "gamma")
    display.plot(ax=ax)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    assert_array_equal(ax.images[0].get_array().filled(0), [[1, 2, 3], [4, 0, 6]])
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        GridDisplay([[1, 2, 3], [4, 5, 6]], "ab", "xyz")


def test_styles_of_curves(ax: Any) -> None:
    curves = {"a": ([1, 2], [3, 4]), "b": ([1, 2], [5, 6])}
    styles = {"b": {"linestyle": ":", "marker": "x"}}
    HistoryDisplay(curves).plot(ax=ax, styles=styles, legend=False)
    assert [line.get_marker() for line in ax.lines] == ["o", "x"]
    assert [line.get_linestyle() for line in ax.lines] == ["-", ":"]
    assert ax.get_legend() is None


def test_borders_of_clusters(ax: Any) -> None:
    X, y = make_moons(60, noise=0.1, random_state=0)
    display = MarginDisplay.from_estimator(
        SVC().fit(X, y), X, y, clusters=lambda points: points[:, 0] > 0.5, ax=ax
    )
    assert_array_equal(display.clusters, display.across > 0.5)
    assert len(ax.collections) > 2


def test_images(ax: Any) -> None:
    display = ImageDisplay(np.arange(12).reshape(2, 6), (2, 3), titles=["a", "b"])
    display.plot(ax=ax)
    assert_array_equal(display.strip[:, :3], [[0, 1, 2], [3, 4, 5]])
    assert_array_equal(display.strip[:, 4:], [[6, 7, 8], [9, 10, 11]])
    with pytest.raises(ValueError, match=r"shape \(n_images, 6\)"):
        ImageDisplay(np.zeros((2, 5)), (2, 3))


def test_a_band_has_the_quantiles_in_order(ax: Any) -> None:
    X = np.linspace(0, 1, 40)[:, None]
    y = X[:, 0] + np.random.default_rng(0).normal(size=40)
    model = QuantileSVR(quantile=[0.9, 0.5, 0.1], C=10).fit(X, y)
    display = BandDisplay.from_estimator(model, X, y, ax=ax, grid_resolution=7)
    assert display.names == ["quantile 0.1", "quantile 0.5", "quantile 0.9"]
    assert_allclose(display.curves, model.predict(display.along[:, None])[:, ::-1])
    with pytest.raises(ValueError, match="one feature"):
        BandDisplay.from_estimator(model, np.zeros((3, 2)))


@pytest.mark.parametrize("model", [SVR(epsilon=0.3), NuSVR(nu=0.2)])
def test_a_regression_is_drawn_with_its_tube(ax: Any, model: Any) -> None:
    X = np.linspace(0, 6, 40)[:, None]
    y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=40)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    display = BandDisplay.from_estimator(pipeline, X, y, ax=ax, grid_resolution=9)
    half = pipeline[-1].epsilon if isinstance(model, SVR) else pipeline[-1].epsilon_
    assert display.tube == half > 0
    (tube,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    corners = tube.get_paths()[0].vertices
    for edge in (display.curves[:, 0] - half, display.curves[:, 0] + half):
        assert np.isin(edge, corners[:, 1]).all()


def test_the_frontier_of_an_outlier_detector(ax: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = OneClassSVM(nu=0.2).fit(X)
    display = MarginDisplay.from_estimator(model, X, ax=ax, grid_resolution=9)
    assert display.labels == ["outlier", "inside"] and display.margins is None
    assert_array_equal(display.classes, model.predict(X) > 0)


def test_pictures_around_the_same_samples_show_the_same_plane(ax: Any) -> None:
    X, y = make_moons(40, noise=0.2, random_state=0)
    model = SVC(gamma=1.0).fit(X, y)
    frames = [
        MarginDisplay.from_estimator(model, X[part], y[part], around=X, ax=ax).across
        for part in (slice(0, 20), slice(20, 40))
    ]
    alone = MarginDisplay.from_estimator(model, X[:5], y[:5], ax=ax).across
    assert_array_equal(frames[0], frames[1])
    assert alone.min() > frames[0].min()


def test_logarithmic_axes_have_plain_numbers(ax: Any) -> None:
    display = HistoryDisplay({"one": ([1, 2], [0.6, 2.0])}, "x", "s")
    axis = display.plot(ax=ax, log=True).ax_.yaxis
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in axis.get_ticklabels(minor=True)]
    assert {"0.6", "2"} <= set(labels)
    assert not any("times" in label for label in labels)
