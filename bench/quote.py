"""The short table of a record, for quoting: xsort and its rivals, a line for each program, or for
each input if there are several.

Failures, and what each figure stands for, are in the long table below it (`report.py`).
"""

from report import name, peak_cell, seconds
import rivals
import table_rivals

LABELS = rivals.LABELS | table_rivals.LABELS


def table(results):
    """The table's lines, with an empty one behind them; nothing where xsort is alone or has
    failed.
    """
    sorts = [result for result in results if result["task"] == "sort" and not result["failure"]]
    if len({result["contender"] for result in sorts}) < 2 or not any(
        result["is_baseline"] for result in sorts
    ):
        return []
    lines = by_input(sorts) if len({result["case"] for result in sorts}) > 1 else by_program(sorts)
    return [*lines, ""]


def by_program(sorts):
    """The quickest first."""
    lines = heading(
        ["program", "seconds", "times xsort's", "CPU seconds", "peak memory, MiB", "share"]
    )
    for result in sorted(sorts, key=lambda result: result["seconds"]):
        share = f"{result['share']:.0%}" if result["share"] else ""
        lines.append(
            line(
                [
                    name(result),
                    seconds(result["seconds"]),
                    times(result),
                    cpu_cell(result),
                    peak_cell(result),
                    share,
                ]
            )
        )
    return lines


def by_input(sorts):
    """xsort's seconds, then each rival's and how many times as long; processor time and memory
    of xsort and the first rival.
    """
    own, *others = sorted(
        dict.fromkeys(result["contender"] for result in sorts),
        key=lambda contender: contender != "xsort",
    )
    both = (own, others[0])
    named = ", ".join(LABELS[contender] for contender in both)
    columns = [[f"{LABELS[other]}, s", "times (least-most)"] for other in others]
    lines = heading(
        [
            "input",
            "lines",
            f"{LABELS[own]}, s",
            *sum(columns, []),
            f"CPU s: {named}",
            f"peak MiB: {named}",
        ]
    )
    for case in dict.fromkeys(result["case"] for result in sorts):
        found = {result["contender"]: result for result in sorts if result["case"] == case}
        cell = lambda contender, form: form(found[contender]) if contender in found else ""
        time = lambda contender: cell(contender, lambda result: seconds(result["seconds"]))
        columns = [[time(other), cell(other, times)] for other in others]
        pairs = [
            ", ".join(cell(contender, form) for contender in both) for form in (cpu_cell, peak_cell)
        ]
        lines.append(
            line(
                [
                    case,
                    f"{next(iter(found.values()))['records']:,}",
                    time(own),
                    *sum(columns, []),
                    *pairs,
                ]
            )
        )
    return lines


def heading(names):
    return [line(names), "|---|" + "--:|" * (len(names) - 1)]


def line(cells):
    return f"| {' | '.join(cells)} |"


def times(result):
    """How many times as long as the baseline, and between which figures in single rounds."""
    if result["ratio"] is None:
        return ""
    least, most = result["ratio_spread"]
    return f"{result['ratio']:.1f}" + (
        f" ({least:.1f}-{most:.1f})" if result["rounds"] > 1 and not result["is_baseline"] else ""
    )


def cpu_cell(result):
    return seconds(result["cpu_seconds"])
