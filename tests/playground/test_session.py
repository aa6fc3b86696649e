"""The state behind the page: exact, and hostile messages change nothing."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import CostSensitiveSVC, QuantileSVR, RampSVC
from widemargin.playground import exact_model
from widemargin.playground.messages import (
    MAX_BYTES,
    MAX_POINTS,
    Outdated,
    Refused,
    parsed,
)
from widemargin.playground.presets import PRESETS
from widemargin.playground.session import Session


def table(session):
    """Return the points as features and labels or targets."""
    points = session.points.values()
    if session.regression:
        return np.array([[p.x] for p in points]), np.array([p.y for p in points])
    return np.array([[p.x, p.y] for p in points]), np.array([p.label for p in points])


def drawn(picture):
    """Return the values that the page draws."""
    return np.frombuffer(base64.b64decode(picture["values"]), dtype="<f4")


def retrained(session):
    """Return a model fitted from scratch on what the session has, by users' means."""
    X, y = table(session)
    settings = session.settings
    if session.regression:
        outside = (1 - settings.band) / 2
        quantiles = [outside, 0.5, 1 - outside]
        model = QuantileSVR(quantile=quantiles, C=settings.C, gamma=settings.gamma)
        return model.set_params(non_crossing=True, calibrate=False).fit(X, y)
    return CostSensitiveSVC(
        C=settings.C, gamma=settings.gamma, cost_positive=settings.cost
    ).fit(X, y)


STEPS = [
    {"op": "add", "points": [{"id": 900, "x": 0.1, "y": 0.2, "label": 1}]},
    {"op": "move", "id": 3, "x": -0.4, "y": 0.9},
    {"op": "move", "id": 900, "x": -0.45, "y": 0.85},
    {"op": "forget", "ids": [5, 6]},
    {"op": "set", "C": 7.0},
    {"op": "set", "gamma": 2.5},
    {"op": "move", "id": 900, "x": 0.3, "y": 0.3},
]
FLIPS = [{"op": "flip", "ids": [1, 2, 900]}, {"op": "set", "cost": 4.0}]


@pytest.mark.parametrize(
    ("preset", "steps"),
    [
        ("moons", STEPS + FLIPS),
        ("rare", STEPS + FLIPS),
        ("wave", [*STEPS, {"op": "set", "band": 0.5}]),
    ],
)
def test_every_change_equals_a_full_retrain(preset, steps):
    session = Session()
    session.do({"op": "reset", "preset": preset})
    for step in steps:
        picture = session.do(step)
        found = session.retrain({"version": picture["version"]})
        assert found["difference"] < 1e-9
        assert found["seconds"] > 0
        model = retrained(session)
        expected = session.model.values(model)
        scale = np.abs(expected).max()
        assert_allclose(drawn(picture), expected, atol=1e-6 * scale)
        rows = np.array(list(session.points))[model.support_]
        assert sorted(picture["support"]) == sorted(rows.tolist())
        assert picture["count"] == len(session.points)
    assert session.model.action == "update"


def test_both_times_are_of_the_estimators_calls_alone(monkeypatch):
    done = []

    def clock():
        done.append("clock")
        return float(len(done))

    def noted(name):
        work = getattr(CostSensitiveSVC, name)

        def call(model, *given, **named):
            done.append(name)
            return work(model, *given, **named)

        monkeypatch.setattr(CostSensitiveSVC, name, call)

    session = Session()
    monkeypatch.setattr(exact_model, "clock", clock)
    for name in ("fit", "partial_fit", "forget", "update"):
        noted(name)
    for step, name in (
        (STEPS[0], "partial_fit"), (STEPS[3], "forget"), (STEPS[4], "update"),
    ):  # fmt: skip
        picture = session.do(step)
        assert done == ["clock", name, "clock"]
        assert picture["seconds"] == 2.0
        done.clear()
        found = session.retrain({"version": picture["version"]})
        assert done == ["clock", "fit", "clock"]
        assert (found["update"], found["seconds"]) == (2.0, 2.0)
        done.clear()


def test_an_update_that_was_a_refit_is_called_one():
    session = Session()
    version = session.look()["version"]
    assert not session.retrain({"version": version})["refitted"]  # it is a fit
    version = session.do(STEPS[0])["version"]
    for route in ("refit", "path", "settled"):
        session.model.estimator.history_[-1]["route"] = route
        found = session.retrain({"version": version})
        assert found["refitted"] == (route == "refit")


