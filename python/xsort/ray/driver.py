"""The scheduler's arms: one actor of Ray's a node, and a loop that turns its news into events.

Ray carries commands, manifests, splitters and summaries; samples go from node to node as objects of
its store. The driver waits for one reference a running task and no more. Only public calls of Ray's
are used.

A node's actor that dies is started again on its node, where it finds its slices. A node is lost if
Ray calls it dead, or before, if its raylet's port refuses connections: Ray's health checks may take
a quarter of a minute. A node that joins the cluster joins the job.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .._errors import Error
from .knock import knock
from .node import NodeWorker, Outcome
from .scheduler import Check, Drop, Fail, Failure, Finish, Kind, Scheduler, Start, Task, Trouble
from .state import State

# Seconds between looks at which nodes there are.
LOOK_SECONDS = 0.5
# Where an actor dies so soon after its start, the next one waits.
HIRE_SECONDS = 1.0
# How long a job waits for a node where none is left, or none has room.
WAIT_SECONDS = 60.0
# How often the process on a node is started again.
STARTS_MAX = 64
# How long nodes have to clean up at the end.
STOP_SECONDS = 30.0


# A node, as Ray sees it: tasks run side by side, as many as it has slots; what controls them runs
# beside them.
NodeActor: Any = ray.remote(  # type: ignore[call-overload]
    concurrency_groups={"control": 2}, max_restarts=0, max_task_retries=0
)(NodeWorker)


@dataclass(frozen=True)
class Means:
    """What tasks may use. `memory` is a node's, and is divided by `slots`; None: half of what Ray
    says that the node has. `slots` None: one a processor, as far as each has memory for a slice."""

    memory: int | None
    slots: int | None
    scratch: list[str]
    sync: bool
    resume: bool


@dataclass
class Member:
    """A node of the cluster that is a node of the job, or about to be one."""

    name: str
    info: dict[str, Any]
    slots: int
    memory: int
    threads: int
    actor: Any = None
    starts: int = 0
    started: float = 0.0
    joined: bool = False
    urls: list[str] = field(default_factory=list)


def cluster_nodes() -> dict[str, dict[str, Any]]:
    """The nodes that live and have processors, by their names in directories and reports."""
    return {
        node["NodeID"][:12]: node
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    }


def member_of(name: str, info: dict[str, Any], means: Means) -> Member:
    """What a node of the cluster brings along."""
    cores = int(info["Resources"]["CPU"])
    memory = means.memory or int(info["Resources"].get("memory", 2**31) / 2)
    slots = means.slots or max(1, cores)
    return Member(name, info, slots, memory, max(1, cores // slots))


class Executor:
    """Runs a job's scheduler on a cluster until it is finished or has failed."""

    def __init__(
        self,
        scheduler: Scheduler,
        state: State,
        job: bytes,
        means: Means,
        *,
        output_of: Callable[[int], str],
        keys: int,
        validate: Callable[[], Outcome],
        observe: Callable[[Callable[[], dict[str, Any]]], None],
    ) -> None:
        self.scheduler, self.state, self.means = scheduler, state, means
        self.output_of, self.keys, self.validate, self.observe = output_of, keys, validate, observe
        self.job = ray.put(job)
        self.members: dict[str, Member] = {}
        self.refs: dict[Any, tuple[str, Any]] = {}
        self.samples: dict[int, Any] = {}
        splitters = state.splitters()
        self.splitters = None if splitters is None else ray.put(splitters)
        self.suspects: set[int] = set()
        # Nodes whose raylets have accepted a connection.
        self.listened: set[str] = set()
        self.looked = 0.0
        self.idle_since: float | None = None
        self.nodes_lost = self.restarts = self.slices_found = 0
        self.phases: dict[str, float] = {}
        self.began = time.monotonic()
        self.validated: Outcome = {}

    def run(self) -> None:
        """Raises Error if the job fails. Whatever happens, nothing runs on the nodes then."""
        finished = False
        try:
            while not self._step():
                pass
            finished = True
        finally:
            self._stop(remove=finished or not self.means.resume)

    def _step(self) -> bool:
        self._look()
        for action in self.scheduler.actions():
            if isinstance(action, Start):
                self._start(action.task)
            elif isinstance(action, Check):
                self._call(action.node, "check", "check")
            elif isinstance(action, Drop):
                self.suspects.add(action.slice)
                self._call(action.node, "drop", "drop", action.slice, tag=action.slice)
            elif isinstance(action, Finish):
                return True
            else:
                assert isinstance(action, Fail)
                raise Error(action.message)
        self.observe(self.progress)
        self._wait_for_nodes()
        if self.refs:
            ready, _ = ray.wait(list(self.refs), timeout=LOOK_SECONDS)
            for ref in ready:
                self._take(ref)
        return False

    def progress(self) -> dict[str, Any]:
        """What `xsort.ray.status` says."""
        progress = self.scheduler.progress()
        progress["seconds"] = time.monotonic() - self.began
        progress["nodes_lost"], progress["restarts"] = self.nodes_lost, self.restarts
        return progress

    # Nodes.

    def _look(self) -> None:
        """Sees which nodes there are, from time to time."""
        if time.monotonic() - self.looked < LOOK_SECONDS:
            return
        self.looked = time.monotonic()
        there = cluster_nodes()
        for name in self._gone(there):
            del there[name]
        for name in [name for name in self.members if name not in there]:
            self._lose(name)
        for name, info in there.items():
            if name not in self.members:
                self.members[name] = member_of(name, info, self.means)
            if self.members[name].actor is None:
                self._hire(self.members[name], list(there))

    def _gone(self, there: dict[str, dict[str, Any]]) -> list[str]:
        """Nodes that Ray calls alive, whose raylets listened before, and don't any more."""
        addresses = {
            name: (info["NodeManagerAddress"], info["NodeManagerPort"])
            for name, info in there.items()
        }
        listening, refusing = knock(addresses)
        self.listened |= listening
        return [name for name in refusing if name in self.listened]

    def _hire(self, member: Member, others: list[str]) -> None:
        """Starts a node's actor, which says when it is there."""
        if member.starts >= STARTS_MAX:
            raise Error(f"the process on node {member.name} died {STARTS_MAX} times")
        member.starts += 1
        member.started = time.monotonic()
        affinity = NodeAffinitySchedulingStrategy(member.info["NodeID"], soft=False)
        member.actor = NodeActor.options(
            num_cpus=min(member.slots, int(member.info["Resources"]["CPU"])),
            max_concurrency=member.slots,
            scheduling_strategy=affinity,
        ).remote(
            self.state.key,
            member.name,
            member.info["NodeManagerAddress"],
            self.job,
            others,
            scratch=self.means.scratch,
            memory=member.memory // member.slots,
            threads=member.threads,
            # What this job itself has left there counts in any case.
            resume=self.means.resume or member.starts > 1,
            sync=self.means.sync,
        )
        self._call(member.name, "hello", "describe")

    def _welcome(self, member: Member, said: Outcome) -> None:
        member.urls = said["urls"]
        if member.joined:
            self.restarts += 1
            self.scheduler.node_restarted(member.name, said["found"])
        else:
            member.joined = True
            self.scheduler.node_joined(member.name, member.slots, said["found"])

    def _lose(self, name: str) -> None:
        member = self.members.pop(name)
        self._forget(name)
        if member.joined:
            self.nodes_lost += 1
            had_slices = self.scheduler.nodes[name].slices
            self.scheduler.node_lost(name)
            if had_slices and self.scheduler.phase is not Kind.VALIDATE:
                for other in self.members:
                    self._call(other, "abandon", "abandon")

    def _recover(self, name: str) -> None:
        """An actor doesn't answer. If its node is there, another one takes its place: at once, and
        if that happens again, at the next look.
        """
        member = self.members.get(name)
        if member is None:
            return
        self._forget(name)
        ray.kill(member.actor)
        member.actor = None
        self.scheduler.node_away(name)
        if time.monotonic() - member.started > HIRE_SECONDS:
            self._hire(member, list(self.members))

    def _forget(self, name: str) -> None:
        self.refs = {ref: task for ref, task in self.refs.items() if task[0] != name}

    def _wait_for_nodes(self) -> None:
        """Gives up where nothing can run for long."""
        if not self.scheduler.stalled:
            self.idle_since = None
            return
        if self.idle_since is None:
            self.idle_since = time.monotonic()
        elif time.monotonic() - self.idle_since > WAIT_SECONDS:
            raise Error(
                f"no node has had room for {WAIT_SECONDS:.0f} s: free processors of the "
                "cluster, or pass fewer slots"
            )
        if not self.refs:
            time.sleep(0.1)

    # Tasks.

    def _call(self, name: str, what: str, method: str, *arguments: Any, tag: Any = None) -> None:
        member = self.members.get(name)
        if member is not None and member.actor is not None:
            call = getattr(member.actor, method)
            if what != "task":
                call = call.options(concurrency_group="control")
            self.refs[call.remote(*arguments)] = (name, (what, tag))

    def _start(self, task: Task) -> None:
        if task.kind is Kind.VALIDATE:
            self._validate(task)
            return
        name, index = task.node, task.index
        assert name is not None
        member = self.members[name]
        if task.kind is Kind.SAMPLE:
            first = index * self.scheduler.batch
            last = min(first + self.scheduler.batch, self.scheduler.slices) - 1
            call = member.actor.sample.options(num_returns=2)
            outcome, sample = call.remote(index, first, last, self.keys)
            self.samples[index] = sample
            self.refs[outcome] = (name, ("task", task))
        elif task.kind is Kind.SPLIT:
            samples = [self.samples[batch] for batch in range(self.scheduler.batches)]
            self._call(name, "task", "split", *samples, tag=task)
        elif task.kind is Kind.MAP:
            again = index in self.suspects
            self._call(name, "task", "map", index, self.splitters, again, tag=task)
        else:
            sources = [url for each in self.members.values() if each.joined for url in each.urls]
            self._call(name, "task", "merge", index, self.output_of(index), sources, tag=task)

    def _validate(self, task: Task) -> None:
        self.observe(self.progress)
        outcome = self.validate()
        if outcome["ok"]:
            self.validated = outcome["result"]
            self._done(task)
        else:
            self.scheduler.task_failed(task.number, Failure(Trouble.FINAL, outcome["message"]))

    def _take(self, ref: Any) -> None:
        """An answer has come, or none will."""
        if ref not in self.refs:
            return
        name, (what, tag) = self.refs.pop(ref)
        try:
            said = ray.get(ref)
        except ray.exceptions.RayActorError:
            self._recover(name)
        except ray.exceptions.RayTaskError as error:
            self._raised(name, what, tag, error)
        except ray.exceptions.RayError as error:
            if what != "task":
                self._recover(name)
            # An object on its way to the task, or from it, is gone with its node.
            self._failed(tag, Failure(Trouble.LOST_SOURCE, str(error)))
        else:
            if what == "hello":
                self._welcome(self.members[name], said)
            elif what == "check":
                self.members[name].urls = said["urls"]
                self.scheduler.node_answers(name)
            elif what == "drop":
                self.scheduler.slice_dropped(tag)
            elif what == "task":
                self._ended(tag, said)

    def _raised(self, name: str, what: str, tag: Any, error: Any) -> None:
        """A method of the node has raised: a fault of its own machine, or of this package."""
        if what == "task":
            cause = getattr(error, "cause", None) or error
            self._failed(tag, Failure(Trouble.OTHER, f"node {name}: {cause}"))
        elif what == "hello" and not self.members[name].joined:
            raise Error(f"node {name}: {getattr(error, 'cause', error)}") from error
        else:
            self._recover(name)

    def _ended(self, task: Task, said: Outcome) -> None:
        if not said["ok"]:
            nodes = tuple(
                each.name for each in self.members.values() if said["source"] in each.urls
            )
            trouble = Trouble[said["trouble"]]
            self._failed(task, Failure(trouble, said["message"], nodes, tuple(said["slices"])))
            return
        if task.kind is Kind.SPLIT:
            self.state.write("splitters.json", said["splitters"])
            self.splitters = ray.put(said["splitters"])
            self.samples.clear()
        elif task.kind is Kind.MAP:
            self.state.write(f"slices/slice-{task.index}.json", said["manifest"])
            self.suspects.discard(task.index)
            self.slices_found += said["result"]["was_done"]
        elif task.kind is Kind.MERGE:
            self.state.write(f"parts/summary-{task.index}.json", said["summary"])
        self._done(task)

    def _done(self, task: Task) -> None:
        self.phases[task.kind.value] = time.monotonic() - self.began
        self.scheduler.task_done(task.number)

    def _failed(self, task: Any, failure: Failure) -> None:
        if isinstance(task, Task):
            self.scheduler.task_failed(task.number, failure)

    # The end.

    def _stop(self, remove: bool) -> None:
        """Ends all processes on the nodes, and removes what they have left there."""
        stops = []
        members = [member for member in self.members.values() if member.actor is not None]
        for member in members:
            try:
                stop = member.actor.stop.options(concurrency_group="control")
                stops.append(stop.remote(remove))
            except ray.exceptions.RayError:
                continue
        if stops:
            ray.wait(stops, num_returns=len(stops), timeout=STOP_SECONDS)
        for member in members:
            ray.kill(member.actor)


