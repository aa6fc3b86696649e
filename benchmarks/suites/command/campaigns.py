"""The campaigns of ``benchmarks/command.py``, by name."""

from __future__ import annotations

from ..campaign import Campaign
from . import early_pays, memory, playground, promised_times, runs

CAMPAIGNS = {
    "early": Campaign("early_pays", early_pays.work, early_pays.as_rst),
    "memory": Campaign("memory", memory.work, memory.as_rst),
    "demo": Campaign("demo", runs.demo_work, runs.demo_table),
    "left": Campaign("time_left", promised_times.work, promised_times.as_rst),
    "quick": Campaign("quick", runs.quick_work, runs.quick_table),
    "playground": Campaign("playground", playground.work, playground.table),
}
