"""How long a change takes to reach the screen, with 500 points on the page.

Points are added, moved and forgotten in a headless Chromium as a user would, one after
the other; measured is the time from the event to the frame that shows the new model.
Needs chromium and chromium-driver, and a quiet machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

ROOT = Path(__file__).resolve().parents[3]
CHANGES = 300
AT_ONCE = 30  # changes a script makes: the driver waits two minutes for an answer
PLAY = """
const [first, count, done] = arguments;
link.latencies.length = 0;
let made = first;
const random = (seed) => Math.sin(seed * 12.9898) * 0.85;
const next = () => {
  if (made >= first + count) return done(link.latencies);
  const before = link.latencies.length, ids = [...state.points.keys()];
  const place = { x: random(made + 1), y: random(made * 1.7 + 2) };
  [() => addPoint(place), () => movePoint(ids[made % ids.length], place),
    () => forgetPoint(ids[7])][made++ % 3]();
  const wait = () => setTimeout(link.latencies.length > before ? next : wait, 25);
  wait();
};
next();
"""


def work() -> Iterator[Measurement]:
    """Yield the one measurement."""
    yield "500 points", play


def play() -> Record:
    """Change the points on the page; return the milliseconds until they are shown."""
    sys.path.insert(0, str(ROOT))
    from tests.playground.browsing import browser, served, settle

    with served() as (address, _), browser() as driver:
        driver.set_script_timeout(600)
        driver.get(address)
        settle(driver)
        driver.execute_script("begin('many')")
        settle(driver)
        found = [
            one
            for first in range(0, CHANGES, AT_ONCE)
            for one in driver.execute_async_script(PLAY, first, AT_ONCE)
        ]
    median, high, most = np.percentile(found, [50, 95, 100]).tolist()
    return {"changes": len(found), "median": median, "95 %": high, "most": most}


def table(store: ResultStore) -> str:
    """Return what is stored beside what is asked."""
    rows = [["target: at most", "", "", "100", ""]]
    rows += [
        [
            "measured",
            str(r["changes"]),
            *(f"{r[n]:.0f}" for n in ("median", "95 %", "most")),
        ]
        for r in store.records.values()
    ]
    header = ["ms to the screen", "changes", "median", "95th percentile", "most"]
    return rst_table(header, rows)
