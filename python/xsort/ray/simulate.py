"""A sort on many machines without the machines: discrete events under the real scheduler.

Tasks are steps, and a step is bytes through resources: its node's link in either direction, its
drives, its cores, and requests to the store. All steps on a node share its resources (max-min fair,
by progressive filling), and the rates change whenever a step begins or ends there. The scheduler
that says which task runs where is the one that runs on Ray (`scheduler.py`).

Two designs are known. `pull` is this package's: maps write what they have sorted to their drives,
and merges fetch it from there. `push` is that of Exoshuffle (Luan et al., SIGCOMM 2023): maps send
to all nodes at once, which merge what arrives and write it to their drives, and the last step is
local. It is here because its runs are published, so that the model can be compared with something.

What a node serves to others is charged to the node that asks, since all nodes serve as much as they
ask for. So a node without slices, which a replaced one is for some minutes, is as slow as the
others. Nothing here is random but what `seed` makes.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import Any

from .machines import Instance, Store, Work
from .scheduler import Check, Drop, Fail, Failure, Kind, Scheduler, Start, Task, Trouble

# Resources of a node: its link in and out, its drives' time, its cores, requests to the store.
IN, OUT, DRIVE, CORES, GETS, PUTS = range(6)
# A merge that asks a dead node finds out after so many seconds, and tries no longer.
REFUSED_SECONDS = 1.0
# Sizes of parts are drawn from so many, so that rates can be looked up.
SIZES = 5


@dataclass(frozen=True)
class Job:
    """What is sorted, and where it lies: in `store`, or on the nodes' drives if that is None.

    `spread`: how far a task's work is from the mean at most: parts that aren't quite equal,
    connections and drives that aren't quite as fast. Without it all tasks of a node would read,
    then all sort, then all write. `heavy_share`: one part has this share of all bytes, as where
    equal keys can't be split.
    """

    bytes: float
    slice_bytes: float = 1e9
    part_bytes: float = 2e9
    store: Store | None = field(default_factory=Store)
    design: str = "pull"
    spread: float = 0.25
    heavy_share: float = 0.0


@dataclass(frozen=True)
class Losses:
    """Nodes that are lost: at these seconds, one each time, or so many a node and hour by chance.

    A loss is noticed after a while, and another node is there after a longer one, or never (None).
    """

    at: tuple[float, ...] = ()
    node_hour: float = 0.0
    noticed_seconds: float = 30.0
    replaced_seconds: float | None = None


@dataclass
class Result:
    """What a simulated job took. A phase's seconds are those until its last task ended."""

    seconds: float
    phases: dict[str, float]
    slices: int
    parts: int
    maps: int
    merges: int
    nodes_lost: int
    node_seconds: float
    gets: float
    puts: float
    error: str | None


@dataclass(frozen=True)
class Step:
    """Amounts of resources that are used side by side, and the least seconds it takes."""

    demand: tuple[tuple[int, float], ...]
    least_seconds: float
    fetches: bool = False


@dataclass
class Running:
    """A task on its way through its steps. `left` is the share of the present step."""

    task: Task
    steps: list[Step]
    left: float = 1.0
    rate: float = 0.0


@dataclass
class Machine:
    """A node: what runs there, and since when."""

    joined: float
    running: dict[int, Running] = field(default_factory=dict)
    updated: float = 0.0
    version: int = 0
    dead: bool = False


