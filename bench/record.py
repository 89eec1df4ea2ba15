"""A record: a folder with the table, the plot, the raw rows, and what a reader must know to make it again.

One of the same day, topic and name is replaced, unless the new one was stopped before its end: that one is put beside it.
"""

import json

import plot
import quote
import report


def folder_name(date, topic, name, is_complete):
    """2026-11-21-rivals, with the name that the caller gave, if any."""
    return "-".join(part for part in (date, topic, name, None if is_complete else "unfinished") if part)


def title(topic, cases):
    """What was sorted in how much memory, as a line."""
    bytes = sorted({case.bytes for case in cases if case.repeats == 1})
    memory = sorted({entry.memory_bytes for case in cases for entry in case.entries})
    return f"xsort: {topic}, {span([size / 1e9 for size in bytes], 'g')} GB, {span([size / 2**20 for size in memory], ',.0f')} MiB"


def span(values, form):
    """The one value, or the least and the largest."""
    return "-".join(format(value, form) for value in dict.fromkeys((values[0], values[-1])))


def placeless(text, places):
    """A text without the places of this machine; `places` maps them to names, the innermost first."""
    for place, name in places.items():
        text = text.replace(str(place), name).replace(str(place).lstrip("/"), name)
    return text


def write(folder, title, environment, rows):
    """Writes the folder and returns the table."""
    results = report.summary(rows)
    table = report.table(title, environment, results, quote.table(results))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environment.json").write_text(json.dumps(environment, indent=2) + "\n")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "table.md").write_text(table)
    (folder / "plot.svg").write_text(plot.svg(title, results))
    return table
