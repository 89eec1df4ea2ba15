"""The scheduler of sorts on many machines by itself: random clusters that fail in every way."""

import random
import subprocess
import sys
from collections import Counter

import pytest
from conftest import many

from xsort.ray.scheduler import (
    Check,
    Drop,
    Fail,
    Failure,
    Finish,
    Kind,
    Scheduler,
    Start,
    Trouble,
)


class Cluster:
    """Nodes with what really lies on them, as the scheduler can't see it. Everything that could go
    wrong does, with the chances in `trouble`, until `calm` steps are over."""

    def __init__(self, seed, *, canary=False):
        self.random = random.Random(seed)
        self.slices = self.random.randint(1, 40)
        self.parts = self.random.randint(1, 40)
        self.trouble = self.random.choice([0.0, 0.02, 0.1, 0.3])
        self.calm = self.random.randint(50, 400)
        self.canary = canary
        self.scheduler = Scheduler(
            self.slices,
            self.parts,
            batch=self.random.randint(1, 8),
            attempts=1000,
            losses=1000,
        )
        self.nodes = {}  # name -> slices on its drives; a damaged one is negative
        self.running = {}
        self.written = Counter()
        self.splits = 0
        self.lost = Counter()  # what was taken away, by kind: the bound of work that is done again
        self.ended = None
        self.step = 0
        self.full = set()
        self.checks = []
        self.away = []
        self.late = 0  # a task whose news comes after its node was given up

    def run(self):
        for _ in range(self.random.randint(1, 5)):
            self.join()
        while self.ended is None:
            self.step += 1
            assert self.step < 20_000, "the job doesn't end"
            self.act(self.scheduler.actions())
            if self.ended is None:
                self.happen()
        assert self.scheduler.actions() == []
        return self

    def chance(self):
        return self.step < self.calm and self.random.random() < self.trouble

    def join(self):
        name = f"node-{self.random.getrandbits(40)}"
        self.nodes[name] = set()
        found = self.random.sample(range(self.slices + 3), self.random.randint(0, 3))
        self.scheduler.node_joined(name, self.random.randint(1, 4), found)

    def act(self, actions):
        for action in actions:
            if isinstance(action, Start):
                self.running[action.task.number] = action.task
            elif isinstance(action, Check):
                self.checks.append(action.node)
            elif isinstance(action, Drop):
                self.nodes[action.node] -= {action.slice, ~action.slice}
                self.scheduler.slice_dropped(action.slice)
            else:
                assert isinstance(action, Finish | Fail) and self.ended is None
                self.ended = action

    def check(self, name):
        if name not in self.nodes:
            return
        if self.chance():
            self.lose(name)
        elif self.chance():
            self.restart(name)
        else:
            self.scheduler.node_answers(name)

    def lose(self, name):
        held = self.nodes.pop(name)
        self.lost[Kind.MAP] += len(held)
        self.forget(name)
        self.scheduler.node_lost(name)

    def restart(self, name):
        self.forget(name)
        if self.random.random() < 0.5 and name not in self.away:
            self.away.append(name)
            self.scheduler.node_away(name)
            return
        self.lost[Kind.MAP] += len(self.nodes[name])
        self.scheduler.node_restarted(name, [index for index in self.nodes[name] if index >= 0])

    def forget(self, name):
        """The tasks of a node end with it. Some tell of it late, or had been done just before."""
        for number, task in list(self.running.items()):
            if task.node == name:
                del self.running[number]
                self.lost[task.kind] += 1
                if self.random.random() < 0.3:
                    self.late = number
        self.lost[Kind.SAMPLE] += self.scheduler.batches

    def happen(self):
        if self.chance() and len(self.nodes) > 1:
            self.lose(self.random.choice(list(self.nodes)))
        if self.chance() and self.nodes:
            self.restart(self.random.choice(list(self.nodes)))
        if self.chance():
            self.join()
        if self.away and self.random.random() < 0.3:
            name = self.away.pop()
            if name in self.nodes:
                (self.lose if self.chance() else self.restart)(name)
        elif self.checks:
            self.check(self.checks.pop())
        elif self.running:
            number = self.random.choice(list(self.running))
            self.end(self.running.pop(number))
        elif not self.away:
            self.join()
        self.scheduler.task_done(self.late)

    def end(self, task):
        if task.kind is not Kind.VALIDATE and self.chance():
            self.lost[task.kind] += 1
            troubles = [Trouble.DIED, Trouble.OTHER]
            if task.kind is Kind.MAP and len(self.full) + 1 < len(self.nodes):
                troubles.append(Trouble.NO_SPACE)
                self.full.add(task.node)
            trouble = self.random.choice(troubles)
            words = f"words {self.random.random()}"
            self.scheduler.task_failed(task.number, Failure(trouble, words))
        elif task.kind is Kind.MERGE:
            self.merge(task)
        else:
            if task.kind is Kind.MAP:
                damaged = self.chance()
                self.nodes[task.node] -= {task.index, ~task.index}
                self.nodes[task.node].add(~task.index if damaged else task.index)
            self.scheduler.task_done(task.number)

    def merge(self, task):
        """A merge reads what is really there. It may fail though all is, or one node is silent."""
        there = set().union(*self.nodes.values())
        missing = [index for index in range(self.slices) if index not in there]
        if missing and not self.canary:
            self.lost[Kind.MERGE] += 1
            self.lost[Kind.MAP] += len(missing)
            failure = Failure(Trouble.LOST_SLICES, f"{self.step}", slices=tuple(missing))
            self.scheduler.task_failed(task.number, failure)
        elif self.chance():
            self.lost[Kind.MERGE] += 1
            silent = self.random.choice([*self.nodes, "gone"])
            failure = Failure(Trouble.LOST_SOURCE, "silence", nodes=(silent,))
            self.scheduler.task_failed(task.number, failure)
        else:
            self.written[task.index] += 1
            assert not missing, "a part was written without a slice"
            self.scheduler.task_done(task.number)