def test_the_first_and_last_points():
    session = Session()
    picture = session.do({"op": "reset", "preset": "empty"})
    assert picture["values"] is None
    for number, label in enumerate((1, 1, -1)):
        point = {"id": number, "x": 0.2 * number, "y": 0.0, "label": label}
        picture = session.do({"op": "add", "points": [point]})
        assert drawn(picture).shape == (80 * 80,)
        assert session.retrain({"version": picture["version"]})["difference"] < 1e-12
    for number in (2, 0, 1):
        picture = session.do({"op": "forget", "ids": [number]})
    assert (picture["values"], picture["count"], picture["support"]) == (None, 0, [])
    with pytest.raises(Refused, match="no points"):
        session.retrain({"version": picture["version"]})


def test_flipping_all_of_a_class_and_back():
    session = Session()
    ones = [own for own, point in session.points.items() if point.label == 1]
    before = drawn(session.look())
    picture = session.do({"op": "flip", "ids": ones})
    assert {point.label for point in session.points.values()} == {-1}
    assert picture["right"] == 1.0
    with pytest.raises(Refused, match="both classes"):
        session.ramp({"version": picture["version"]})
    with pytest.raises(Refused, match="both classes"):
        session.leave_one_out({"version": picture["version"], "C": 1.0})
    picture = session.do({"op": "flip", "ids": ones})
    assert_allclose(drawn(picture), before, atol=1e-5)


def test_leave_one_out_is_that_of_refits():
    session = Session()
    version = session.do({"op": "reset", "preset": "rare"})["version"]
    X, y = table(session)
    settings = session.settings
    for C in (0.3, 20.0):
        found = session.leave_one_out({"version": version, "C": C})
        wrong = 0
        for row in range(len(y)):
            rest = np.arange(len(y)) != row
            model = CostSensitiveSVC(C=C, gamma=settings.gamma).fit(X[rest], y[rest])
            wrong += int(model.predict(X[[row]])[0] != y[row])
        assert found["error"] == wrong / len(y)
        assert found["error"] > 0
    assert session.settings.C == settings.C


def test_the_ramp_loss_and_its_suspects():
    session = Session()
    version = session.do({"op": "reset", "preset": "wrong"})["version"]
    found = session.ramp({"version": version})
    X, y = table(session)
    model = RampSVC(C=session.settings.C, gamma=session.settings.gamma).fit(X, y)
    assert found["suspects"] == model.suspects_.tolist()
    assert len(found["suspects"]) >= 3


def test_questions_about_what_has_changed_are_outdated():
    session = Session()
    old = session.look()["version"]
    session.do({"op": "forget", "ids": [0]})
    for question in (session.retrain, session.ramp, session.leave_one_out):
        with pytest.raises(Outdated):
            question({"version": old, "C": 1.0})


