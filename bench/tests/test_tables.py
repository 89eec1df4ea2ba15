"""Tables: the same bytes every time, what their names promise, and a proof that finds what is
wrong with an output.
"""

import csv
import json
from pathlib import Path
import tempfile
import unittest
from unittest.mock import patch

import table_rivals
import tables
import tables_proof
import workloads

BYTES = 50_000


class Tables(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "table"

    def made(self, name, seed=0):
        tables.make(name, BYTES, seed, self.path)
        return self.path.read_text()

    def proof(self, name, text, *keys):
        self.path.write_text(text)
        return tables_proof.told(tables_proof.proof(name, self.path, keys))

    def test_the_same_by_name_size_and_seed(self):
        for name in tables.NAMES:
            with self.subTest(name):
                text = self.made(name)
                self.assertEqual(self.made(name), text)
                self.assertNotEqual(self.made(name, seed=1), text)
                self.assertTrue(text.endswith("\n"))
                self.assertIn(len(text.encode()), range(BYTES * 9 // 10, BYTES * 11 // 10))

    def test_orders_need_quotes_and_plain_ones_do_not(self):
        rows = list(csv.reader(self.made("orders").splitlines(keepends=True)))
        self.assertEqual({len(row) for row in rows}, {len(tables.COLUMNS)})
        for needing in (",", "\n", '"'):
            self.assertTrue(any(needing in row[-1] for row in rows), needing)
        self.assertNotIn('"', self.made("plain"))

    def test_every_column_of_an_order_is_there(self):
        for name, keys in tables.ORDERS:
            first = self.made(name).splitlines()[1]
            read = json.loads(first) if name == "events" else next(csv.reader([first]))
            for key in keys:
                with self.subTest((name, key.text())):
                    self.assertEqual(tables_proof.parsed(key.text()), key)
                    column = (
                        tables_proof.json_key(key)
                        if name == "events"
                        else tables_proof.csv_key(key)
                    )
                    self.assertEqual(len(column([read])), 1)

    def test_a_proof_does_not_depend_on_the_order(self):
        header, *rows = self.made("plain").splitlines(keepends=True)
        self.assertEqual(
            self.proof("plain", header + "".join(rows)),
            self.proof("plain", "".join(reversed(rows)) + header),
        )

    def test_a_proof_sees_other_rows(self):
        text = "1,a,1.00,2026-01-01,x\n2,b,2.00,2026-01-02,\n"
        found = self.proof("plain", text)
        self.assertEqual(
            self.proof("plain", '"1","a","1.00","2026-01-01","x"\r\n2,b,2.00,2026-01-02,\n'), found
        )
        for other in (
            text.replace("x", "y"),
            text.replace("2.00", "2.0"),
            text + text[:21],
            text[:21],
            text.replace("b", ""),
        ):
            self.assertNotEqual(self.proof("plain", other), found)

    def test_a_proof_sees_the_first_row_out_of_order(self):
        text = "1,b,9.00,2026-01-01,\n2,b,10.00,2026-01-03,\n3,a,10.50,2026-01-02,\n"
        self.proof("plain", text, tables.AMOUNT)
        for key in (tables.CUSTOMER, tables.Key("date", "date")):
            with self.assertRaisesRegex(tables_proof.Disorder, "row 3 "):
                self.proof("plain", text, key)
        with self.assertRaisesRegex(tables_proof.Disorder, "row 2 "):
            self.proof("plain", text, tables.Key("date", "date", True), tables.AMOUNT)

    def test_a_proof_sees_disorder_between_blocks(self):
        row = "{},a,{}.00,2026-01-01,\n"
        count = tables_proof.BLOCK_ROWS
        text = "".join(row.format(number, number % count) for number in range(count + 1))
        with self.assertRaisesRegex(tables_proof.Disorder, f"row {count + 1:,} "):
            self.proof("plain", text, tables.AMOUNT)

    def test_a_proof_of_pieces_is_that_of_the_whole(self):
        text = self.made("orders")
        found = self.proof("orders", text)
        disorders = []
        for bytes in (2**30, 2**20):
            with patch.object(tables_proof, "PIECE_BYTES", bytes):
                large = text + 60 * text[text.index("\n") + 1 :]
                self.assertNotEqual(self.proof("orders", large), found)
                with self.assertRaises(tables_proof.Disorder) as raised:
                    self.proof("orders", large, tables.Key("order_id", "num"))
                disorders.append((str(raised.exception), self.proof("orders", large)))
        self.assertEqual(*disorders)

    def test_a_proof_sees_disorder_between_pieces(self):
        rows = [f"{number},a,1.00,2026-01-01,{'x' * 200_000}\n" for number in range(60)]
        rows[20:20] = rows[50:]
        del rows[60:]
        self.path.write_text("".join(rows))
        with patch.object(tables_proof, "PIECE_BYTES", 2**20):
            pieces = tables_proof.piece_ends("plain", self.path)
            self.assertGreater(len(pieces), 5)
            place = next(
                place
                for place, (one, other) in enumerate(zip(rows, rows[1:]))
                if int(one.split(",")[0]) > int(other.split(",")[0])
            )
            with self.assertRaisesRegex(tables_proof.Disorder, f"row {place + 2} "):
                self.proof("plain", "".join(rows), tables.Key("order_id", "num"))

    def test_events_are_values_and_not_bytes(self):
        one = '{"time":"2026-01-01T00:00:00.000Z","user":{"id":10,"name":"\\u00e9"}}\n'
        other = '{"time": "2026-01-01T00:00:00.000Z", "user": {"id": 10, "name": "é"}}\n'
        self.assertEqual(self.proof("events", one), self.proof("events", other))
        self.assertNotEqual(
            self.proof("events", one), self.proof("events", one.replace("10", "11"))
        )
        with self.assertRaises(tables_proof.Disorder):
            self.proof("events", one + one.replace("10", "9"), tables.Key(".user.id", "int"))

    def test_a_header_must_be_the_inputs(self):
        with self.assertRaises(ValueError):
            self.proof("orders", "1,a,1.00,2026-01-01,x\n")


class Commands(unittest.TestCase):
    contenders = table_rivals.TableContenders("xsort")
    cases = workloads.topic_cases("tables", BYTES, 2**20, 2, 2**30, table_rivals.NAMES)

    def test_everyone_is_told_by_which_columns(self):
        for case in self.cases:
            for entry in case.entries:
                with self.subTest((case.label, entry.label)):
                    command = self.contenders.command(
                        entry.contender, case, entry, 2**20, "IN", "OUT", "SCRATCH"
                    )
                    self.assertIn("IN", command)
                    self.assertIn("OUT", command)

    def test_who_sorts_in_memory_only_needs_a_multiple(self):
        case = self.cases[0]
        self.assertIn("not tried", self.contenders.refusal("miller", case, 2 * case.bytes))
        self.assertIsNone(self.contenders.refusal("miller", case, 10 * case.bytes))
        self.assertIsNone(self.contenders.refusal("xsort", case, 1))