def test_jobs_end_whatever_fails():
    for seed in range(many(250, "XSORT_SEEDS")):
        cluster = Cluster(seed).run()
        scheduler = cluster.scheduler
        assert cluster.ended == Finish(), (seed, cluster.ended)
        assert scheduler.validated and set(cluster.written) == set(range(cluster.parts)), seed
        # Written twice is only what a node finished and could not tell any more: here none.
        assert set(cluster.written.values()) == {1}, seed
        maps = scheduler.started[Kind.MAP]
        assert cluster.slices <= maps <= cluster.slices + cluster.lost[Kind.MAP], seed
        merges = scheduler.started[Kind.MERGE]
        assert merges <= cluster.parts + cluster.lost[Kind.MERGE], seed


def test_a_merge_without_a_slice_would_be_seen():
    """The canary: the model finds out when parts are written that lack something."""
    with pytest.raises(AssertionError, match="without a slice"):
        for seed in range(500):
            Cluster(seed, canary=True).run()


def start(slices=8, parts=4, nodes=2, **options):
    scheduler = Scheduler(slices, parts, **options)
    for number in range(nodes):
        scheduler.node_joined(f"n{number}", 2)
    return scheduler


def tasks(scheduler):
    return [action.task for action in scheduler.actions() if isinstance(action, Start)]


def finish(scheduler, until):
    """Runs everything that has to be done before the phase."""
    started = tasks(scheduler)
    while started:
        for task in started:
            if task.kind is until:
                return started
            scheduler.task_done(task.number)
        started = tasks(scheduler)
    return []


