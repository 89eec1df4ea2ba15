"""A bar for each program, as SVG: seconds of the median, the floor's share written beside it."""

from html import escape

from report import mebibytes

WIDTH, LABEL, VALUE, BAR, GAP = 760, 220, 190, 18, 8
STYLE = "text{font:13px sans-serif;fill:#222}.own{fill:#c2410c}.other{fill:#94a3b8}.quiet{fill:#777}"


def svg(title, results):
    """The picture of the sorts among `results`; those that failed are named without a bar."""
    sorts = [result for result in results if result["task"] == "sort"]
    longest = max((result["seconds"] for result in sorts if not result["failure"]), default=1)
    names_case = len({result["case"] for result in sorts}) > 1
    top = 34
    parts = [f'<text x="0" y="16" font-weight="bold">{escape(title)}</text>']
    for place, result in enumerate(sorts):
        parts += bar(result, top + place * (BAR + GAP), (WIDTH - LABEL - VALUE) / longest, names_case)
    height = top + len(sorts) * (BAR + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def bar(result, y, scale, names_case):
    """A program's line: its name, its bar, its figures."""
    name = f"{result['case']}, {result['label']}" if names_case else result["label"]
    text = y + BAR - 5
    parts = [f'<text x="{LABEL - 8}" y="{text}" text-anchor="end">{escape(name)}</text>']
    if result["failure"]:
        return [*parts, f'<text class="quiet" x="{LABEL}" y="{text}">failed with {mebibytes(result)} MiB</text>']
    kind, width = "own" if result["contender"] == "xsort" else "other", result["seconds"] * scale
    share = f", {result['share']:.0%} of the floor" if result["share"] else ""
    parts.append(f'<rect class="{kind}" x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>')
    return [*parts, f'<text x="{LABEL + width + 6:.1f}" y="{text}">{result["seconds"]:.1f} s{share}</text>']
