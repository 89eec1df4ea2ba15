#!/usr/bin/env python3
"""What the simulator of xsort.ray says: of sorts that others have published, then of ours.

usage: bench/ray/forecast.py FOLDER

Writes FOLDER/published.md, FOLDER/forecast.md and FOLDER/forecast.svg; docs/experiments has them.
Run it with a Python that has the package; Ray isn't needed. It takes some minutes.
"""

from math import log10
from pathlib import Path
import sys

from xsort.ray import Losses, plan
from xsort.ray.machines import INSTANCES, Store
from xsort.ray.simulate import Job, Simulation

# Sorts of Exoshuffle by its authors: the record (arXiv:2301.03734), and the comments of
# raysort/config/aws.py in github.com/exoshuffle/raysort, at their best. Machines, nodes, TB,
# seconds, whether inputs and outputs are in S3.
PUBLISHED = (
    ("i4i.4xlarge", 40, 8, 458, True), ("i4i.4xlarge", 40, 40, 2187, True), ("i4i.4xlarge", 40, 100, 5378, True), ("i4i.4xlarge", 10, 2, 402, True),
    ("i4i.4xlarge", 10, 8, 1550, True), ("i4i.4xlarge", 20, 4, 418, True), ("i4i.4xlarge", 20, 10, 1266, True), ("i4i.2xlarge", 10, 1, 423, True),
    ("i4i.2xlarge", 20, 2, 466, True), ("i4i.2xlarge", 40, 4, 536, True), ("i4i.2xlarge", 40, 20, 2901, True), ("i4i.2xlarge", 100, 10, 681, True),
    ("i4i.2xlarge", 10, 1, 361, False), ("i4i.2xlarge", 100, 10, 607, False), ("i4i.2xlarge", 100, 50, 3089, False), ("i3.2xlarge", 10, 1, 571, False),
)  # fmt: skip
SPOT, LOST_NODE_HOUR, REPLACED = 0.35, 0.1, 180.0
FORECASTS = (
    ("1TB", 10, "i4i.4xlarge"),
    ("1TB", 20, "i4i.4xlarge"),
    ("10TB", 10, "i4i.4xlarge"),
    ("10TB", 40, "i4i.4xlarge"),
    ("10TB", 100, "i4i.4xlarge"),
    ("100TB", 40, "i4i.4xlarge"),
    ("100TB", 100, "i4i.4xlarge"),
    ("100TB", 40, "i3en.6xlarge"),
)


def published():
    lines = ["| machines | TB | in | published, s | simulated, s | |", "|---|--:|---|--:|--:|--:|"]
    points = []
    for name, nodes, terabytes, seconds, stored in PUBLISHED:
        job = Job(
            terabytes * 1e12,
            2e9,
            4e9 if terabytes >= 8 else 2e9,
            Store() if stored else None,
            "push",
        )
        found = Simulation(job, INSTANCES[name], nodes).run().seconds
        points.append((seconds, found))
        lines.append(
            f"| {nodes} x {name} | {terabytes} | {'S3' if stored else 'drives'} | {seconds:,} | {found:,.0f} | {found / seconds - 1:+.0%} |"
        )
        print(lines[-1], flush=True)
    return lines, points


def forecasts():
    lines = [
        "| | nodes | time | $ | one node lost halfway | mapped again | spot: lost | time | $ | 60% equal keys | if they weren't split |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for size, nodes, name in FORECASTS:
        calm = plan(size, nodes=nodes, instance=name)
        losses = Losses(node_hour=LOST_NODE_HOUR, replaced_seconds=REPLACED)
        halfway = plan(
            size,
            nodes=nodes,
            instance=name,
            losses=Losses(at=(calm.seconds / 2,), replaced_seconds=REPLACED),
        )
        spot = plan(size, nodes=nodes, instance=name, spot=SPOT, losses=losses, seed=1)
        job = Job(calm.bytes, calm.bytes / 2000, calm.bytes / 1000)
        even, heavy = (
            Simulation(
                Job(job.bytes, job.slice_bytes, job.part_bytes, heavy_share=share),
                INSTANCES[name],
                nodes,
            ).run()
            for share in (0.0, 0.6)
        )
        unsplit = calm.seconds * heavy.seconds / even.seconds
        lines.append(
            f"| {size} | {nodes} x {name} | {calm.seconds:,.0f} s | {calm.dollars:,.2f} | {halfway.seconds:,.0f} s | {halfway.maps_again:.1%} | {spot.nodes_lost} | {spot.seconds:,.0f} s | {spot.dollars:,.2f} "
            f"| {calm.seconds:,.0f} s | {unsplit:,.0f} s |"
        )
        print(lines[-1], flush=True)
    return lines


def plot(points):
    """Simulated over published seconds, both logarithmic, with a band of 20%."""
    left, size, low, high = 60, 420, log10(300), log10(7000)

    def place(value):
        return (log10(value) - low) / (high - low) * size

    parts = [
        '<text class="title" x="0" y="16">Simulated seconds over published ones; the band is 20%</text>'
    ]
    band = [(300, 360), (7000 / 1.2, 7000), (7000, 7000), (7000, 5600), (375, 300), (300, 300)]
    corners = " ".join(f"{left + place(x):.1f},{30 + size - place(y):.1f}" for x, y in band)
    parts.append(f'<polygon points="{corners}" fill="#8d99a8" fill-opacity=".2"/>')
    for tick in (300, 600, 1000, 2000, 4000, 7000):
        x, y = left + place(tick), 30 + size - place(tick)
        parts.append(
            f'<text x="{x:.1f}" y="{30 + size + 18}" text-anchor="middle">{tick:,}</text><text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>'
        )
        parts.append(
            f'<path d="M{x:.1f} 30V{30 + size}M{left} {y:.1f}H{left + size}" class="grid"/>'
        )
    for seconds, found in points:
        parts.append(
            f'<circle cx="{left + place(seconds):.1f}" cy="{30 + size - place(found):.1f}" r="4.5" fill="#d9622b"/>'
        )
    style = "text{font:13px system-ui,sans-serif;fill:#656d76}.title{font-weight:600;font-size:15px}.grid{stroke:#8d99a8;stroke-opacity:.25}@media(prefers-color-scheme:dark){text{fill:#8b949e}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 480" width="500" height="480"><style>{style}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines, points = published()
    (folder / "published.md").write_text("\n".join(lines) + "\n")
    (folder / "forecast.svg").write_text(plot(points))
    (folder / "forecast.md").write_text("\n".join(forecasts()) + "\n")


if __name__ == "__main__":
    main()
