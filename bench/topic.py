"""One topic: its rounds, and a row for everything that was run.

For every round and every input: what the drive can do, making the input, then each program's sort
and the proof of its output. Lines are proven by GNU sort's output, byte for byte; records by `xsort
verify`; tables by their rows and by `xsort table --check`. Text is made once for all rounds. Even
rounds take the programs in reverse order, so that no program always comes first. A program that
fails is a row that says so; it is then tried with twice, four and eight times the memory.
"""

from hashlib import blake2b
import json
import shutil
import subprocess
import sys

import machine
import measure
import prepared
import record
from report import seconds
import rivals
import table_rivals
import tables
import tables_proof
import texts
import workloads

MEMORY_FACTORS = (1, 2, 4, 8)
# Input, output and scratch, and a little.
SPACE_FACTOR = 3.2
WRONG = "the output is wrong: "
# The exit status of a check that finds lines out of order.
DISORDER = 1
# So many bytes are hashed at a time.
WINDOW_BYTES = 2**20
# Of what a failed program said.
FAILURE_CHARACTERS = 160


class Topic:
    """`limit` tells the drive's rates, `work` is a directory of our own on it, `placeless` takes
    this machine's places out of a text.
    """

    def __init__(self, name, cases, options, contenders, drive, limit, work, placeless):
        self.name, self.cases, self.options, self.contenders = name, cases, options, contenders
        self.drive, self.limit, self.work, self.placeless = drive, limit, work, placeless
        self.log = work / "log"
        self.factors = {}
        # Of a text, its checksum and lines; of a case, the checksum of the judge's output.
        self.known, self.expected = {}, {}
        self.rows = []

    def title(self):
        return record.title(self.name, self.cases)

    def run(self):
        for round in range(1, self.options.rounds + 1):
            for case in self.cases:
                self.run_case(round, case)

    def run_case(self, round, case):
        """Everyone's turn on one input."""
        shared = {"round": round, "case": case.label, "format": case.format, "bytes": case.bytes}
        if shutil.disk_usage(self.work).free < max(
            case.bytes * SPACE_FACTOR, 0 if case.is_warm else self.limit.space(case.bytes)
        ):
            self.skip(shared, case.entries, "not tried: too little space on the drive")
            return
        if not rivals.environment(case.locale, self.work / "locales"):
            self.skip(shared, case.entries, f"not tried: localedef can't make {case.locale} here")
            return
        rates = None if case.is_warm else self.limit.rates(self.work, case.bytes)
        shared["rates"] = rates and rates.row()
        source = (
            self.work / f"input-{'-'.join((*case.gen, str(case.bytes)))}"
            if case.is_text
            else self.work / "input"
        )
        checksum = (
            self.make_text(shared, case, source)
            if case.is_text
            else self.make_records(shared, case, source)
        )
        if not checksum:
            return
        for entry in case.entries if round % 2 else reversed(case.entries):
            refusal = self.contenders.refusal(entry.contender, case, entry.memory_bytes)
            if refusal or not self.contenders.version(entry.contender):
                self.skip(shared, [entry], refusal or "not installed")
            else:
                self.run_entry(shared, case, entry, source, checksum)
        if not case.is_text:
            source.unlink()

    def make_records(self, shared, case, source):
        """Makes the input, and a row about it; returns its checksum, None if that failed."""
        made = self.measure("xsort", self.contenders.gen(case, self.options.seed, source), source)
        answer = {} if made.failure else json.loads(made.answer)
        # Whole records only, which may be a little less than was asked for.
        shared |= {name: answer[name] for name in ("bytes", "records") if name in answer}
        self.tool_row(shared, "gen", made)
        return answer.get("checksum")

    def make_text(self, shared, case, source):
        """Makes the text, if it isn't there yet; returns its checksum."""
        if source not in self.known:
            maker = tables if case.is_table else texts
            command = [
                sys.executable,
                maker.__file__,
                *case.gen,
                case.bytes,
                self.options.seed,
                source,
            ]
            subprocess.run(list(map(str, command)), check=True)
            self.known[source] = self.table_rows(case, source) if case.is_table else digest(source)
        checksum, lines = self.known[source]
        shared |= {"bytes": source.stat().st_size, "records": lines, "input_checksum": checksum}
        return checksum

    def run_entry(self, shared, case, entry, source, checksum):
        """One program's turn, with more memory where it needs that."""
        factors = MEMORY_FACTORS if self.contenders.has_limit(entry.contender) else (1,)
        for factor in self.factors.get((case, entry), factors):
            failure = self.run_once(shared, case, entry, factor, source, checksum)
            if not failure:
                self.factors[case, entry] = factors[factors.index(factor) :]
                return
            if failure == measure.LATE:
                break
        self.factors[case, entry] = ()

    def run_once(self, shared, case, entry, factor, source, checksum):
        """One sort and its proof; returns why the program itself failed, if it did."""
        scratch, target = self.work / "scratch", self.work / "output.csv"
        scratch.mkdir()
        memory = entry.memory_bytes * factor
        command = self.contenders.command(
            entry.contender, case, entry, memory, source, target, scratch
        )
        prepared.prepare(case, source, rivals.environment(case.locale, self.work / "locales"))
        self.touch(min(memory, 2 * case.bytes), case)
        run = (
            self.measure_warm(case, command, source)
            if case.is_warm
            else self.measure(entry.contender, command, target, case.locale)
        )
        wrong, proof = (
            (None, None)
            if run.failure
            else self.prove(case, entry, command, source, target, checksum)
        )
        row = sort_row(entry) | shared | {"repeats": case.repeats} | run.row()
        row |= {"memory_bytes": memory, "command": self.placeless(" ".join(command))}
        if entry.contender == "xsort" and not run.failure and not case.is_warm:
            row |= told_by_xsort(run.answer, self.log.with_suffix(".err").read_text(), case)
        if factor > 1 and not run.failure:
            row["label"] += f" ({factor} x memory)"
        if wrong:
            row["failure"] = WRONG + wrong
        row["failure"] = row["failure"] and self.placeless(row["failure"])[:FAILURE_CHARACTERS]
        self.add(row)
        if proof and entry.contender == "xsort":
            self.tool_row(shared, "verify", proof)
        shutil.rmtree(scratch)
        target.unlink(missing_ok=True)
        return run.failure

    def touch(self, bytes, case):
        """Makes memory ready for a run that will take about so much. With 1 GiB more the kernel
        still gave some that the host had to find.
        """
        if self.options.no_touch:
            return
        if not case.is_warm and not self.options.keep_caches:
            measure.drop_caches()
        machine.touch_memory(bytes + 4 * 2**30)

    def measure(self, contender, command, target, locale="C"):
        """One run of a program, its code in memory and, unless told otherwise, nothing else."""
        if not self.options.keep_caches:
            measure.drop_caches()
            self.contenders.version(contender)
        environment = rivals.environment(locale, self.work / "locales")
        return measure.run(
            command, environment, self.drive, target, self.log, self.options.seconds_max
        )

    def measure_warm(self, case, command, source):
        """A turn with the input in the page cache, where the output may stay."""
        for file in prepared.inputs(case, source):
            measure.warm(file)
        environment = rivals.environment(case.locale, self.work / "locales")
        fed = source.read_bytes() if case.is_fed else None
        return measure.run_often(
            case.repeats, command, environment, self.drive, self.log, self.options.seconds_max, fed
        )

    def prove(self, case, entry, command, source, target, checksum):
        """What is wrong with an output, if anything, and the run of xsort that proved it, if
        any: lines must be those of the judge's first turn.
        """
        if case.task == "check":
            return self.prove_check(case, command, source), None
        if case.is_table:
            return self.prove_table(case, target, checksum), None
        if not case.is_lines:
            proof = self.measure("xsort", self.contenders.verify(case, target, checksum), None)
            return proof.failure, proof
        found, _ = digest(target)
        if entry.contender == "cp":
            return None if found == checksum else "no copy of the input", None
        judge = case.judge()
        if entry.contender == judge:
            self.expected.setdefault(case, found)
        is_same = self.expected.get(case) == found
        return None if is_same else f"not that of {rivals.LABELS[judge]}", None

    def prove_check(self, case, command, source):
        """What is wrong with a check that found nothing: it must find the disorder of the text
        itself.
        """
        environment = rivals.environment(case.locale, self.work / "locales")
        status = subprocess.run(
            [*command[:-1], str(source)], env=environment, capture_output=True
        ).returncode
        return None if status == DISORDER else f"status {status} where lines are not in order"

    def prove_table(self, case, target, checksum):
        """What is wrong with a table: by Python, which knows nothing of xsort, and then by
        xsort.
        """
        try:
            found, _ = self.table_rows(case, target, case.keys)
        except subprocess.CalledProcessError as error:
            return error.stderr.splitlines()[-1]
        except tables_proof.Disorder as disorder:
            return str(disorder)
        if found != checksum:
            return "other rows than those of the input"
        check = subprocess.run(self.contenders.check(case, target), capture_output=True, text=True)
        return None if check.returncode == 0 else f"xsort table --check: {check.stderr.strip()}"

    def table_rows(self, case, path, keys=()):
        """The sum of a table's rows, and how many there are, by a process of its own; with keys,
        in their order.
        """
        command = [
            sys.executable,
            tables_proof.__file__,
            *case.gen,
            path,
            *(key.text() for key in keys),
        ]
        environment = table_rivals.PROOF_ENVIRONMENT
        answer = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=True, env=environment
        )
        return tables_proof.told(json.loads(answer.stdout))

    def tool_row(self, shared, task, run):
        """A row for making the data, or for proving it."""
        row = {
            "task": task,
            "label": f"xsort {task}",
            "contender": "xsort",
            "is_baseline": False,
            "memory_bytes": None,
        }
        self.add(row | shared | run.row())

    def skip(self, shared, entries, why):
        """Rows for those who don't take part; one is enough for all rounds."""
        if shared["round"] == 1:
            for entry in entries:
                self.add(sort_row(entry) | shared | {"failure": why})

    def add(self, row):
        self.rows.append(row)
        said = f"failed: {row['failure']}" if row["failure"] else f"{seconds(row['seconds'])} s"
        print(
            f"{self.name} round {row['round']}: {row['case']}, {row['label']}: {said}", flush=True
        )

    def has_failed(self):
        return has_failed(self.rows, self.options.strict)