def test_a_lost_node_costs_its_slices_and_nothing_else():
    scheduler = start()
    merges = finish(scheduler, Kind.MERGE)
    assert len(merges) == 4 and scheduler.started[Kind.MAP] == 8
    held = [index for index in range(8) if scheduler.holder(index) == "n1"]
    done = next(task for task in merges if task.node == "n0")
    scheduler.task_done(done.number)
    scheduler.node_lost("n1")
    # The other merge on n0 finds out by itself.
    other = next(task for task in merges if task.node == "n0" and task is not done)
    lost = Failure(Trouble.LOST_SOURCE, "no answer", nodes=("n1",))
    scheduler.task_failed(other.number, lost)
    again = finish(scheduler, Kind.MERGE)
    assert scheduler.started[Kind.MAP] == 8 + len(held) and scheduler.started[Kind.SAMPLE] == 8
    assert all(task.node == "n0" and task.index != done.index for task in again)


def test_slices_that_are_found_are_looked_at_where_they_are():
    scheduler = Scheduler(4, 1, split_done=True)
    scheduler.node_joined("a", 4)
    scheduler.node_joined("b", 1, found=[0, 2, 77])
    placed = {task.index: task.node for task in tasks(scheduler)}
    assert placed == {0: "b", 1: "a", 3: "a"}
    # The node that had the other one is lost before its turn.
    scheduler.node_lost("b")
    assert {task.index for task in tasks(scheduler)} == {0, 2}


def test_what_is_done_is_not_done_again():
    scheduler = start(parts=3, split_done=True, parts_done=[0, 2])
    merges = finish(scheduler, Kind.MERGE)
    assert [task.index for task in merges] == [1]
    assert scheduler.started[Kind.SAMPLE] == scheduler.started[Kind.SPLIT] == 0
    complete = start(parts=3, parts_done=[0, 1, 2])
    assert [task.kind for task in tasks(complete)] == [Kind.VALIDATE]


def test_an_error_that_repeats_is_not_retried_for_ever():
    for trouble, times in [(Trouble.FINAL, 1), (Trouble.OTHER, 3), (Trouble.DIED, 4)]:
        scheduler = start(slices=1, split_done=True)
        for attempt in range(times):
            (task,) = tasks(scheduler)
            # Another node has the next try.
            assert attempt != 1 or task.node != before
            before = task.node
            scheduler.task_failed(task.number, Failure(trouble, "the same words"))
        (fail,) = scheduler.actions()
        assert isinstance(fail, Fail) and "the same words" in fail.message
        assert scheduler.actions() == []


def test_a_full_node_takes_no_more_slices():
    scheduler = start(split_done=True)
    first = tasks(scheduler)
    full = next(task for task in first if task.node == "n0")
    scheduler.task_failed(full.number, Failure(Trouble.NO_SPACE, "no space"))
    for task in first:
        scheduler.task_done(task.number)
    assert {task.node for task in tasks(scheduler)} == {"n1"}
    merges = finish(scheduler, Kind.MERGE)
    assert {task.node for task in merges} == set() or scheduler.phase is Kind.MAP


def test_scratch_that_is_full_everywhere_ends_the_job():
    scheduler = start(split_done=True)
    for task in tasks(scheduler):
        scheduler.task_failed(task.number, Failure(Trouble.NO_SPACE, "no space on /nvme"))
    (fail,) = scheduler.actions()
    assert "full on all nodes" in fail.message and "/nvme" in fail.message


def test_few_tasks_are_spread_over_the_nodes():
    scheduler = start(slices=2, split_done=True)
    assert {task.node for task in tasks(scheduler)} == {"n0", "n1"}


def test_a_job_of_a_hundred_thousand_parts_takes_little_memory():
    """The driver keeps a few bytes for a slice and a part, not one for each pair of them."""
    import tracemalloc

    tracemalloc.start()
    scheduler = Scheduler(100_000, 100_000, batch=1000)
    for number in range(100):
        scheduler.node_joined(f"node-{number}", 16)
    started = tasks(scheduler)
    while started:
        for task in started:
            scheduler.task_done(task.number)
        started = tasks(scheduler) if scheduler.mapped < 3000 else []
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


def test_the_scheduler_knows_nothing_of_ray():
    code = "import sys, xsort.ray.scheduler; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
