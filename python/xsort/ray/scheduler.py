"""Which task of a sort on many machines runs where: a state machine without clock, I/O or Ray.

Events go in by methods, actions come out of `actions()`. The executor (`driver.py`) and the
simulator (`simulate.py`) run this same code, and its tests drive it with thousands of random
failures.

The phases follow one another, but for what a lost node takes back:

    sample -> split -> map ------------> merge -> validate
                        ^                  |
                        '--(slices lost)---'

What a task has made lies where it ran: samples until the split, slices until the last part is
written. A lost node therefore costs its slices and what ran on it, and nothing else: parts that are
written stay. A merge needs all slices, so none is started while one is missing.

All state is a few bytes for each slice and part, and an event costs a constant time, but for the
loss of a node, which costs as much as it held.

It is not a queue for anything else: it knows no data, no addresses and no seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a task does. `index` counts batches of slices, slices or parts; else it is 0."""

    SAMPLE = "sample"
    SPLIT = "split"
    MAP = "map"
    MERGE = "merge"
    VALIDATE = "validate"


class Trouble(Enum):
    """Why a task failed, as far as it matters for what comes next."""

    FINAL = "no other attempt can help: the input has changed, the arguments are wrong"
    NO_SPACE = "scratch is full"
    LOST_SOURCE = "nodes did not answer"
    LOST_SLICES = "slices are missing or damaged"
    DIED = "the process was killed"
    OTHER = "anything else"


@dataclass(frozen=True, slots=True)
class Failure:
    """A task's end without its result: `nodes` of LOST_SOURCE, `slices` of LOST_SLICES."""

    trouble: Trouble
    message: str
    nodes: tuple[str, ...] = ()
    slices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """An attempt at something. `number` is unique; `node` is None for what the driver does."""

    number: int
    kind: Kind
    index: int
    node: str | None


@dataclass(frozen=True, slots=True)
class Start:
    """Run this task; answer with `task_done` or `task_failed`."""

    task: Task


@dataclass(frozen=True, slots=True)
class Check:
    """See whether the node is there; answer `node_lost`, `node_restarted` or `node_answers`."""

    node: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the slice from the node; answer with `slice_dropped`."""

    node: str
    slice: int


@dataclass(frozen=True, slots=True)
class Finish:
    """All is written and valid."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The job has failed; running tasks may be stopped."""

    message: str


Action = Start | Check | Drop | Finish | Fail
Key = tuple[Kind, int]

# Where a task's index stands. What is waiting is in a queue, maybe twice; what is aside is found on
# a node, or about to be dropped there.
_WAITING, _RUNNING, _DONE, _ASIDE = range(4)
# The same words so often are the task's own fault.
_SAME = 3


@dataclass(slots=True)
class Node:
    """What the scheduler knows of a machine."""

    slots: int
    running: dict[int, Task] = field(default_factory=dict)
    batches: set[int] = field(default_factory=set)
    slices: set[int] = field(default_factory=set)
    # Slices of an earlier attempt that are said to be here: mapping them here costs a look.
    found: deque[int] = field(default_factory=deque)
    takes_maps: bool = True
    parts_written: int = 0
    away: bool = False

    @property
    def free(self) -> int:
        return 0 if self.away else self.slots - len(self.running)


