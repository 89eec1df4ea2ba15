"""One topic: its rounds, and a row for everything that was run.

For every round and every input: what the drive can do, making the input, then each program's sort and the proof of its output. Even
rounds take the programs in reverse order, so that no program always comes first. A program that fails is a row that says so; it is then
tried with twice, four and eight times the memory.
"""

import json
import shutil

import measure
import rivals

MEMORY_FACTORS = (1, 2, 4, 8)
# Input, output and scratch, and a little.
SPACE_FACTOR = 3.2
WRONG = "the output is wrong: "
# Of what a failed program said.
FAILURE_CHARACTERS = 160


class Topic:
    """`limit` tells the drive's rates, `work` is a directory of our own on it, `placeless` takes this machine's places out of a text."""

    def __init__(self, name, cases, options, contenders, drive, limit, work, placeless):
        self.name, self.cases, self.options, self.contenders = name, cases, options, contenders
        self.drive, self.limit, self.work, self.placeless = drive, limit, work, placeless
        self.factors = {}
        self.rows = []

    def run(self):
        for round in range(1, self.options.rounds + 1):
            for case in self.cases:
                self.run_case(round, case)

    def run_case(self, round, case):
        """Everyone's turn on one input."""
        shared = {"round": round, "case": case.label, "format": case.format, "bytes": case.bytes}
        if shutil.disk_usage(self.work).free < max(case.bytes * SPACE_FACTOR, self.options.probe):
            self.skip(shared, case.entries, "not tried: too little space on the drive")
            return
        rates = self.limit.rates(self.work)
        shared["rates"] = rates and rates.row()
        source = self.work / "input"
        made = self.measure("xsort", self.contenders.gen(case, self.options.seed, source), source)
        answer = {} if made.failure else json.loads(made.answer)
        # Whole records only, which may be a little less than was asked for.
        shared |= {name: answer[name] for name in ("bytes", "records") if name in answer}
        self.tool_row(shared, "gen", made)
        if made.failure:
            return
        for entry in case.entries if round % 2 else reversed(case.entries):
            if self.contenders.version(entry.contender):
                self.run_entry(shared, case, entry, source, answer["checksum"])
            else:
                self.skip(shared, [entry], "not installed")
        source.unlink()

    def run_entry(self, shared, case, entry, source, checksum):
        """One program's turn, with more memory where it needs that."""
        for factor in self.factors.get((case, entry), MEMORY_FACTORS):
            if self.run_once(shared, case, entry, factor, source, checksum):
                self.factors[case, entry] = MEMORY_FACTORS[MEMORY_FACTORS.index(factor):]
                return
        self.factors[case, entry] = ()

    def run_once(self, shared, case, entry, factor, source, checksum):
        """One sort and its proof; returns whether the program itself succeeded."""
        scratch, target = self.work / "scratch", self.work / "output.csv"
        scratch.mkdir()
        memory = entry.memory_bytes * factor
        command = self.contenders.command(entry.contender, case, entry, memory, source, target, scratch)
        run = self.measure(entry.contender, command, target)
        proof = None if run.failure else self.measure("xsort", self.contenders.verify(case, target, checksum), None)
        row = sort_row(entry) | shared | run.row() | {"memory_bytes": memory, "command": self.placeless(" ".join(command))}
        if entry.contender == "xsort" and not run.failure:
            row |= told_by_xsort(json.loads(run.answer))
        if factor > 1 and not run.failure:
            row["label"] += f" ({factor} x memory)"
        if proof and proof.failure:
            row["failure"] = WRONG + proof.failure
        row["failure"] = row["failure"] and self.placeless(row["failure"])[:FAILURE_CHARACTERS]
        self.add(row)
        if proof and entry.contender == "xsort":
            self.tool_row(shared, "verify", proof)
        shutil.rmtree(scratch)
        target.unlink(missing_ok=True)
        return not run.failure

    def measure(self, contender, command, target):
        """One run of a program, its code in memory and, unless told otherwise, nothing else."""
        if not self.options.keep_caches:
            measure.drop_caches()
            self.contenders.version(contender)
        return measure.run(command, rivals.ENVIRONMENT, self.drive, target, self.work / "log", self.options.seconds_max)

    def tool_row(self, shared, task, run):
        """A row for making the data, or for proving it."""
        row = {"task": task, "label": f"xsort {task}", "contender": "xsort", "is_baseline": False, "memory_bytes": None}
        self.add(row | shared | run.row())

    def skip(self, shared, entries, why):
        """Rows for those who don't take part; one is enough for all rounds."""
        if shared["round"] == 1:
            for entry in entries:
                self.add(sort_row(entry) | shared | {"failure": why})

    def add(self, row):
        self.rows.append(row)
        said = f"failed: {row['failure']}" if row["failure"] else f"{row['seconds']:.2f} s"
        print(f"{self.name} round {row['round']}: {row['case']}, {row['label']}: {said}", flush=True)

    def has_failed(self):
        return has_failed(self.rows, self.options.strict)


def sort_row(entry):
    """What a row says of the program before it has run."""
    names = ("label", "contender", "is_baseline", "memory_bytes", "threads")
    return {"task": "sort"} | {name: getattr(entry, name) for name in names}


def told_by_xsort(answer):
    """How xsort sorted, and how much it spilled."""
    return {"method": answer["plan"]["method"], "spilled_bytes": sum(bytes for _, bytes in answer["scratch"])}


def has_failed(rows, is_strict):
    """Whether xsort failed, any output was wrong, or (if strict) a program that was tried never succeeded."""
    tried = [row for row in rows if "seconds" in row]
    failed = [row for row in tried if row["failure"]]
    if any(row["contender"] == "xsort" or row["failure"].startswith(WRONG) for row in failed):
        return True
    succeeded = {row["contender"] for row in tried if not row["failure"]}
    return is_strict and any(row["contender"] not in succeeded for row in failed)
