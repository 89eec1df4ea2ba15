"""Machines, object stores and what the work costs there: the figures that simulations start from.

Bytes are bytes, rates are bytes a second, prices are dollars. Where a figure comes from stands
beside it; `docs/cluster.md` compares what follows from them with runs that others have published.
"""

from __future__ import annotations

from dataclasses import dataclass

GB = 1e9
# Sustained rates of links over what the vendor calls their baseline: of the bytes that 40 machines
# i4i.4xlarge moved in a sort of 8 TB in 458 s (the comments of raysort/config/aws.py in
# github.com/exoshuffle/raysort). Other runs are predicted with it, not fitted.
LINK_OVER_BASELINE = 1.19


@dataclass(frozen=True)
class Instance:
    """A kind of machine. `link` is one direction of its network; drives are all of its own."""

    name: str
    cores: int
    memory_bytes: float
    link: float
    drive_read: float
    drive_write: float
    drive_bytes: float
    dollars_hour: float


def _instance(
    name: str,
    cores: int,
    memory_gib: int,
    gbit: float,
    read: float,
    write: float,
    drive: float,
    price: float,
) -> Instance:
    link = gbit / 8 * GB * LINK_OVER_BASELINE
    return Instance(name, cores, memory_gib * 2**30, link, read * GB, write * GB, drive * GB, price)


# Cores, memory, the link's baseline (Gbit/s), drives' reading and writing (GB/s, in large pieces),
# their size (GB), dollars an hour on demand in us-west-2: the vendor's figures, and for drives what
# such machines are known for; nothing of it was measured here. The link of i3, whose baseline is
# 2.5, is taken twice, since it bursts for the minutes of its published sorts.
INSTANCES = {
    instance.name: instance
    for instance in (
        _instance("i3.2xlarge", 8, 61, 2.5 * 2, 2.0, 0.8, 1900, 0.624),
        _instance("i4i.2xlarge", 8, 64, 4.687, 1.5, 1.05, 1875, 0.686),
        _instance("i4i.4xlarge", 16, 128, 9.375, 3.0, 2.1, 3750, 1.373),
        _instance("i4i.8xlarge", 32, 256, 18.75, 6.0, 4.2, 7500, 2.746),
        _instance("i3en.6xlarge", 24, 192, 25.0, 4.0, 3.0, 15000, 2.712),
    )
}
# The machine of the driver: 8 cores, 64 GiB (r6i.2xlarge).
DRIVER_DOLLARS_HOUR = 0.504


@dataclass(frozen=True)
class Store:
    """An object store. Rates are those of a connection; requests are limited for each prefix."""

    get_connection: float = 90e6
    put_connection: float = 60e6
    connections: int = 16
    prefixes: int = 40
    gets_second: float = 5500
    puts_second: float = 3500
    get_bytes: float = 16 * 2**20
    put_bytes: float = 64 * 2**20
    dollars_1000_gets: float = 0.0004
    dollars_1000_puts: float = 0.005
    dollars_gb_month: float = 0.023


@dataclass(frozen=True)
class Work:
    """What bytes cost a core, and what a task costs beside its bytes.

    Measured with `xsort part` on records of 100 bytes (docs/cluster.md): rates of one core, seconds
    to start a process and to hand it to a node, and seconds of sampling a slice.
    """

    sort_core: float = 310e6
    merge_core: float = 470e6
    start_seconds: float = 0.15
    sample_seconds: float = 0.5
