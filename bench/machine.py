"""The machine: what it is, for the record, and its memory made ready, for the first program's
sake.
"""

import os
from pathlib import Path
import platform
import subprocess
import sys

# On a virtual machine the first touch of memory costs seconds a GiB, also of what the host has
# taken back meanwhile; 20 GiB or 80% of what is free, whichever is less.
TOUCH_BYTES_MAX = 20 * 2**30
# In huge pages, where there are any: after small ones of a shared mapping 8 GB in memory took a
# sixth to a quarter longer (docs/experiments/2026-11-21-first-touch.md).
TOUCH = """
import contextlib, mmap, sys
memory = mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with contextlib.suppress(OSError):
    memory.madvise(mmap.MADV_HUGEPAGE)
for place in range(0, len(memory), 4096):
    memory[place] = 1
"""


def memory(field):
    """Bytes of a line of /proc/meminfo."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines[field].split()[0]) * 1024


def touch_memory(bytes_max=TOUCH_BYTES_MAX):
    """Touches so much of the free memory once, in a process of its own; returns how many bytes.
    Empty the page cache before.
    """
    bytes = min(bytes_max, TOUCH_BYTES_MAX, memory("MemFree") * 8 // 10)
    subprocess.run([sys.executable, "-c", TOUCH, str(bytes)], check=True)
    return bytes


def said(*command, cwd=None, environment=None):
    """What a program of the system prints; nothing if it isn't there or refuses."""
    try:
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True
        ).stdout.strip()
    except FileNotFoundError:
        return ""


def describe(root):
    """Processor, memory, kernel and the commit under test; nothing that names the machine or its
    user.
    """
    cpu = dict(
        line.split(":", 1)
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        if ":" in line
    )
    cpu = {name.strip(): value.strip() for name, value in cpu.items()}
    git = lambda *arguments: said("git", *arguments, cwd=root)
    return {
        "cpu": cpu.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory("MemTotal"),
        "kernel": f"{platform.system()} {platform.release()}",
        # Whose locales, and whose random numbers.
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "commit": git("rev-parse", "HEAD")
        + (" and changes" if git("status", "--porcelain", "--untracked-files=no") else ""),
        "load_average": os.getloadavg(),
    }
