"""A bar for each sort, as SVG: its time, and a mark where the drive's limit is.

Times are seconds, or seconds per GB if the inputs differ in size. The axis is logarithmic if the
slowest takes more than twenty times as long as the fastest. There is no background, and all colours
can be read on a light and on a dark page, also where the reader's system and the page disagree on
which it is.
"""

from html import escape
from math import floor, inf, log10

from report import mebibytes, was_tried

WIDTH, LABEL, VALUE, BAR, GAP, TOP, BOTTOM = 880, 230, 210, 18, 8, 62, 8
LOGARITHMIC_FROM = 20
OTHER, OWN = "#8d99a8", ("#d9622b", "#2a9187", "#a05fb4", "#5b7fd1")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#656d76}.title{font-weight:600;font-size:15px}.small{font-size:11px}"
    "@media(prefers-color-scheme:dark){text{fill:#8b949e}}"
    # Dark with a bright edge: seen on a page and on a bar of any colour.
    ".grid{stroke:#8d99a8;stroke-opacity:.25}.edge{stroke:#fff;stroke-width:4}.limit{stroke:#24292f;stroke-width:2}"
)


def svg(title, results):
    """The picture of the sorts among `results`, without those so short that they are run many
    times over: they only start and exit.
    """
    sorts = in_order(
        shown(
            [
                result
                for result in results
                if result["task"] == "sort" and result.get("repeats", 1) == 1
            ]
        )
    )
    done = [result for result in sorts if not result["failure"]]
    per_byte = len({result["bytes"] for result in done}) > 1
    axis = Axis(
        [
            value
            for result in done
            for value in (time(result, per_byte), limit(result, per_byte))
            if value
        ]
    )
    names_case = len({result["case"] for result in sorts}) > 1
    colours = palette(sorts, names_case)
    height = TOP + len(sorts) * (BAR + GAP) + BOTTOM
    unit = "seconds per GB" if per_byte else "seconds"
    parts = [
        f'<text class="title" x="0" y="16">{escape(title)}</text>',
        *key(unit, axis, done),
        *axis.lines(height - BOTTOM),
    ]
    for place, result in enumerate(sorts):
        parts += bar(result, TOP + place * (BAR + GAP), axis, per_byte, names_case, colours)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def shown(sorts):
    """Without the failures of those who succeeded with more memory, which their label says."""
    succeeded = {
        (result["case"], result["contender"])
        for result in sorts
        if not result["failure"] and result["contender"] != "xsort"
    }
    return [
        result
        for result in sorts
        if not result["failure"] or (result["case"], result["contender"]) not in succeeded
    ]


def in_order(sorts):
    """The quickest on each input first where programs compete, failures last; else as they came."""
    if len({result["contender"] for result in sorts}) == 1:
        return sorts
    cases = list(dict.fromkeys(result["case"] for result in sorts))
    return sorted(
        sorts,
        key=lambda result: (
            cases.index(result["case"]),
            inf if result["failure"] else result["seconds"],
        ),
    )


def palette(sorts, names_case):
    """A colour for each label of ours where several stand side by side on several inputs; else
    one for all.
    """
    labels = list(
        dict.fromkeys(result["label"] for result in sorts if result["contender"] == "xsort")
    )
    return {label: OWN[place % len(OWN) if names_case else 0] for place, label in enumerate(labels)}


def time(result, per_byte):
    return result["seconds"] / (result["bytes"] / 1e9 if per_byte else 1)


def limit(result, per_byte):
    """The drive's limit in the same unit, if it is known."""
    return result["floor_seconds"] and result["floor_seconds"] / (
        result["bytes"] / 1e9 if per_byte else 1
    )


class Axis:
    """Times to places from left to right."""

    def __init__(self, values):
        least, most = min(values, default=1), max(values, default=1)
        self.is_logarithmic = most > LOGARITHMIC_FROM * least
        self.ticks = logarithmic_ticks(least, most) if self.is_logarithmic else linear_ticks(most)
        self.least, self.most = self.ticks[0], max(most, self.ticks[-1])

    def x(self, value):
        ratio = (
            log10(value / self.least) / log10(self.most / self.least)
            if self.is_logarithmic
            else value / self.most
        )
        return LABEL + max(ratio, 0) * (WIDTH - LABEL - VALUE)

    def lines(self, bottom):
        parts = []
        for tick in self.ticks:
            x = f"{self.x(tick):.1f}"
            parts.append(f'<line class="grid" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{bottom}"/>')
            parts.append(
                f'<text class="small" x="{x}" y="{TOP - 10}" text-anchor="middle">{tick:g}</text>'
            )
        return parts


def linear_ticks(most):
    """From nothing in steps of 1, 2 or 5 times a power of ten, six at most."""
    power = 10 ** floor(log10(most / 5))
    step = next(step * power for step in (1, 2, 5, 10) if step * power * 5 >= most)
    return [place * step for place in range(int(most / step) + 1)]


def logarithmic_ticks(least, most):
    """Powers of ten and their halves and fifths, from just below the least."""
    powers = range(floor(log10(least)), floor(log10(most)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    below = max(tick for tick in ticks if tick <= least)
    return [tick for tick in ticks if below <= tick <= most]


def key(unit, axis, done):
    """What the axis and the mark mean."""
    scale = f"{unit}, logarithmic" if axis.is_logarithmic else unit
    parts = [f'<text class="small" x="0" y="{TOP - 10}">{scale}</text>']
    if any(result["floor_seconds"] for result in done):
        parts += mark(WIDTH - VALUE + 40, 4, 20)
        parts.append(
            f'<text class="small" x="{WIDTH - VALUE + 48}" y="16">the drive\'s limit</text>'
        )
    return parts


def bar(result, y, axis, per_byte, names_case, colours):
    """A program's line: its name, its bar, its figures."""
    name = (
        ", ".join(part for part in (result["case"], result["label"]) if part != "xsort")
        if names_case
        else result["label"]
    )
    base = y + BAR - 5
    parts = [f'<text x="{LABEL - 8}" y="{base}" text-anchor="end">{escape(name)}</text>']
    if result["failure"]:
        why = f"failed with {mebibytes(result)} MiB" if was_tried(result) else result["failure"]
        return [*parts, f'<text class="small" x="{LABEL + 4}" y="{base}">{escape(why)}</text>']
    end, least = axis.x(time(result, per_byte)), limit(result, per_byte)
    colour = colours[result["label"]] if result["contender"] == "xsort" else OTHER
    parts.append(
        f'<rect x="{LABEL}" y="{y}" width="{end - LABEL:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
    )
    if least:
        parts += mark(axis.x(least), y - 2, y + BAR + 2)
    return [
        *parts,
        f'<text x="{max(end, axis.x(least) if least else end) + 7:.1f}" y="{base}">{figures(result, per_byte)}</text>',
    ]


def mark(x, top, bottom):
    """Where the drive's limit is."""
    return [
        f'<line class="{kind}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>'
        for kind in ("edge", "limit")
    ]


def figures(result, per_byte):
    """The time, and how it compares: with the limit for xsort, with xsort for the others."""
    value = time(result, per_byte)
    said = f"{value:.{2 if value < 10 else 1}f} {'s/GB' if per_byte else 's'}"
    if result["contender"] == "xsort":
        return said + (f", {result['share']:.0%} of the limit" if result["share"] else "")
    return said + (f", {result['ratio']:.1f} times xsort's" if result["ratio"] else "")
