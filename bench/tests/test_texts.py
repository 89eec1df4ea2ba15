"""Texts: the same bytes every time, in whole lines, and what their names promise."""

from pathlib import Path
import tempfile
import unittest

import texts

BYTES = 50_000


def made(name, bytes=BYTES, seed=0):
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "text"
        texts.make(name, bytes, seed, target)
        return target.read_bytes()


class Texts(unittest.TestCase):
    def test_the_same_by_name_size_and_seed(self):
        for name in texts.NAMES:
            with self.subTest(name):
                text = made(name)
                self.assertEqual(made(name), text)
                # What is sorted has lost its order.
                self.assertEqual(made(name, seed=1) == text, name in ("sorted", "reversed"))

    def test_whole_lines_of_nearly_the_size(self):
        for name in texts.NAMES:
            with self.subTest(name):
                text = made(name)
                least = (
                    BYTES * 2 // 5
                    if name in ("numbers", "sorted", "reversed")
                    else BYTES - texts.LONG_BYTES
                )
                self.assertIn(len(text), range(least, BYTES + 1))
                self.assertTrue(text.endswith(b"\n"))
                self.assertNotIn(b"\n\n", text)
                text.decode()

    def test_a_larger_text_begins_with_the_smaller_one(self):
        self.assertTrue(made("logs", 3 * BYTES).startswith(made("logs")))

    def test_numbers_are_all_there(self):
        numbers = {name: made(name).split() for name in ("numbers", "sorted", "reversed")}
        expected = sorted(str(number).encode() for number in range(1, BYTES // 10 + 1))
        self.assertEqual([numbers["sorted"], numbers["reversed"]], [expected, expected[::-1]])
        self.assertCountEqual(numbers["numbers"], expected)

    def test_names_keep_their_promises(self):
        self.assertLessEqual(len(set(made("few").splitlines())), texts.FEW_LINES)
        self.assertTrue(
            all(line.startswith(texts.PREFIX.encode()) for line in made("prefixed").splitlines())
        )
        self.assertEqual({len(line) + 1 for line in made("long").splitlines()}, {texts.LONG_BYTES})
        self.assertEqual({line.count(b",") for line in made("csv").splitlines()}, {3})
        self.assertFalse(made("world").isascii())