class Board:
    """What a job says of itself, for whoever asks. It ends with the driver."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def write(self, said: dict[str, Any]) -> None:
        self.said = said

    def read(self) -> dict[str, Any]:
        return self.said


BoardActor: Any = ray.remote(num_cpus=0)(Board)
NAMESPACE = "xsort"


class Announcer:
    """Writes the progress on the board, ten times a second at most, and never waits for it."""

    def __init__(self, key: str, about: dict[str, Any], also: Callable[..., None] | None) -> None:
        self.about, self.also = about, also
        self.written: Any = None
        self.at = 0.0
        try:
            self.board = BoardActor.options(
                name=key,
                namespace=NAMESPACE,
                scheduling_strategy=NodeAffinitySchedulingStrategy(
                    ray.get_runtime_context().get_node_id(), soft=True
                ),
            ).remote()
        except ValueError:
            raise Error(
                f"the job {key} is running already (xsort.ray.status shows it): wait for it, or "
                "stop its driver"
            ) from None

    def __call__(self, progress: Callable[[], dict[str, Any]]) -> None:
        now = time.monotonic()
        if now - self.at < 0.1:
            return
        self.at = now
        said = {**self.about, **progress()}
        if self.written is None or ray.wait([self.written], timeout=0)[0]:
            self.written = self.board.write.remote(said)
        if self.also is not None:
            self.also(said)

    def close(self) -> None:
        ray.kill(self.board)


def about_driver() -> dict[str, Any]:
    """Where the driver is."""
    return {"host": os.uname().nodename, "pid": os.getpid()}
