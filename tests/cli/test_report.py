"""The HTML report in a real browser: self-contained, no errors, fit for a phone."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from widemargin.cli.html_report import demo_page
from widemargin.cli.terminal_report import Act, TerminalReport
from widemargin.display import ComparisonDisplay
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.reproduction import Outcome, paper_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


WIDTHS = (390, 1200)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    act = Act("act", "Who is <mislabelled>?", "A question & more", "a summary", 1.0)
    report = TerminalReport(act, stream=io.StringIO())
    report.say("a line with <markup> & a-very-long-word-" + "x" * 120)
    header = [f"column {i}" for i in range(12)]
    report.table(header, [[i * 1.23456 for i in range(12)]] * 3, caption="wide")
    display = ComparisonDisplay(["a", "b"], [1.0, 2.0], quantity="cost")
    report.picture(
        lambda axes: [display.plot(ax=ax) for ax in axes], 1, 2, caption="pictures"
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(demo_page([act], ["import widemargin"]))
    return path


@pytest.fixture(scope="module")
def browsed(page: Path) -> tuple[str, str]:
    """Open the page once, in all widths; what was measured, what the console said."""
    probe = (
        "<script>document.title = 'measured ' + document.documentElement.scrollWidth"
        " + ' ' + innerWidth + ' ' + [...document.images].every(i => i.naturalWidth)"
        "</script></body>"
    )
    # narrow frames inside a wide window: headless windows cannot be phone-sized
    measured = page.with_name("measured.html")
    measured.write_text(page.read_text().replace("</body>", probe))
    frames = page.with_name("frames.html")
    frames.write_text(
        '<body style="margin:0">'
        + "".join(
            f'<iframe width="{width}" height="800" src="{measured.name}"></iframe>'
            for width in WIDTHS
        )
        + "<script>onload = () => { document.title = [...document.querySelectorAll("
        "'iframe')].map(f => f.contentDocument.title).join('; ') }</script></body>"
    )
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu",
            "--allow-file-access-from-files", "--enable-logging=stderr",
            "--virtual-time-budget=5000", "--dump-dom", frames.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,  # a guard, no limit
    )  # fmt: skip
    return done.stdout, done.stderr


def test_the_page_needs_nothing_but_itself(page: Path) -> None:
    text = page.read_text()
    assert "<script" not in text
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "&lt;mislabelled&gt;" in text
    assert "<mislabelled>" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")
@pytest.mark.parametrize("width", WIDTHS)
def test_in_a_browser(browsed: tuple[str, str], width: int) -> None:
    dom, console = browsed
    found = re.search(rf"measured (\d+) {width} (\w+)", dom)
    assert found, dom[:500]
    assert int(found[1]) <= width, "the page scrolls sideways"
    assert found[2] == "true", "a picture did not load"
    assert "CONSOLE" not in console


def test_page_of_a_paper(tmp_path: Path) -> None:
    Figure().savefig(tmp_path / "figure.png")
    cells = [
        Cell("Table 1", "heart", "objective", -92.47, -92.47, 0.01),
        Cell("Table 1", "sonar", "seconds", 1.0, 2.0),
        Cell("Table 2", "heart", "accuracy", 0.8, 0.9, 0.01, "another split"),
    ]
    missing = Task("gone", list, ("<gone>",), 6)
    outcome = Outcome("A paper", cells, [missing])
    assert outcome.summary().startswith(
        "1 cells reproduced of 2 attempted, 6 unavailable"
    )
    text = paper_page(outcome, tmp_path)
    assert "Table 2" in text
    assert "another split" in text
    assert "&lt;gone&gt;: https://" in text
    assert "data:image/png;base64" in text
