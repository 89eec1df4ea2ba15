"""Who listens at an address, found by opening a connection and closing it."""

from __future__ import annotations

import errno
import select
import socket
import time

# How long all of them have to answer.
ANSWER_SECONDS = 0.1


def knock(addresses: dict[str, tuple[str, int]]) -> tuple[set[str], set[str]]:
    """The names of those that accept a connection, and of those that refuse it, as a machine does
    where nothing listens any more. Who doesn't answer in time is in neither: it may be busy, or far
    away."""
    listening: set[str] = set()
    refusing: set[str] = set()
    asking: dict[int, tuple[str, socket.socket]] = {}
    waiting = select.poll()

    def take(name: str, error: int) -> None:
        if error == 0:
            listening.add(name)
        elif error == errno.ECONNREFUSED:
            refusing.add(name)

    try:
        for name, (host, port) in addresses.items():
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            one = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            asking[one.fileno()] = (name, one)
            error = one.connect_ex((host, port))
            if error == errno.EINPROGRESS:
                waiting.register(one, select.POLLOUT)
            else:
                take(name, error)
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end and len(listening) + len(refusing) < len(addresses):
            for descriptor, _ in waiting.poll(max(0.0, end - time.monotonic()) * 1000):
                name, one = asking[descriptor]
                take(name, one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
                waiting.unregister(descriptor)
    finally:
        for _, one in asking.values():
            one.close()
    return listening, refusing
