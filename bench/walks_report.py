"""Rows of walks to a table: medians over the rounds, ratios to xsort and to the floor in the same
round.

The floor is that of `floor/`, a program that knows the tree and only makes the calls that can't be
left out.
"""

from statistics import median

from report import cpu_seconds, median_of, peak_cell, sentence, was_tried
import walkers

COLUMNS = (
    "tree",
    "caches",
    "program",
    "ms",
    "times xsort's",
    "share of the floor",
    "ns a name",
    "CPU ms",
    "user",
    "system",
    "peak MiB",
    "read MB",
    "calls a name",
    "total",
)
HEAD = f"| {' | '.join(COLUMNS)} |"
RULE = "|---|---|---|" + "--:|" * (len(COLUMNS) - 4) + "---|"

LEGEND = """`caches`: warm, the kernel has all in memory; cold, dropped before each walk. `ms`:
median (least-most) of the rounds, from start to exit; the floor's are those that it measures
itself, after it has learnt the tree. `times xsort's`: time as a multiple of xsort's in the same
round, median (least-most). `share of the floor`: the floor's time in the same round as a part of
the program's. A name is one of a file or directory. `peak`: what it took (`<`: less than the
harness, so not known). `read`: by the device. `calls a name`: system calls on a smaller tree of
that shape, start and exit included. `total`: beside GNU du's; \* in the short tables is a wrong
one. Raw rows, with each command: `rows.jsonl`.
"""


def summary(rows):
    """One dictionary for each program on each tree, warm and cold."""
    groups = {}
    for row in rows:
        if row["task"] == "walk":
            groups.setdefault(
                (row["case"], row["temperature"], row["contender"], bool(row["failure"])), []
            ).append(row)
    return [summarise(group, rows) for group in groups.values()]


def summarise(group, rows):
    first = group[0]
    names = (
        "case",
        "temperature",
        "contender",
        "label",
        "is_baseline",
        "names",
        "directories",
        "failure",
    )
    result = {name: first[name] for name in names}
    result["calls_per_name"] = calls_per_name(first, rows)
    if first["failure"]:
        return result
    middle = lambda name: median(row[name] for row in group)
    result |= {
        name: middle(name)
        for name in ("seconds", "user_seconds", "system_seconds", "peak_bytes", "read_bytes")
    }
    result["cpu_seconds"] = median(row.get("cpu_seconds", cpu_seconds(row)) for row in group)
    result["harness_bytes"] = max(row["harness_bytes"] for row in group)
    result["spread"] = [min(row["seconds"] for row in group), max(row["seconds"] for row in group)]
    ratios = [
        row["seconds"] / other["seconds"]
        for row in group
        if (other := beside(row, rows, walkers.BASELINE))
    ]
    result["ratio"], result["ratio_spread"] = (
        median_of(ratios),
        [min(ratios, default=None), max(ratios, default=None)],
    )
    result["share"] = median_of(
        other["seconds"] / row["seconds"]
        for row in group
        if (other := beside(row, rows, walkers.FLOOR))
    )
    result["total_error"] = total_error(group)
    return result


def beside(row, rows, contender):
    """The walk of another in the same round, if it was one."""
    place = lambda row: (row["task"], row["case"], row["temperature"], row["round"])
    others = [
        other
        for other in rows
        if other["contender"] == contender and other["task"] == "walk" and not other["failure"]
    ]
    return next((other for other in others if place(other) == place(row)), None)


def total_error(group):
    """The total that differs most from GNU du's, as a part of that; None if the program tells
    none.
    """
    errors = [
        row["total_bytes"] / row["expected_bytes"] - 1
        for row in group
        if row["total_bytes"] is not None
    ]
    return max(errors, key=abs, default=None)


def calls_per_name(row, rows):
    traced = [
        other
        for other in rows
        if (other["task"], other["case"], other["contender"])
        == ("calls", row["case"], row["contender"])
    ]
    return (
        sum(traced[0]["calls"].values()) / (traced[0]["names"] + traced[0]["directories"])
        if traced
        else None
    )


def table(title, environment, results):
    """The page of a record: a short table for each temperature, then the long one."""
    lines = [line(result) for result in results]
    short = [part for temperature in ("warm", "cold") for part in quote(results, temperature)]
    return "\n".join(
        [f"# {title}", "", sentence(environment), "", *short, HEAD, RULE, *lines, "", LEGEND]
    )


def quote(results, temperature):
    """xsort's milliseconds on each tree, and how many times as long the others take; an asterisk
    where their total is wrong.
    """
    done = [
        result
        for result in results
        if result["temperature"] == temperature and not result["failure"]
    ]
    others = [
        name
        for name in walkers.NAMES
        if name != walkers.BASELINE and any(result["contender"] == name for result in done)
    ]
    if not any(result["is_baseline"] for result in done) or not others:
        return []
    labels = [walkers.WALKERS[name].label for name in others]
    lines = [
        cells([temperature, "names", "xsort, ms", *labels]),
        "|---|" + "--:|" * (len(labels) + 2),
    ]
    for case in dict.fromkeys(result["case"] for result in done):
        found = {result["contender"]: result for result in done if result["case"] == case}
        own = found.get(walkers.BASELINE)
        times = [times_cell(found[name]) if name in found else "" for name in others]
        first = next(iter(found.values()))
        lines.append(
            cells(
                [case, f"{first['names']:,}", milliseconds(own["seconds"]) if own else "", *times]
            )
        )
    return [*lines, ""]


def times_cell(result):
    is_wrong = result["total_error"] and result["contender"] != walkers.FLOOR
    return "" if result["ratio"] is None else f"{result['ratio']:.2f}" + (r"\*" if is_wrong else "")


def milliseconds(value):
    return f"{value * 1e3:,.{0 if value >= 0.0995 else 2}f}"


def cells(values):
    return f"| {' | '.join(values)} |"


def line(result):
    name = f"**{result['label']}**" if result["is_baseline"] else result["label"]
    head = [result["case"], result["temperature"], name]
    if result["failure"]:
        said = ("failed: " if was_tried(result) else "") + result["failure"].replace("|", "/")
        return cells([*head, said, *[""] * (len(COLUMNS) - len(head) - 1)])
    return cells([*head, *figures(result)])


def figures(result):
    """The cells of a success, from the seconds on."""
    least, most = result["spread"]
    shown = lambda value, form: "" if value is None else format(value, form)
    ratio = shown(result["ratio"], ".2f")
    if result["ratio"] and result["ratio_spread"][0] != result["ratio_spread"][1]:
        ratio += " ({:.2f}-{:.2f})".format(*result["ratio_spread"])
    is_floor = result["contender"] == walkers.FLOOR
    return [
        milliseconds(result["seconds"])
        + (f" ({milliseconds(least)}-{milliseconds(most)})" if least != most else ""),
        ratio,
        "" if is_floor else shown(result["share"], ".0%"),
        f"{result['seconds'] * 1e9 / (result['names'] + result['directories']):,.0f}",
        milliseconds(result["cpu_seconds"]),
        # It can't tell them apart, nor its memory from what it has learnt.
        "" if is_floor else milliseconds(result["user_seconds"]),
        "" if is_floor else milliseconds(result["system_seconds"]),
        "" if is_floor else peak_cell(result),
        f"{result['read_bytes'] / 1e6:,.0f}",
        shown(result["calls_per_name"], ".2f"),
        total_cell(result["total_error"]),
    ]


def total_cell(error):
    if error is None:
        return "prints none"
    return "right" if error == 0 else f"**wrong: {error:+.3%}**"
