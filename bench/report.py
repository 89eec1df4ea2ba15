"""Rows to a table: medians over the rounds, ratios to the baseline of the same round, and what the
drive's limit allows.

The floor of a row is the least time in which its bytes can be moved at the drive's rates over the
record (`limit.py`). For a sort that is N read, N written, and S written and read again, where S is
the least that xsort spilled from the same input in the same round (with the same memory, if the row
is xsort's own); so every program on an input is held to the same floor.
"""

import json
from statistics import median

import limit

TASKS = ("sort", "gen", "verify")
COLUMNS = (
    "input",
    "program",
    "memory MiB",
    "seconds",
    "per byte",
    "GB/s",
    "CPU s",
    "CPU ns/record",
    "peak MiB",
    "read GB",
    "written GB",
    "moved/byte",
    "floor s",
    "x floor",
    "share",
    "freed s",
    "share with it",
    "new s",
    "share of new",
)
HEAD = f"| {' | '.join(COLUMNS)} |"
RULE = "|---|---|" + "--:|" * (len(COLUMNS) - 2)

LEGEND = """`memory`: what the program was given; `peak`: what it took (`<`: less than the harness,
so not known). `seconds`: median (least-most) until the output is on the drive, unless the first
line says otherwise. `per byte`: seconds per byte as a multiple of the bold line's in the same
round, on the same input if it has one, median (least-most). `CPU`: user and system. `read`,
`written`: what the device moved; `moved/byte`: both together, per byte of input. `floor`: what the
input, the output and xsort's scratch take at the rates of fio's best configuration over the whole
record; `x floor`: seconds as its multiple; `share`: of the drive's limit, 100% is the limit. For
gen it is fio's rate for a file that is new, too. `freed`: what giving that scratch back takes of
the drive, measured with fio's file; `share with it`: of a limit that counts it. The floor has fio
write over a file that is there; `new`: where it writes files that are new, as scratch is, and an
output that isn't written over scratch; `share of new`: of that limit, without giving scratch back.
Raw rows: `rows.jsonl`.
"""


def summary(rows):
    """One dictionary for each program on each input: the sorts first, in the order in which they
    came.
    """
    groups = {}
    for row in rows:
        groups.setdefault(
            (row["task"], row["case"], row["label"], bool(row["failure"])), []
        ).append(row)
    results = [summarise(group, rows) for group in groups.values()]
    return sorted(results, key=lambda result: TASKS.index(result["task"]))


def summarise(group, rows):
    first = group[0]
    result = {
        name: first[name]
        for name in ("task", "case", "label", "contender", "is_baseline", "bytes", "failure")
    }
    result["memory_bytes"] = sorted({row["memory_bytes"] for row in group if row["memory_bytes"]})
    if first["failure"]:
        return result
    middle = lambda name: median(row[name] for row in group)
    result |= {
        name: middle(name) for name in ("seconds", "peak_bytes", "read_bytes", "written_bytes")
    }
    result["cpu_seconds"] = median(cpu_seconds(row) for row in group)
    result["cpu_ns_per_record"] = median(cpu_seconds(row) * 1e9 / row["records"] for row in group)
    result["moved_per_byte"] = median(
        (row["read_bytes"] + row["written_bytes"]) / row["bytes"] for row in group
    )
    result["spread"] = [min(row["seconds"] for row in group), max(row["seconds"] for row in group)]
    result["rounds"] = len(group)
    ratios = [ratio for ratio in (ratio_to_baseline(row, rows) for row in group) if ratio]
    result["ratio"], result["ratio_spread"] = (
        median_of(ratios),
        [min(ratios, default=None), max(ratios, default=None)],
    )
    result["records"], result["repeats"] = first["records"], first.get("repeats", 1)
    result["harness_bytes"] = max(row.get("harness_bytes", 0) for row in group)
    floors = [(row["seconds"], floor_seconds(row, rows)) for row in group]
    result["floor_seconds"] = median_of(floor for _, floor in floors)
    result["times_floor"] = median_of(floor and seconds / floor for seconds, floor in floors)
    result["share"] = median_of(floor and floor / seconds for seconds, floor in floors)
    freed = [freed_seconds(row, rows) for row in group]
    result["freed_seconds"] = median_of(freed)
    whole = [
        (row["seconds"], floor and floor + (freed or 0))
        for row, (_, floor), freed in zip(group, floors, freed)
    ]
    result["share_with_freed"] = median_of(floor and floor / seconds for seconds, floor in whole)
    new = [(row["seconds"], new_floor_seconds(row, rows)) for row in group]
    result["new_floor_seconds"] = median_of(floor for _, floor in new)
    result["share_of_new"] = median_of(floor and floor / seconds for seconds, floor in new)
    return result


def cpu_seconds(row):
    return row["user_seconds"] + row["system_seconds"]


def median_of(values):
    """The median of the values that there are."""
    values = [value for value in values if value]
    return median(values) if values else None


def ratio_to_baseline(row, rows):
    """Seconds per byte, as a multiple of the baseline's in the same round; of the one on the
    same input, if it has its own.
    """
    baselines = [row for row in rows if row["is_baseline"]]
    own = [other for other in baselines if other["case"] == row["case"]]
    for other in own or baselines:
        if not other["failure"] and (other["round"], other["task"]) == (row["round"], row["task"]):
            return (row["seconds"] / row["bytes"]) / (other["seconds"] / other["bytes"])
    return None


