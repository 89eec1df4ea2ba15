"""Rows to a table: medians over the rounds, ratios to the baseline of the same round, and the share of the drive's floor.

The floor of a sort of N bytes that spills S is the time for reading N + S and writing N + S, by the rates that fio reached in the same
round: in turn, or both at once, whichever is less. S is what xsort spilled with the same memory; so every program is held to
the same floor. `gen` only writes and `verify` only reads.
"""

from statistics import median

TASKS = ("sort", "gen", "verify")
HEAD = "| input | program | memory MiB | seconds | per byte | GB/s | CPU s | peak MiB | read GB | written GB | of the floor |"
RULE = "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"


LEGEND = """`memory`: what the program was given; `peak`: what it took. `seconds`: median (least-most) until the output is on the drive.
`per byte`: seconds per byte as a multiple of the bold line's in the same round. `read`, `written`: what the device moved.
`of the floor`: 100% is the drive's limit by fio in the same round. Raw rows: `rows.jsonl`.
"""


def summary(rows):
    """One dictionary for each program on each input: the sorts first, in the order in which they came."""
    groups = {}
    for row in rows:
        groups.setdefault((row["task"], row["case"], row["label"], bool(row["failure"])), []).append(row)
    results = [summarise(group, rows) for group in groups.values()]
    return sorted(results, key=lambda result: TASKS.index(result["task"]))


def summarise(group, rows):
    first = group[0]
    result = {name: first[name] for name in ("task", "case", "label", "contender", "is_baseline", "bytes", "failure")}
    result["memory_bytes"] = sorted({row["memory_bytes"] for row in group if row["memory_bytes"]})
    if first["failure"]:
        return result
    middle = lambda name: median(row[name] for row in group)
    result |= {name: middle(name) for name in ("seconds", "peak_bytes", "read_bytes", "written_bytes")}
    result["cpu_seconds"] = median(row["user_seconds"] + row["system_seconds"] for row in group)
    result["spread"] = [min(row["seconds"] for row in group), max(row["seconds"] for row in group)]
    result["rounds"] = len(group)
    result["ratio"] = median_of(ratio_to_baseline(row, rows) for row in group)
    result["share"] = median_of(row["floor_seconds"] and row["floor_seconds"] / row["seconds"] for row in group)
    return result


def median_of(values):
    """The median of the values that there are."""
    values = [value for value in values if value]
    return median(values) if values else None


def ratio_to_baseline(row, rows):
    """Seconds per byte, as a multiple of the baseline's in the same round."""
    for other in rows:
        if other["is_baseline"] and not other["failure"] and (other["round"], other["task"]) == (row["round"], row["task"]):
            return (row["seconds"] / row["bytes"]) / (other["seconds"] / other["bytes"])
    return None


def table(title, environment, results):
    """The page of a record."""
    lines = [line(result) for result in results]
    return "\n".join([f"# {title}", "", sentence(environment), "", HEAD, RULE, *lines, "", LEGEND])


def sentence(environment):
    caches = "caches dropped before each run" if environment["caches_dropped"] else "**caches not dropped** (not root)"
    fio = "" if environment["versions"]["fio"] else " **fio is missing: no floor.**"
    return (
        f"{environment['date']}, {environment['cpu']}, {environment['cores']} cores, {environment['memory_bytes'] / 2**30:.0f} GiB,"
        f" {environment['kernel']}; rounds: {environment['rounds']}; {caches}.{fio}"
    )


def mebibytes(result):
    """The memory that a program was given; several figures if it failed with all of them."""
    return ", ".join(f"{bytes / 2**20:,.0f}" for bytes in result["memory_bytes"])


def line(result):
    name = f"**{result['label']}**" if result["is_baseline"] else result["label"]
    memory = mebibytes(result)
    if result["failure"]:
        return f"| {result['case']} | {name} | {memory} | failed: {result['failure'].replace('|', '/')} | | | | | | | |"
    ratio = "" if result["ratio"] is None else f"{result['ratio']:.2f}"
    share = "" if result["share"] is None else f"{result['share']:.0%}"
    least, most = result["spread"]
    spread = f" ({least:.2f}-{most:.2f})" if result["rounds"] > 1 else ""
    rate = result["bytes"] / result["seconds"] / 1e9
    return (
        f"| {result['case']} | {name} | {memory} | {result['seconds']:.2f}{spread} | {ratio} | {rate:.2f}"
        f" | {result['cpu_seconds']:.1f} | {result['peak_bytes'] / 2**20:,.0f} | {result['read_bytes'] / 1e9:.2f}"
        f" | {result['written_bytes'] / 1e9:.2f} | {share} |"
    )
