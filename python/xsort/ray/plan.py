"""How long a sort on many machines would take, and what it would cost: from the simulator.

A forecast, not a promise: its rates are those of `machines.py`, and `docs/cluster.md` says how far
it was off where runs are known. A job of many thousand tasks is simulated with fewer, larger ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .machines import DRIVER_DOLLARS_HOUR, INSTANCES, Instance, Store, Work
from .simulate import Job, Losses, Result, Simulation
from .sizes import parse_size, show_seconds, show_size

# Slices that are simulated; more would cost seconds, and change little.
SLICES_MAX = 6000


@dataclass(frozen=True)
class Plan:
    """A forecast. Printing it says all; money is in dollars, times in seconds."""

    bytes: int
    nodes: int
    instance: Instance
    seconds: float
    phases: dict[str, float]
    dollars_machines: float
    dollars_requests: float
    dollars_storage: float
    nodes_lost: int
    maps_again: float
    slices: int
    parts: int

    @property
    def dollars(self) -> float:
        return self.dollars_machines + self.dollars_requests + self.dollars_storage

    def __str__(self) -> str:
        phases = []
        before = 0.0
        for name in ("sample", "map", "merge", "validate"):
            if name in self.phases:
                phases.append(f"{name} {show_seconds(self.phases[name] - before)}")
                before = self.phases[name]
        lines = [
            f"{show_size(self.bytes)} on {self.nodes} x {self.instance.name}: "
            f"{show_seconds(self.seconds)}, ${self.dollars:,.2f}",
            f"  {self.slices} slices, {self.parts} parts; {', '.join(phases)}",
            f"  machines ${self.dollars_machines:,.2f}, requests ${self.dollars_requests:,.2f}, "
            f"storage ${self.dollars_storage:,.2f}",
        ]
        if self.nodes_lost:
            again = f"{self.maps_again:.1%} of the slices were mapped again"
            lines.append(f"  {self.nodes_lost} nodes lost: {again}")
        return "\n".join(lines)


def plan(
    size: str | int,
    *,
    nodes: int,
    instance: str | Instance,
    local: bool = False,
    slice_size: str | int = "1GB",
    part_size: str | int = "2GB",
    slots: int | None = None,
    spot: float | None = None,
    losses: Losses | None = None,
    store: Store | None = None,
    work: Work | None = None,
    seed: int = 0,
) -> Plan:
    """A forecast of `xsort.ray.sort` of so many bytes (`"100TB"`) on `nodes` machines.

    `instance` is a name in `INSTANCES` or an `Instance`. Inputs and outputs are in an object store,
    or with `local` on the nodes' drives. `spot` is the price of the nodes as a share of the usual
    one; `losses` says which nodes are lost. Raises ValueError if scratch can't hold the data.
    """
    machine = instance if isinstance(instance, Instance) else INSTANCES.get(instance)
    if machine is None:
        known = ", ".join(INSTANCES)
        raise ValueError(f"no figures for {instance!r}: pass one of {known}, or an Instance")
    total, slice_bytes, part_bytes = map(parse_size, (size, slice_size, part_size))
    needed = total / nodes * (3 if local else 1)
    if needed > machine.drive_bytes:
        fewest = math.ceil(total * (3 if local else 1) / machine.drive_bytes)
        raise ValueError(
            f"{show_size(needed)} of scratch a node doesn't fit {machine.name} with "
            f"{show_size(machine.drive_bytes)}: take {fewest} nodes or more"
        )
    store = None if local else (store or Store())
    scale = max(1.0, total / slice_bytes / SLICES_MAX)
    work = work or Work()
    work = replace(
        work,
        start_seconds=work.start_seconds * scale,
        sample_seconds=work.sample_seconds * scale,
    )
    job = Job(total, slice_bytes * scale, part_bytes * scale, store)
    result = Simulation(job, machine, nodes, slots=slots, work=work, losses=losses, seed=seed).run()
    if result.error is not None:
        raise ValueError(f"the simulated job failed: {result.error}")
    return _priced(job, machine, nodes, result, scale, spot)


def _priced(
    job: Job, machine: Instance, nodes: int, result: Result, scale: float, spot: float | None
) -> Plan:
    """The plan with its costs: of machines, of requests, of what lies in the store meanwhile."""
    hours = result.seconds / 3600
    machines = result.node_seconds / 3600 * machine.dollars_hour * (spot or 1.0)
    requests = storage = 0.0
    if job.store is not None:
        requests = result.gets / 1000 * job.store.dollars_1000_gets
        requests += result.puts / 1000 * job.store.dollars_1000_puts
        # The input all the time; the output from the first part on, which is half of it on average.
        written = (result.seconds - result.phases["map"]) / 3600
        month = job.store.dollars_gb_month / (30.4 * 24)
        storage = job.bytes / 1e9 * month * (hours + written / 2)
    return Plan(
        int(job.bytes),
        nodes,
        machine,
        result.seconds,
        result.phases,
        machines + hours * DRIVER_DOLLARS_HOUR,
        requests,
        storage,
        result.nodes_lost,
        result.maps / result.slices - 1,
        round(result.slices * scale),
        round(result.parts * scale),
    )
