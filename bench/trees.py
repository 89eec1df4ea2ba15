"""Trees to walk: deep, wide, one large directory, many links, a million files; the same names and
sizes every time.

A tree is `directories` directories, each of which has `files` names of files and, but for the last
ones, `branching` directories: number 0 is the root, number n is in number (n - 1) // branching, so
4,095 of branching 2 are 12 levels. With `links` names for each file, its other names are in other
directories. A file holds 70 bytes, for which most file systems take a block; the million hold none,
so that they take no 4 GB, nor minutes to be made and given back.

Run as `trees.py NAME SCALE DIRECTORY`, so that the harness stays small: the kernel counts what it
has as peak memory of those it starts. There is a process for each processor, and all is done
relative to descriptors of directories: a million files take about a minute.
"""

from dataclasses import dataclass, replace
import os
from pathlib import Path
import sys

CONTENT = b"a file of 70 bytes, which is a block of most file systems: 4,096 bytes"


@dataclass(frozen=True)
class Tree:
    """Numbers of a tree; `scaled` makes a smaller one of the same shape."""

    name: str
    directories: int
    branching: int
    # Names in each directory, but for those of directories.
    files: int
    # Names of each file.
    links: int = 1
    # Whether files hold nothing, for which most file systems take no block.
    is_empty: bool = False
    # Walks in a turn, where a single one is over too soon.
    repeats: int = 1

    @property
    def names(self):
        return self.directories * self.files

    @property
    def inodes(self):
        return self.names // self.links

    def scaled(self, scale):
        """With fewer directories; with fewer files where there is only one."""
        if scale >= 1 or self.repeats > 1:
            return self
        if self.directories == 1:
            return replace(self, files=max(1, round(self.files * scale)))
        # No fewer than the names of a file, which are in as many directories.
        return replace(self, directories=max(2 * self.links, round(self.directories * scale)))

    def path(self, number):
        """A directory's, relative to the root."""
        return f"{self.path((number - 1) // self.branching)}/d{number}" if number else "."


# `tiny` is walked many times over: what it costs to start.
TREES = (
    Tree("deep", 4095, 2, 100),
    Tree("wide", 500, 500, 500),
    Tree("single", 1, 1, 200_000),
    Tree("links", 1000, 10, 200, links=4),
    Tree("million", 10_000, 100, 100, is_empty=True),
    Tree("tiny", 1, 1, 10, repeats=200),
)


def make(tree, directory):
    """Makes the tree below `directory`, which becomes its root."""
    directory.mkdir()
    root = os.open(directory, os.O_RDONLY)
    for number in range(1, tree.directories):
        os.mkdir(tree.path(number), dir_fd=root)
    parts = len(os.sched_getaffinity(0))
    for fill in (fill_files, fill_links) if tree.links > 1 else (fill_files,):
        children = [
            start(
                fill,
                tree,
                root,
                tree.directories * part // parts,
                tree.directories * (part + 1) // parts,
            )
            for part in range(parts)
        ]
        if any(os.waitpid(child, 0)[1] for child in children):
            raise OSError(f"{directory} could not be filled")
    os.close(root)


def start(fill, tree, root, begin, end):
    """A process that fills the directories from `begin` to `end`; returns its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for number in range(begin, end):
            fill(tree, root, number)
        status = 0
    finally:
        os._exit(status)


def fill_files(tree, root, number):
    """Files of one name so far: all, or their first part if they are to have more."""
    directory = os.open(tree.path(number), os.O_RDONLY, dir_fd=root)
    for place in range(tree.files // tree.links):
        file = os.open(f"f{place}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
        os.write(file, b"" if tree.is_empty else CONTENT)
        os.close(file)
    os.close(directory)


def fill_links(tree, root, number):
    """The other names of this directory's files, in directories far from it and from each other."""
    directory = os.open(tree.path(number), os.O_RDONLY, dir_fd=root)
    for link in range(1, tree.links):
        other = os.open(
            tree.path((number + tree.directories * link // tree.links) % tree.directories),
            os.O_RDONLY,
            dir_fd=root,
        )
        for place in range(tree.files // tree.links):
            os.link(f"f{place}", f"l{link}-{place}", src_dir_fd=directory, dst_dir_fd=other)
        os.close(other)
    os.close(directory)


if __name__ == "__main__":
    name, scale, directory = sys.argv[1:]
    (tree,) = [tree for tree in TREES if tree.name == name]
    make(tree.scaled(float(scale)), Path(directory))
