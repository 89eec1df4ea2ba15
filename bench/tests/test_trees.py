"""Trees have the shape that their numbers say, at any size."""

from dataclasses import replace
import os
from pathlib import Path
import tempfile
import unittest

import trees

TREES = {tree.name: tree for tree in trees.TREES}


def found(tree):
    """Of a tree that is made: paths of directories and of files, each with its status."""
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        trees.make(tree, root)
        statuses = lambda paths: {str(path.relative_to(root)): path.stat() for path in paths}
        every = [root, *root.rglob("*")]
        return statuses(path for path in every if path.is_dir()), statuses(
            path for path in every if path.is_file()
        )


class Shapes(unittest.TestCase):
    def test_sizes(self):
        sizes = {name: (tree.names, tree.inodes, tree.directories) for name, tree in TREES.items()}
        self.assertEqual(
            sizes,
            {
                "deep": (409_500, 409_500, 4095),
                "wide": (250_000, 250_000, 500),
                "single": (200_000, 200_000, 1),
                "links": (200_000, 50_000, 1000),
                "million": (1_000_000, 1_000_000, 10_000),
                "tiny": (10, 10, 1),
            },
        )

    def test_levels(self):
        levels = lambda tree: (
            1 + max(tree.path(number).count("/") for number in range(tree.directories))
        )
        expected = {"deep": 12, "wide": 2, "single": 1, "million": 3}
        self.assertEqual({name: levels(TREES[name]) for name in expected}, expected)

    def test_trees_are_what_their_numbers_say(self):
        for tree in TREES.values():
            with self.subTest(tree.name):
                small = tree.scaled(0.004)
                directories, files = found(small)
                self.assertEqual((len(directories), len(files)), (small.directories, small.names))
                self.assertEqual(len({status.st_ino for status in files.values()}), small.inodes)
                self.assertEqual({status.st_nlink for status in files.values()}, {small.links})
                self.assertEqual(
                    {status.st_size for status in files.values()}, {0 if small.is_empty else 70}
                )

    def test_every_directory_is_filled_and_the_names_of_a_file_are_in_several(self):
        _, files = found(replace(TREES["links"], directories=12, files=20))
        places = {}
        for path, status in files.items():
            places.setdefault(status.st_ino, set()).add(os.path.dirname(path))
        self.assertEqual({len(directories) for directories in places.values()}, {4})
        self.assertEqual(
            len({directory for directories in places.values() for directory in directories}), 12
        )

    def test_smaller_ones_keep_their_shape(self):
        for tree in TREES.values():
            with self.subTest(tree.name):
                self.assertEqual(tree.scaled(1), tree)
                small = tree.scaled(1e-6)
                self.assertGreater(small.names, 0)
                self.assertGreaterEqual(small.directories, min(tree.directories, tree.links))
                self.assertLessEqual(small.names, tree.names)
        self.assertEqual(TREES["tiny"].scaled(0.1), TREES["tiny"])

    def test_a_tree_that_cannot_be_filled_is_an_error(self):
        with tempfile.TemporaryDirectory() as work, self.assertRaises(OSError):
            trees.make(replace(TREES["tiny"], files=2, name="x"), Path(work))
