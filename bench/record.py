"""A record: a folder with the table, the plot (of sorts), the raw rows, and what a reader must know
to make it again.

One of the same day, topic and name is replaced, unless the new one was stopped before its end: that
one is put beside it.
"""

import json
import textwrap

import plot
import quote
import report
import walks_report

COLUMNS = 100


def folder_name(date, topic, name, is_complete):
    """2026-11-21-rivals, with the name that the caller gave, if any."""
    return "-".join(
        part for part in (date, topic, name, None if is_complete else "unfinished") if part
    )


def title(topic, cases):
    """What was sorted in how much memory, as a line."""
    bytes = sorted({case.bytes for case in cases if case.repeats == 1})
    memory = sorted({entry.memory_bytes for case in cases for entry in case.entries})
    return f"xsort: {topic}, {span([size / 1e9 for size in bytes], 'g')} GB, {span([size / 2**20 for size in memory], ',.0f')} MiB"


def span(values, form):
    """The one value, or the least and the largest."""
    return "-".join(format(value, form) for value in dict.fromkeys((values[0], values[-1])))


def placeless(text, places):
    """A text without the places of this machine; `places` maps them to names, the innermost
    first.
    """
    for place, name in places.items():
        text = text.replace(str(place), name).replace(str(place).lstrip("/"), name)
    return text


def sort_pages(title, environment, rows):
    """What there is to see of sorts: files by name."""
    results = report.summary(rows)
    return {
        "table.md": report.table(title, environment, results, quote.table(results)),
        "plot.svg": plot.svg(title, results),
    }


def walk_pages(title, environment, rows):
    """The same of walks."""
    return {"table.md": walks_report.table(title, environment, walks_report.summary(rows))}


def write(folder, title, environment, rows, pages=sort_pages):
    """Writes the folder and returns the table."""
    files = pages(title, environment, rows)
    files |= {
        "environment.json": json.dumps(environment, indent=2) + "\n",
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
    }
    folder.mkdir(parents=True, exist_ok=True)
    files["table.md"] = wrapped(files["table.md"])
    for name, text in files.items():
        (folder / name).write_text(text)
    return files["table.md"]


def wrapped(page):
    """A page whose lines have 100 columns at most, as all pages have; tables are as wide as they
    are.
    """
    lines = []
    for line in page.split("\n"):
        is_prose = line and not line.startswith(("|", "#"))
        lines += textwrap.wrap(line, COLUMNS) if is_prose else [line]
    return "\n".join(lines)
