"""The drive that holds the data: what it can do, by fio, and what it did, by the kernel's counters.

The counters are those of the whole device. They see what the page cache saved a program, and also what others on the machine did.
"""

from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path
import shutil
import subprocess

SECTOR_BYTES = 512
# 1 MiB at depth 16, past the page cache, as the programs under test should manage.
FIO = ["fio", "--name=rate", "--bs=1M", "--iodepth=16", "--ioengine=io_uring", "--direct=1", "--output-format=json", "--end_fsync=1"]


@dataclass(frozen=True)
class Rates:
    """Bytes per second: reading only, writing only, and both at once."""

    read: float
    write: float
    mixed_read: float
    mixed_write: float

    def floor_seconds(self, read_bytes, written_bytes):
        """The least time for so much reading and writing: in turn, or both at once, whichever is less."""
        in_turn = read_bytes / self.read + written_bytes / self.write
        at_once = max(read_bytes, written_bytes) / min(self.mixed_read, self.mixed_write) if read_bytes and written_bytes else in_turn
        return min(in_turn, at_once)

    def row(self):
        return asdict(self)


class Drive:
    """The block device under a directory, if there is just one."""

    def __init__(self, directory):
        self.directory = Path(directory)
        device = os.stat(directory).st_dev
        block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        self.block = block.resolve() if block.exists() else None

    def moved(self):
        """Bytes read and written since boot; zeros if the file system has no device of its own."""
        if not self.block:
            return 0, 0
        fields = (self.block / "stat").read_text().split()
        return int(fields[2]) * SECTOR_BYTES, int(fields[6]) * SECTOR_BYTES

    def rates(self, probe_bytes):
        """What fio reaches on a file of `probe_bytes` in the directory, now; None without fio."""
        if not shutil.which("fio"):
            return None
        probe = self.directory / "fio-probe"
        try:
            write = self._fio(probe, probe_bytes, "write")["write"]["bw_bytes"]
            read = self._fio(probe, probe_bytes, "read")["read"]["bw_bytes"]
            mixed = self._fio(probe, probe_bytes, "rw")
            return Rates(read, write, mixed["read"]["bw_bytes"], mixed["write"]["bw_bytes"])
        finally:
            probe.unlink(missing_ok=True)

    def _fio(self, probe, probe_bytes, pattern):
        command = [*FIO, f"--filename={probe}", f"--size={probe_bytes}", f"--rw={pattern}"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(answer.stdout)["jobs"][0]

    def describe(self):
        """Model, size and scheduler, as far as the kernel tells."""
        if not self.block:
            return {"device": None}
        disk = self.block if (self.block / "queue").exists() else self.block.parent
        read = lambda name: (disk / name).read_text().strip() if (disk / name).exists() else None
        return {
            "device": disk.name,
            "model": read("device/model"),
            "bytes": int(read("size")) * SECTOR_BYTES,
            "rotational": read("queue/rotational") == "1",
            "scheduler": read("queue/scheduler"),
            "file_system": subprocess.run(
                ["findmnt", "-no", "FSTYPE", "-T", self.directory], capture_output=True, text=True
            ).stdout.strip(),
        }
