"""``widemargin demo``: what the package is for, seen within a minute.

One module per act. An act is a module in this package with

``TITLE``
    what the spectator reads first, such as ``"Who is mislabelled?"``;
``QUESTION``
    one or two sentences: the trouble this act is about, for somebody who has never
    heard of the method;
``run(report)``
    plays the act on a `widemargin.cli.terminal_report.TerminalReport` and returns its
    one-line summary, the line that stands at the end of the demo and at the top of the
    report. Every figure in it must be computed in this run.

and a row in `ACTS` below. The rules of the house:

- data bundled with scikit-learn only, no network; fixed seeds;
- heavy imports (scikit-learn, matplotlib, our estimators) inside ``run``, so that the
  first line of the demo is on the screen at once;
- whatever may take longer than half a second happens inside
  ``with report.working("what is being done"):``, which keeps the line moving (and gives
  ``.seconds`` afterwards);
- text by ``report.say``, numbers by ``report.table``, pictures by drawing our public
  Display classes in a function given to ``report.picture`` (several calls are several
  figures), which is not called where matplotlib is missing; all of it is kept for the
  HTML report;
- a module that a plain installation lacks and the act cannot do without stands in
  `NEEDS` below: without it the act is left out, in one line;
- an act takes at most eight seconds on two cores (the photograph twenty-five), and also
  runs alone: ``widemargin demo NAME``.

A whole act::

    TITLE = "A miss costs five"
    QUESTION = "A missed tumour costs five false alarms. Who pays least?"

    def run(report: TerminalReport) -> str:
        from widemargin import CostSensitiveSVC
        from widemargin.display import ComparisonDisplay
        ...
        with report.working("tuning four models") as work:
            costs = ...
        report.say(f"done in {work.seconds:.1f} s")
        report.table(["model", "cost"], rows, caption="Total cost on unseen patients")
        display = ComparisonDisplay(names, costs, quantity="total cost")
        report.picture(lambda ax: display.plot(ax=ax), caption="Total cost, 5:1")
        return f"cost {costs[-1]} instead of {costs[0]} by CostSensitiveSVC"
"""

from __future__ import annotations

#: name on the command line -> module, in the order of the performance
ACTS: dict[str, str] = {
    "photograph": "widemargin.cli.demo.photograph",
    "tuning": "widemargin.cli.demo.many_models",
    "mislabelled": "widemargin.cli.demo.wrong_labels",
    "forget": "widemargin.cli.demo.forget",
    "errorbars": "widemargin.cli.demo.errorbars",
    "costs": "widemargin.cli.demo.unequal_costs",
    "band": "widemargin.cli.demo.quantile_band",
    "private": "widemargin.cli.demo.private_models",
}

#: act -> module it cannot do without, and the extra of widemargin that brings it
NEEDS: dict[str, tuple[str, str]] = {
    "photograph": ("PIL", "plot"),  # scikit-learn reads its photograph by it
    "private": ("opendp", "private"),  # noise that is safe in floating point
}
