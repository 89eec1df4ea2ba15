"""The drive that holds the data: what it is, and what it did, by the kernel's counters.

The counters are those of the whole device. They see what the page cache saved a program, and also
what others on the machine did.
"""

import os
from pathlib import Path

import machine

SECTOR_BYTES = 512


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
            "file_system": machine.said("findmnt", "-no", "FSTYPE", "-T", str(self.directory)),
        }