def floor_seconds(row, rows):
    """The row's floor; None without rates, or if xsort did not sort the same input."""
    return floor_at(row, rows, lambda rates: rates)


def new_floor_seconds(row, rows):
    """The same where all that is written is new, but for an output that is written over scratch;
    None if that was not measured.
    """
    return floor_at(row, rows, limit.Rates.of_new_files)


def floor_at(row, rows, choose):
    rates = row["rates"] and choose(sustained(rows))
    if not rates:
        return None
    if row["task"] != "sort":
        return limit.floor_seconds(rates, row["task"], row["bytes"], 0)
    spill = spill_of(row, rows)
    last = sustained(rows) if spill and spill.get("in_place") else None
    return spill and limit.floor_seconds(rates, "sort", row["bytes"], spill["spilled_bytes"], last)


def freed_seconds(row, rows):
    """What giving back the scratch that the floor counts takes; none if the output took it over."""
    spill = spill_of(row, rows) if row["task"] == "sort" and row["rates"] else None
    return (
        spill
        and not spill.get("in_place")
        and spill["spilled_bytes"] / sustained(rows).freed
        or None
    )


def sustained(rows):
    """The drive's rates over the whole record."""
    measured = {
        json.dumps(row["rates"]): limit.Rates(**row["rates"]) for row in rows if row.get("rates")
    }
    return limit.sustained(list(measured.values()))


def spill_of(row, rows):
    """xsort's row that spilled least of the row's input in its round; with the row's memory if
    that is xsort's.
    """
    spills = [
        other
        for other in rows
        if (other["task"], other["round"], other["case"], other["contender"])
        == ("sort", row["round"], row["case"], "xsort")
        and not other["failure"]
        and (row["contender"] != "xsort" or other["memory_bytes"] == row["memory_bytes"])
    ]
    return min(spills, key=lambda other: other["spilled_bytes"], default=None)


def table(title, environment, results, quote=()):
    """The page of a record; `quote`: lines of a shorter table that comes first (`quote.py`)."""
    lines = [line(result) for result in results]
    return "\n".join(
        [f"# {title}", "", sentence(environment), "", *quote, HEAD, RULE, *lines, "", LEGEND]
    )


def peak_cell(result):
    """Peak memory in MiB; where it isn't more than the harness had when it started the program,
    the kernel doesn't tell.
    """
    is_known = result["peak_bytes"] > result["harness_bytes"]
    return (
        f"{result['peak_bytes'] / 2**20:,.0f}"
        if is_known
        else f"<{result['harness_bytes'] / 2**20:,.0f}"
    )


def seconds(value):
    """Two digits behind the point, or more for what is over soon."""
    return f"{value:.2f}" if value >= 0.095 else f"{value:.4f}"


def sentence(environment):
    caches = (
        "caches dropped before each run"
        if environment["caches_dropped"]
        else "**caches not dropped**"
    )
    if environment.get("is_warm"):
        caches = "inputs in the page cache, from start to exit, whatever of the output is on the drive by then"
    refusal = environment["fio_refusal"]
    return (
        f"{environment['date']}, {environment['cpu']}, {environment['cores']} cores, {environment['memory_bytes'] / 2**30:.0f} GiB,"
        f" {environment['kernel']}; rounds: {environment['rounds']}; {caches}."
        + (f" **No floor: {refusal}.**" if refusal else "")
        + ("" if environment["is_complete"] else " **Stopped before the end.**")
    )


def mebibytes(result):
    """The memory that a program was given; several figures if it failed with all of them."""
    return ", ".join(f"{bytes / 2**20:,.0f}" for bytes in result["memory_bytes"])


def was_tried(result):
    """Whether a failure is one, or only says why nothing was run."""
    return not result["failure"].startswith("not ")


def name(result):
    return f"**{result['label']}**" if result["is_baseline"] else result["label"]


def line(result):
    cells = [result["case"], name(result), mebibytes(result)]
    if result["failure"]:
        cells.append(
            ("failed: " if was_tried(result) else "") + result["failure"].replace("|", "/")
        )
    else:
        cells += figures(result)
    return f"| {' | '.join(cells + [''] * (len(COLUMNS) - len(cells)))} |"


def ratio_cell(result):
    """The median, and what lies around it in single rounds, if anything does."""
    least, most = result["ratio_spread"]
    spread = f" ({least:.2f}-{most:.2f})" if least != most else ""
    return "" if result["ratio"] is None else f"{result['ratio']:.2f}{spread}"


def figures(result):
    """The cells of a success, from the seconds on."""
    shown = lambda name, form: "" if result[name] is None else format(result[name], form)
    least, most = result["spread"]
    spread = f" ({seconds(least)}-{seconds(most)})" if result["rounds"] > 1 else ""
    return [
        f"{seconds(result['seconds'])}{spread}",
        ratio_cell(result),
        f"{result['bytes'] / result['seconds'] / 1e9:.2f}",
        f"{result['cpu_seconds']:.1f}",
        f"{result['cpu_ns_per_record']:,.0f}",
        peak_cell(result),
        f"{result['read_bytes'] / 1e9:.2f}",
        f"{result['written_bytes'] / 1e9:.2f}",
        f"{result['moved_per_byte']:.2f}",
        shown("floor_seconds", ".2f"),
        shown("times_floor", ".2f"),
        shown("share", ".0%"),
        shown("freed_seconds", ".2f"),
        shown("share_with_freed", ".0%"),
        shown("new_floor_seconds", ".2f"),
        shown("share_of_new", ".0%"),
    ]
