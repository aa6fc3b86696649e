"""The workflows, which run elsewhere, agree with what the package says of itself."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def jobs(name: str) -> dict[str, dict]:
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    return yaml.safe_load(text)["jobs"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_step_runs_something_of_a_given_version(path):
    for job in jobs(path.name).values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w/-]+@[\w./]+", step.get("uses", "a/b@v1"))


def test_every_python_that_is_named_is_tested():
    named = re.findall(r":: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert jobs("ci.yml")["linux"]["strategy"]["matrix"]["python"] == named


def test_targets_of_the_makefile_are_there():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in FILES:
        for target in re.findall(r"run: .*\bmake (\w+)", path.read_text("utf-8")):
            assert f"\n{target}: " in targets


def test_what_is_run_is_there():
    """Files, folders, modules and extras, by the names that the steps give them."""
    extras = PROJECT["project"]["optional-dependencies"]
    found = set()
    for path in FILES:
        for job in jobs(path.name).values():
            text = "\n".join(step.get("run", "") for step in job["steps"])
            for name in re.findall(r"(?<=\s)(?:\.ci|tests)/[\w/]+", text):
                found.add(name)
                assert (ROOT / name).exists(), name
            for module in re.findall(r"python -m (\S+)", text):
                found.add(module)
                assert find_spec(module), module
            for given in re.findall(r'"\.\[([\w,]+)\]"', text):
                assert set(given.split(",")) <= set(extras), given
            for given in job.get("strategy", {}).get("matrix", {}).get("system", []):
                assert re.fullmatch(r"(ubuntu|macos|windows)-[\w.-]+", given), given
    assert {".ci/run", "tests/engine", "widemargin.cli", "pytest"} <= found
    command = PROJECT["tool"]["cibuildwheel"]["test-command"].split()[0]
    assert command in PROJECT["project"]["scripts"]


def started_by(name: str) -> dict:
    """Return what starts a workflow; YAML reads the word ``on`` as true."""
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    return yaml.safe_load(text)[True]


def test_what_runs_when():
    """Tests at every push, on three systems; sanitizers weekly; a tag is released."""
    assert {"push", "pull_request"} <= set(started_by("ci.yml"))
    ci = jobs("ci.yml")
    systems = ci["others"]["strategy"]["matrix"]["system"]
    assert [ci["linux"]["runs-on"], *systems] == [
        f"{system}-latest" for system in ("ubuntu", "macos", "windows")
    ]
    (weekly,) = started_by("sanitizers.yml")["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", weekly["cron"])
    assert "make sanitize" in str(jobs("sanitizers.yml")["sanitize"])
    wheels = jobs("wheels.yml")
    assert started_by("wheels.yml")["push"] == {"tags": ["v*"]}
    assert "pypa/cibuildwheel@" in str(wheels["wheels"])
    assert set(wheels["release"]["needs"]) == {"wheels", "sdist"}
    assert PROJECT["tool"]["cibuildwheel"]["test-command"] == "widemargin doctor"


def test_windows_has_clang_cl_and_what_it_links_with():
    """In both workflows the environment of Microsoft's tools comes before the build."""
    for name, job, build in (
        ("ci.yml", "others", "pip install"),
        ("wheels.yml", "wheels", "cibuildwheel"),
    ):
        steps = [str(step) for step in jobs(name)[job]["steps"]]
        (tools,) = [n for n, step in enumerate(steps) if "msvc-dev-cmd" in step]
        (built,) = [n for n, step in enumerate(steps) if build in step]
        assert tools < built
    settings = PROJECT["tool"]["cibuildwheel"]["windows"]["environment"]
    assert settings == {"CMAKE_GENERATOR": "Ninja", "CXX": "clang-cl"}