def sort_row(entry):
    """What a row says of the program before it has run."""
    names = ("label", "contender", "is_baseline", "memory_bytes", "threads")
    return {"task": "sort"} | {name: getattr(entry, name) for name in names}


def told_by_xsort(output, errors, case):
    """How xsort sorted, and how much it spilled; of lines it tells that after whatever else it
    had to say, and not on standard output.
    """
    answer = json.loads(errors.splitlines()[-1] if case.is_lines else output)
    if case.is_lines or case.is_table:
        return {"spilled_bytes": answer["spilled_bytes"]}
    plan, spilled_bytes = answer["plan"], sum(scratch["bytes"] for scratch in answer["scratch"])
    return {
        "method": plan["method"],
        "in_place": plan.get("in_place", False),
        "spilled_bytes": spilled_bytes,
    }


def has_failed(rows, is_strict):
    """Whether xsort failed, any output was wrong, or (if strict) a program that was tried never
    succeeded.
    """
    tried = [row for row in rows if "seconds" in row]
    failed = [row for row in tried if row["failure"]]
    if any(row["contender"] == "xsort" or row["failure"].startswith(WRONG) for row in failed):
        return True
    succeeded = {row["contender"] for row in tried if not row["failure"]}
    return is_strict and any(row["contender"] not in succeeded for row in failed)


def digest(path):
    """A file's checksum, and its lines."""
    hash, lines = blake2b(digest_size=16), 0
    with open(path, "rb", buffering=0) as file:
        while window := file.read(WINDOW_BYTES):
            hash.update(window)
            lines += window.count(b"\n")
    return hash.hexdigest(), lines
