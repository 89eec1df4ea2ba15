"""Who listens at an address."""

import socket

from xsort.ray.knock import knock


def test_who_listens_and_who_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        addresses = {"a": server.getsockname()}
        assert knock(addresses) == ({"a"}, set())
    assert knock(addresses) == (set(), {"a"})
    assert knock({}) == (set(), set())


def test_who_does_not_answer_is_neither() -> None:
    # A full queue of connections answers nobody.
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        with socket.create_connection(address):
            others = [socket.socket() for _ in range(4)]
            for other in others:
                other.setblocking(False)
                other.connect_ex(address)
            assert knock({"a": address}) == (set(), set())
            for other in others:
                other.close()