def test_copied_code_makes_the_same_model():
    session = Session()
    steps = [{"op": "set", "cost": 3.0, "C": 2.0}, {"op": "flip", "ids": [4]}]
    for steps_now in ([], steps):
        for step in steps_now:
            session.do(step)
        names: dict[str, object] = {"print": lambda *_: None}
        exec(session.python()["code"], names)
        expected = session.model.values(session.model.estimator)
        assert_allclose(session.model.values(names["model"]), expected, atol=1e-9)
    session.do({"op": "reset", "preset": "wave"})
    assert "QuantileSVR(quantile=[0.1, 0.5, 0.9]" in session.python()["code"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_lie_on_the_page(preset):
    session = Session()
    picture = session.do({"op": "reset", "preset": preset})
    assert picture["regression"] == PRESETS[preset].regression
    assert all(max(abs(p["x"]), abs(p["y"])) <= 1 for p in picture["points"])
    if preset == "many":
        assert picture["count"] == 500


def test_most_updates_of_a_crowd_are_no_refits():
    """As its page and the picture in README say; of fewer points a refit is shorter."""
    session = Session()
    session.do({"op": "reset", "preset": "crowd"})
    own = [p for p in list(session.points.items())[::47] if p[1].label > 0]
    routes = []
    for number, (former, point) in enumerate(own):
        near = {"id": 5000 + number, "x": point.x, "y": point.y, "label": 1}
        for step in (
            {"op": "add", "points": [near]}, {"op": "forget", "ids": [former]},
        ):  # fmt: skip
            session.do(step)
            routes.append(session.model.estimator.history_[-1]["route"])
    assert len(routes) > 20
    assert routes.count("settled") > len(routes) / 2, routes


def _points(count):
    return [{"id": 2000 + i, "x": 0.0, "y": 0.0, "label": 1} for i in range(count)]


HOSTILE = {
    "no op": ({}, "op None is none of"),
    "other op": ({"op": "__init__"}, "is none of reset"),
    "op of another type": ({"op": ["add"]}, "is none of"),
    "unknown preset": ({"op": "reset", "preset": "../x"}, "preset"),
    "no points": ({"op": "add"}, "points is not a list"),
    "points of another type": ({"op": "add", "points": {"id": 1}}, "is not a list"),
    "a point of another type": ({"op": "add", "points": [7]}, "not an object"),
    "too many": ({"op": "add", "points": _points(10_000)}, "10,120 points are more"),
    "text": (
        {"op": "add", "points": [{"id": 900, "x": "0", "y": 0, "label": 1}]},
        "x is not a number",
    ),
    "infinite": (
        {"op": "add", "points": [{"id": 900, "x": 1e999, "y": 0, "label": 1}]},
        "x is not between",
    ),
    "huge integer": (
        {"op": "add", "points": [{"id": 900, "x": 10**400, "y": 0, "label": 1}]},
        "x is not between",
    ),
    "far away": ({"op": "move", "id": 1, "x": 55, "y": 0}, "not between"),
    "nan": ({"op": "move", "id": 1, "x": float("nan"), "y": 0}, "not between"),
    "label": (
        {"op": "add", "points": [{"id": 900, "x": 0, "y": 0, "label": 3}]},
        "-1 or 1",
    ),
    "label of another type": (
        {"op": "add", "points": [{"id": 900, "x": 0, "y": 0, "label": [1]}]},
        "-1 or 1",
    ),
    "known id": (
        {"op": "add", "points": [{"id": 1, "x": 0, "y": 0, "label": 1}]},
        "a point 1 already",
    ),
    "id twice": ({"op": "add", "points": _points(1) * 2}, "2000 already"),
    "id below 0": ({"op": "move", "id": -1, "x": 0, "y": 0}, "from 0 on"),
    "unknown id": ({"op": "forget", "ids": [1, 77777]}, "no point 77777"),
    "no ids": ({"op": "flip", "ids": []}, "not a list of points"),
    "price": ({"op": "set", "C": 1e99}, "C is not between"),
    "price below 0": ({"op": "set", "C": -1, "gamma": 1}, "C is not between"),
    "true": ({"op": "set", "C": True}, "C is not a number"),
    "nothing to set": ({"op": "set", "kernel": "linear"}, "names none of"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_messages_change_nothing(case):
    message, why = HOSTILE[case]
    session = Session()
    before = session.look()
    with pytest.raises(Refused, match=why):
        session.do(message)
    assert session.look() == before
    session.do({"op": "forget", "ids": [0]})  # and it goes on


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nothing", b"[1]", b"\xff\xfe", b'{"op": NaN}', b'{"op": Infinity}',
        b'{"a":' * 5000, b"[" * 60_000, b" " * (MAX_BYTES + 1),
        json.dumps({"op": "add", "points": _points(10_000)}).encode(),
    ],
    ids=["empty", "text", "list", "bytes", "nan", "inf", "cut", "deep", "long", "many"],
)  # fmt: skip
def test_what_is_no_message_is_refused(body):
    with pytest.raises(Refused):
        parsed(body)


def test_a_page_full_of_points():
    session = Session()
    room = MAX_POINTS - len(session.points)
    rng = np.random.default_rng(0)
    fresh = [
        {"id": 5000 + i, "x": x, "y": y, "label": 1 if x > y else -1}
        for i, (x, y) in enumerate(rng.uniform(-1, 1, (room, 2)).tolist())
    ]
    assert session.do({"op": "add", "points": fresh})["count"] == MAX_POINTS
    with pytest.raises(Refused, match="forget some first"):
        session.do({"op": "add", "points": _points(1)})