class Scheduler:
    """The state of a job of `slices` and `parts`.

    `batch` slices are sampled by one task. Of a task's own failures `attempts` end the job, of
    those that come from a machine (lost, restarted, not answering) `losses`. What an earlier
    attempt has finished: `split_done`, `parts_done`, and the slices that `node_joined` names.
    """

    def __init__(
        self,
        slices: int,
        parts: int,
        *,
        batch: int = 1,
        attempts: int = 4,
        losses: int = 64,
        split_done: bool = False,
        parts_done: Iterable[int] = (),
    ) -> None:
        self.slices, self.parts, self.batch = slices, parts, batch
        self.attempts, self.losses = attempts, losses
        self.nodes: dict[str, Node] = {}
        self.batches = -(-slices // batch)
        self.sampled = self.mapped = 0
        self.validated = False
        self.error: str | None = None
        self.started: dict[Kind, int] = dict.fromkeys(Kind, 0)
        sizes = {
            Kind.SAMPLE: self.batches,
            Kind.SPLIT: 1,
            Kind.MAP: slices,
            Kind.MERGE: parts,
            Kind.VALIDATE: 1,
        }
        self._state = {kind: bytearray(size) for kind, size in sizes.items()}
        for part in parts_done:
            self._state[Kind.MERGE][part] = _DONE
        self.parts_left = parts - self._state[Kind.MERGE].count(_DONE)
        self.split_done = split_done or self.parts_left == 0
        self._fresh = {kind: deque(range(size)) for kind, size in sizes.items()}
        self._again: dict[Kind, list[int]] = {kind: [] for kind in Kind}
        self._holder: list[str | None] = [None] * slices
        self._failures: dict[Key, list[tuple[str, str | None]]] = {}
        self._losses: dict[Key, int] = {}
        self._running: dict[int, Task] = {}
        self._checks: set[str] = set()
        self._drops: dict[int, str] = {}
        # Nodes with free slots, in the order in which they got them.
        self._free: dict[str, None] = {}
        self._number = 0
        self._out: list[Action] = []
        self._ended = False

    # Events.

    def node_joined(self, name: str, slots: int, found: Iterable[int] = ()) -> None:
        """A machine is there, with slices of an earlier attempt, which are not just believed."""
        assert name not in self.nodes and slots > 0
        self.nodes[name] = Node(slots)
        self._free[name] = None
        self._expect(name, found)

    def node_lost(self, name: str) -> None:
        """A machine is gone, with all that was on it."""
        if name in self.nodes:
            self._take_back(name, self.nodes.pop(name))

    def node_restarted(self, name: str, found: Iterable[int]) -> None:
        """The process on a machine died and runs again; these slices are still on its drives."""
        node = self.nodes.pop(name, None)
        assert node is not None
        self._take_back(name, node)
        self.node_joined(name, node.slots, found)
        self.nodes[name].takes_maps = node.takes_maps
        self.nodes[name].parts_written = node.parts_written

    def node_away(self, name: str) -> None:
        """The process on a machine died, and it will turn out whether `node_lost` or
        `node_restarted`. Until then nothing is started there, and nothing that needs its slices."""
        node = self.nodes.get(name)
        if node is not None and not node.away:
            node.away = True
            self._free.pop(name, None)
            self._checks.add(name)
            self._stop(name, node)

    def node_answers(self, name: str) -> None:
        """The machine of a `Check` is there after all."""
        if name in self.nodes and not self.nodes[name].away:
            self._checks.discard(name)

    def slice_dropped(self, index: int) -> None:
        """What was left of a missing or damaged slice is gone."""
        if self._drops.pop(index, None) is not None:
            self._wait(Kind.MAP, index)

    def task_done(self, number: int) -> None:
        """A task has its result. Late news of a task that was given up is nothing."""
        task = self._ends(number)
        if task is None:
            return
        self._state[task.kind][task.index] = _DONE
        node = self.nodes[task.node] if task.node is not None else Node(0)
        if task.kind is Kind.SAMPLE:
            node.batches.add(task.index)
            self.sampled += 1
        elif task.kind is Kind.SPLIT:
            self.split_done = True
            for each in self.nodes.values():
                each.batches.clear()
        elif task.kind is Kind.MAP:
            assert self._holder[task.index] is None
            self._holder[task.index] = task.node
            node.slices.add(task.index)
            self.mapped += 1
        elif task.kind is Kind.MERGE:
            self.parts_left -= 1
            node.parts_written += 1
        else:
            self.validated = True

    def task_failed(self, number: int, failure: Failure) -> None:
        """A task has ended without its result."""
        task = self._ends(number)
        if task is None:
            return
        self._wait(task.kind, task.index)
        key = (task.kind, task.index)
        if failure.trouble is Trouble.FINAL or task.kind is Kind.VALIDATE:
            self._fail(failure.message)
        elif failure.trouble is Trouble.NO_SPACE and task.kind is Kind.MAP:
            self._full(task.node, failure.message)
        elif failure.trouble is Trouble.LOST_SOURCE:
            self._lost(key, failure.message)
            for name in failure.nodes:
                if name in self.nodes and name not in self._checks:
                    self._checks.add(name)
                    self._out.append(Check(name))
        elif failure.trouble is Trouble.LOST_SLICES:
            self._lost(key, failure.message)
            for index in failure.slices:
                self._drop(index, failure.message)
        else:
            died = failure.trouble is Trouble.DIED
            self._failed(key, failure.message, task.node, self.attempts if died else _SAME)

    # Actions.

    def actions(self) -> list[Action]:
        """What is to be done now. Each action is given once."""
        if self.error is None:
            # One task a node and round, so that few tasks are spread over all nodes.
            names = list(self._free)
            while names:
                names = [name for name in names if self._start_one(name)]
            if self.parts_left == 0 and self._state[Kind.VALIDATE][0] == _WAITING:
                self._start((Kind.VALIDATE, 0), None)
        if not self._ended and (self.validated or self.error is not None):
            self._ended = True
            self._out.append(Finish() if self.error is None else Fail(self.error))
        out, self._out = self._out, []
        return out

    @property
    def phase(self) -> Kind:
        """What the job is at: the earliest thing that is still missing."""
        if self.parts_left == 0:
            return Kind.VALIDATE
        if not self.split_done:
            return Kind.SAMPLE if self.sampled < self.batches else Kind.SPLIT
        return Kind.MAP if self.mapped < self.slices else Kind.MERGE

    @property
    def stalled(self) -> bool:
        """Nothing runs, nothing is asked, nothing is decided: only another node can help."""
        is_decided = self.validated or self.error is not None
        return not (self._running or self._checks or self._drops or is_decided)

    def holder(self, index: int) -> str | None:
        """The node that has the slice."""
        return self._holder[index]

    def progress(self) -> dict[str, object]:
        """Counts by phase and by node."""
        running = dict.fromkeys((kind.value for kind in Kind), 0)
        for task in self._running.values():
            running[task.kind.value] += 1
        done = {
            "sample": (self.batches if self.split_done else self.sampled, self.batches),
            "map": (self.mapped, self.slices),
            "merge": (self.parts - self.parts_left, self.parts),
        }
        return {
            "phase": self.phase.value,
            "phases": {
                name: {"done": count, "of": of, "running": running[name]}
                for name, (count, of) in done.items()
            },
            "nodes": {
                name: {
                    "slots": node.slots,
                    "running": len(node.running),
                    "slices": len(node.slices),
                    "parts": node.parts_written,
                    "takes_maps": node.takes_maps,
                }
                for name, node in self.nodes.items()
            },
        }

    # What is next.

    def _next(self, name: str, node: Node) -> Key | None:
        phase = self.phase
        if phase is Kind.VALIDATE or (phase is Kind.MERGE and self._checks):
            return None
        state = self._state[phase]
        if phase is Kind.MAP:
            while node.found:
                index = node.found.popleft()
                if state[index] == _ASIDE:
                    return phase, index
            if not node.takes_maps:
                return None
        again = self._again[phase]
        at = 0
        while at < len(again):
            index = again[at]
            if state[index] == _WAITING and self._avoids((phase, index), name):
                at += 1
                continue
            del again[at]
            if state[index] == _WAITING:
                return phase, index
        fresh = self._fresh[phase]
        while fresh:
            index = fresh.popleft()
            if state[index] == _WAITING:
                return phase, index
        return None

    def _avoids(self, key: Key, name: str) -> bool:
        """Whether another node should have the next try, because it failed on this one."""
        tried = {node for _, node in self._failures.get(key, ())}
        return name in tried and any(
            other not in tried and (key[0] is not Kind.MAP or node.takes_maps)
            for other, node in self.nodes.items()
        )

    def _wait(self, kind: Kind, index: int) -> None:
        self._state[kind][index] = _WAITING
        self._again[kind].append(index)

    def _start_one(self, name: str) -> bool:
        node = self.nodes[name]
        key = self._next(name, node) if node.free else None
        if key is not None:
            self._start(key, name)
        if not node.free:
            del self._free[name]
        return key is not None and node.free > 0

    def _start(self, key: Key, name: str | None) -> None:
        self._number += 1
        task = Task(self._number, key[0], key[1], name)
        self._state[task.kind][task.index] = _RUNNING
        self._running[task.number] = task
        if name is not None:
            self.nodes[name].running[task.number] = task
        self.started[task.kind] += 1
        self._out.append(Start(task))

    def _ends(self, number: int) -> Task | None:
        task = self._running.pop(number, None)
        if task is not None and task.node is not None:
            del self.nodes[task.node].running[number]
            self._free[task.node] = None
        return task

    # What is lost.

    def _expect(self, name: str, found: Iterable[int]) -> None:
        """Notes slices that are said to be on a node, unless they are there already."""
        node = self.nodes[name]
        state = self._state[Kind.MAP]
        for index in found:
            if 0 <= index < self.slices and state[index] == _WAITING:
                state[index] = _ASIDE
                node.found.append(index)

    def _take_back(self, name: str, node: Node) -> None:
        self._free.pop(name, None)
        self._checks.discard(name)
        self._stop(name, node)
        for index in node.batches:
            self.sampled -= 1
            self._wait(Kind.SAMPLE, index)
        for index in node.found:
            self._wait(Kind.MAP, index)
        for index in node.slices:
            self._holder[index] = None
            self.mapped -= 1
            self._wait(Kind.MAP, index)
        for index in [index for index, holder in self._drops.items() if holder == name]:
            self.slice_dropped(index)

    def _stop(self, name: str, node: Node) -> None:
        """What ran on a node has to run again."""
        for task in node.running.values():
            del self._running[task.number]
            self._wait(task.kind, task.index)
            self._lost((task.kind, task.index), f"{name} is gone")
        node.running.clear()

    def _full(self, name: str | None, message: str) -> None:
        """A node whose scratch is full takes no more slices. Parts are still written there."""
        assert name is not None
        self.nodes[name].takes_maps = False
        if not any(node.takes_maps for node in self.nodes.values()):
            self._fail(f"scratch is full on all nodes: {message}: add nodes or drives, then resume")

    def _drop(self, index: int, message: str) -> None:
        """Gives up a slice that a merge could not read, unless that is known."""
        name = self._holder[index] if 0 <= index < self.slices else None
        if name is not None:
            self._holder[index] = None
            self.nodes[name].slices.discard(index)
            self.mapped -= 1
            self._state[Kind.MAP][index] = _ASIDE
            self._drops[index] = name
            self._out.append(Drop(name, index))
            self._failed((Kind.MAP, index), message, name, self.attempts)

    def _lost(self, key: Key, message: str) -> None:
        count = self._losses[key] = self._losses.get(key, 0) + 1
        if count >= self.losses:
            self._fail(f"{key[0].value} {key[1]} was given up after {count} losses: {message}")

    def _failed(self, key: Key, message: str, node: str | None, same_max: int) -> None:
        failures = self._failures.setdefault(key, [])
        failures.append((message, node))
        same = sum(text == message for text, _ in failures)
        if same >= same_max or len(failures) >= self.attempts:
            self._fail(f"{key[0].value} {key[1]} failed {len(failures)} times: {message}")

    def _fail(self, message: str) -> None:
        if self.error is None:
            self.error = message