class Simulation:
    """A job on `nodes` machines. `run` returns what it took."""

    def __init__(
        self,
        job: Job,
        instance: Instance,
        nodes: int,
        *,
        slots: int | None = None,
        work: Work | None = None,
        losses: Losses | None = None,
        seed: int = 0,
    ) -> None:
        self.job, self.instance, self.nodes = job, instance, nodes
        self.work, self.losses = work or Work(), losses or Losses()
        self.slots = slots or max(1, instance.cores * 3 // 4)
        self.random = random.Random(seed)
        slices = max(1, round(job.bytes / job.slice_bytes))
        parts = max(1, round(job.bytes / job.part_bytes))
        batch = max(1, slices // (nodes * self.slots * 2))
        self.scheduler = Scheduler(slices, parts, batch=batch)
        self.slice_scale = self._scales(slices)
        self.part_scale = self._scales(parts)
        if job.heavy_share:
            self.part_scale = [(1 - job.heavy_share) * scale for scale in self.part_scale]
            self.part_scale[parts // 2] += job.heavy_share * parts
        self.capacity = self._capacity()
        self.machines: dict[str, Machine] = {}
        self.now = 0.0
        self.events: list[tuple[float, int, str, Any]] = []
        self.sequence = 0
        self.unnoticed: set[str] = set()
        self.phases: dict[str, float] = {}
        self.node_seconds = self.gets = self.puts = 0.0
        self.nodes_lost = self.names = 0
        self.ended = False
        self.error: str | None = None
        self._steps: dict[tuple[Kind, float], list[Step]] = {}
        self._rates: dict[tuple[tuple[int, int], ...], dict[int, float]] = {}

    def run(self) -> Result:
        for _ in range(self.nodes):
            self._join()
        for at in self.losses.at:
            self._at(at, "lose", None)
        self._act()
        while not self.ended:
            if not self.events:
                self.error = "no node is left, and none is replaced"
                break
            self.now, _, what, of = heapq.heappop(self.events)
            getattr(self, f"_on_{what}")(of)
            self._act()
        for machine in self.machines.values():
            self.node_seconds += self.now - machine.joined
        scheduler = self.scheduler
        return Result(
            self.now,
            self.phases,
            scheduler.slices,
            scheduler.parts,
            scheduler.started[Kind.MAP],
            scheduler.started[Kind.MERGE],
            self.nodes_lost,
            self.node_seconds,
            self.gets,
            self.puts,
            self.error,
        )

    # What happens.

    def _at(self, time: float, what: str, of: Any) -> None:
        self.sequence += 1
        heapq.heappush(self.events, (time, self.sequence, what, of))

    def _join(self) -> None:
        self.names += 1
        name = f"node-{self.names}"
        self.machines[name] = Machine(self.now, updated=self.now)
        self.scheduler.node_joined(name, self.slots)
        if self.losses.node_hour:
            wait = self.random.expovariate(self.losses.node_hour / 3600)
            self._at(self.now + wait, "lose", name)

    def _on_join(self, _: Any) -> None:
        self._join()

    def _on_lose(self, name: str | None) -> None:
        """The machine is gone. Merges that fetch from it find out, the driver somewhat later."""
        alive = [each for each, machine in self.machines.items() if not machine.dead]
        name = name or (self.random.choice(alive) if alive else None)
        if name is None or name not in alive:
            return
        machine = self.machines[name]
        machine.dead = True
        machine.running.clear()
        machine.version += 1
        self.nodes_lost += 1
        self.node_seconds += self.now - machine.joined
        self.unnoticed.add(name)
        self._at(self.now + self.losses.noticed_seconds, "noticed", name)
        if self.losses.replaced_seconds is not None:
            self._at(self.now + self.losses.replaced_seconds, "join", None)
        for other in self.machines.values():
            for running in list(other.running.values()):
                if running.steps[0].fetches:
                    self._refuse(running, name)

    def _on_noticed(self, name: str) -> None:
        self.unnoticed.discard(name)
        del self.machines[name]
        self.scheduler.node_lost(name)

    def _refuse(self, running: Running, name: str) -> None:
        self._at(self.now + REFUSED_SECONDS, "refused", (running.task, name))

    def _on_refused(self, of: tuple[Task, str]) -> None:
        task, name = of
        assert task.node is not None
        machine = self.machines.get(task.node)
        if machine is not None and machine.running.pop(task.number, None) is not None:
            self._settle(task.node)
            failure = Failure(Trouble.LOST_SOURCE, f"{name} is silent", nodes=(name,))
            self.scheduler.task_failed(task.number, failure)

    def _on_driver(self, task: Task) -> None:
        self._done(task)

    def _on_step(self, of: tuple[str, int]) -> None:
        name, version = of
        machine = self.machines.get(name)
        if machine is None or machine.version != version:
            return
        self._advance(machine)
        for number, running in list(machine.running.items()):
            if running.left <= 1e-9:
                running.steps.pop(0)
                running.left = 1.0
                if not running.steps:
                    del machine.running[number]
                    self._done(running.task)
        self._settle(name)

    def _done(self, task: Task) -> None:
        self.phases[task.kind.value] = self.now
        self.scheduler.task_done(task.number)

    def _act(self) -> None:
        """Does what the scheduler says."""
        touched: dict[str, None] = {}
        for action in self.scheduler.actions():
            if isinstance(action, Start):
                self._start(action.task, touched)
            elif isinstance(action, Check):
                if action.node not in self.unnoticed:
                    self.scheduler.node_answers(action.node)
            else:
                assert not isinstance(action, Drop)
                self.ended = True
                self.error = action.message if isinstance(action, Fail) else None
        for name in touched:
            self._settle(name)

    def _start(self, task: Task, touched: dict[str, None]) -> None:
        if task.kind is Kind.VALIDATE or task.kind is Kind.SPLIT:
            keys = 256 * self.scheduler.parts if task.kind is Kind.SPLIT else 0
            files = self.scheduler.parts + self.scheduler.slices
            self._at(self.now + 1 + keys * 2e-6 + files * 2e-5, "driver", task)
            return
        assert task.node is not None
        machine = self.machines[task.node]
        if machine.dead:
            return
        self._advance(machine)
        running = Running(task, list(self._steps_of(task)))
        machine.running[task.number] = running
        touched[task.node] = None
        if running.steps[0].fetches:
            for name in self.unnoticed:
                self._refuse(running, name)

    # Rates.

    def _advance(self, machine: Machine) -> None:
        elapsed = self.now - machine.updated
        machine.updated = self.now
        if elapsed:
            for running in machine.running.values():
                running.left -= running.rate * elapsed

    def _settle(self, name: str) -> None:
        """New rates for all that runs on a node, and the event of the first step that ends."""
        machine = self.machines[name]
        self._advance(machine)
        machine.version += 1
        if not machine.running:
            return
        counts: dict[int, int] = {}
        steps: dict[int, Step] = {}
        for running in machine.running.values():
            step = running.steps[0]
            counts[id(step)] = counts.get(id(step), 0) + 1
            steps[id(step)] = step
        key = tuple(sorted(counts.items()))
        rates = self._rates.get(key)
        if rates is None:
            rates = self._rates[key] = share(self.capacity, steps, counts)
        first = float("inf")
        for running in machine.running.values():
            running.rate = rates[id(running.steps[0])]
            first = min(first, max(0.0, running.left) / running.rate)
        self._at(self.now + first, "step", (name, machine.version))

    def _scales(self, count: int) -> list[float]:
        """Sizes around 1. The same in reverse follow, so that the mean is 1."""
        half = [self.random.randrange(SIZES) * 2 / (SIZES - 1) - 1 for _ in range(count // 2)]
        pairs = [scale for each in half for scale in (each, -each)]
        return [1 + self.job.spread * scale for scale in pairs + [0.0] * (count % 2)]

    def _capacity(self) -> list[float]:
        instance, store = self.instance, self.job.store or Store()
        return [
            instance.link,
            instance.link,
            1.0,
            float(instance.cores),
            store.prefixes * store.gets_second / self.nodes,
            store.prefixes * store.puts_second / self.nodes,
        ]

    # What tasks are made of.

    def _steps_of(self, task: Task) -> list[Step]:
        """The steps of a task. Equal tasks share them, so that rates are found again."""
        job, scheduler = self.job, self.scheduler
        if task.kind is Kind.SAMPLE:
            size = float(scheduler.batch)
        elif task.kind is Kind.MAP:
            size = job.bytes / scheduler.slices * self.slice_scale[task.index]
        else:
            size = job.bytes / scheduler.parts * self.part_scale[task.index]
        if job.store is not None and task.kind is Kind.MAP:
            self.gets += size / job.store.get_bytes
        if job.store is not None and task.kind is Kind.MERGE:
            self.puts += size / job.store.put_bytes
        known = self._steps.get((task.kind, size))
        if known is None:
            make = {Kind.SAMPLE: self._sample, Kind.MAP: self._map, Kind.MERGE: self._merge}
            start = Step((), self.work.start_seconds)
            known = self._steps[(task.kind, size)] = [start, *make[task.kind](size)]
        return known

    def _sample(self, slices: float) -> list[Step]:
        return [Step((), slices * self.work.sample_seconds)]

    def _map(self, size: float) -> list[Step]:
        others = 1 - 1 / self.nodes
        spill = (DRIVE, size / self.instance.drive_write)
        steps = [self._read(size), self._cores(size / self.work.sort_core)]
        if self.job.design == "pull":
            return [*steps, Step((spill,), 0)]
        merge = size / self.work.merge_core
        push = ((OUT, others * size), (IN, others * size), (CORES, merge), spill)
        return [*steps, Step(push, merge / self._threads)]

    def _merge(self, size: float) -> list[Step]:
        others = 1 - 1 / self.nodes
        cores = size / self.work.merge_core
        read = (DRIVE, size / self.instance.drive_read)
        out = self._write(size)
        least = max(cores / self._threads, out.least_seconds)
        if self.job.design == "push":
            return [Step(((CORES, cores), read, *out.demand), least)]
        fetch = ((IN, others * size), (OUT, others * size), read)
        return [Step(fetch, 0, fetches=True), Step(((CORES, cores), *out.demand), least)]

    def _read(self, size: float) -> Step:
        store = self.job.store
        if store is None:
            return Step(((DRIVE, size / self.instance.drive_read),), 0)
        demand = ((IN, size), (GETS, size / store.get_bytes))
        return Step(demand, size / (store.get_connection * store.connections))

    def _write(self, size: float) -> Step:
        store = self.job.store
        if store is None:
            return Step(((DRIVE, size / self.instance.drive_write),), 0)
        demand = ((OUT, size), (PUTS, size / store.put_bytes))
        return Step(demand, size / (store.put_connection * store.connections))

    def _cores(self, seconds: float) -> Step:
        return Step(((CORES, seconds),), seconds / self._threads)

    @property
    def _threads(self) -> float:
        """Threads of a task: the node's cores, divided by its slots."""
        return max(1.0, self.instance.cores / self.slots)


def share(
    capacity: list[float], steps: dict[int, Step], counts: dict[int, int]
) -> dict[int, float]:
    """Rates of steps (shares of them a second) by progressive filling: all grow alike until a
    resource is used up, or a step can go no faster; what that doesn't hold grows on."""
    left = list(capacity)
    rates = dict.fromkeys(steps, 0.0)
    growing = set(steps)
    while growing:
        use = [0.0] * len(left)
        for each in growing:
            for resource, amount in steps[each].demand:
                use[resource] += amount * counts[each]
        growth = min(
            [left[resource] / used for resource, used in enumerate(use) if used]
            + [
                1 / step.least_seconds - rates[each]
                for each, step in steps.items()
                if each in growing and step.least_seconds
            ]
            or [1e9]
        )
        for each in growing:
            rates[each] += growth
        for resource, used in enumerate(use):
            left[resource] -= used * growth
        held = {
            each
            for each in growing
            if (steps[each].least_seconds and rates[each] * steps[each].least_seconds > 1 - 1e-9)
            or any(left[resource] < 1e-9 * capacity[resource] for resource, _ in steps[each].demand)
            or not (steps[each].demand or steps[each].least_seconds)
        }
        growing -= held
    return rates
