"""A record's rows are the program's own; a file that is no whole record is refused by name."""

import copy
import gc
import hashlib
import json
import math
import os
import pathlib
import pickle
import re
import shutil
import sqlite3
import struct
import sys
import types
import unittest
from unittest import mock

from support import ROOT, TOY, InFolder, asked, hsdp, meshscope
from meshscope import checksum, trace_file
from meshscope.rows import Group

# A statement of core/trace/schema.cpp, the version that brought it and the last that had it.
STATEMENT = re.compile(r'\{((?:\s*"(?:[^"\\]|\\.)*")+)\s*(?:,\s*(\d+))?(?:,\s*(\d+))?\s*\}')


def schema(version):
    """The statements of a version, as the engine's source has them."""
    source = (ROOT / "core" / "trace" / "schema.cpp").read_text(encoding="utf-8")
    source = source[source.index("kStatements{"):source.index("return kStatements")]
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1])).replace('\\"', '"')
            for found in STATEMENT.finditer(source)
            if int(found[2] or 1) <= version <= int(found[3] or trace_file.NEWEST_VERSION)]


def older(path, version, out):
    """What an engine of that version would have written of this record."""
    new = sqlite3.connect(out, isolation_level=None)
    new.execute("PRAGMA synchronous = OFF")
    new.execute("ATTACH ? AS given", (path,))
    for statement in schema(version):
        new.execute(statement)
    new.execute("BEGIN")
    for (table,) in new.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
        if table == "checksum":
            continue
        columns = ", ".join(f'"{row[1]}"' for row in new.execute(f"PRAGMA main.table_info({table})"))
        which = ""
        if table == "snapshot":  # operands came later; what stays is numbered without gaps
            columns = columns.replace('"ordinal"', "row_number() OVER (PARTITION BY rank ORDER BY ordinal) - 1")
            which = " WHERE operand = 0"
        new.execute(f"INSERT INTO main.{table} SELECT {columns} FROM given.{table}{which}")
        new.execute("INSERT INTO main.checksum VALUES(?, ?, ?)",
                    (table, *checksum.sum_of(new.execute(f"SELECT * FROM main.{table} ORDER BY 1, 2"))))
    new.execute("COMMIT")
    new.execute(f"PRAGMA application_id = {trace_file.APPLICATION_ID}")
    new.execute(f"PRAGMA user_version = {version}")
    new.close()


class Rows(unittest.TestCase):
    def test_the_checksum_is_crc32c(self):
        crc = checksum.Crc32c()
        for part in (b"1", b"2345678", b"9"):
            crc.add(part)
        self.assertEqual(crc.value(), 0xE3069283)  # the check value of the catalogue of CRCs

    def test_every_view_has_the_programs_own_rows(self):
        record = hsdp()
        views = {"collectives": record.collectives, "compute": record.compute, "hops": record.hops, "memory": record.memory,
                 "ranks": record.ranks, "steps": record.steps, "losses": record.losses, "groups": record.groups,
                 "dependencies": record.dependencies, "parameters": record.parameters, "buffers": record.buffers,
                 "operands": record.operands}
        for view, read in views.items():
            rows = read()
            self.assertGreater(len(rows), 0, view)
            columns = ", ".join(f'"{name}"' for name in rows.columns)
            told = sorted(asked(record.path, f"SELECT {columns} FROM {view}"), key=str)
            plain = sorted(([list(cell) if isinstance(cell, tuple) else cell for cell in row] for row in rows), key=str)
            for row in told:
                for i, cell in enumerate(row):
                    if isinstance(cell, str) and cell.startswith("["):
                        row[i] = [struct.unpack("f", struct.pack("f", n))[0] if isinstance(n, float) else n
                                  for n in eval(cell, {"null": math.nan})]  # digits and brackets of our own program
            self.assertEqual(sorted(told, key=str), plain, view)

    def test_sql_sees_our_own_views_too(self):
        sql = "SELECT src, dst, sum(bytes) FROM hops GROUP BY src, dst ORDER BY 1, 2"
        self.assertEqual([list(row) for row in hsdp().sql(sql)], asked(hsdp().path, sql))
        self.assertEqual(hsdp().sql("SELECT ? AS a, 2 AS b", 7)[0].a, 7)
        self.assertEqual(hsdp().value("SELECT count(*) FROM json_each((SELECT numbers FROM buffers LIMIT 1))"), 55)

    def test_conditions_choose_rows(self):
        record = hsdp()
        chosen = record.collectives(rank=0, step=1, op=["all_gather", "reduce_scatter"])
        self.assertEqual([call.op for call in chosen], ["all_gather"] * 4 + ["reduce_scatter"] * 2)
        self.assertEqual(len(record.collectives(peer=None)), len(record.collectives()))
        self.assertEqual([group.id for group in record.groups(ranks=(0, 1))], [3])
        two = record.groups(ranks=[(0, 1), (2, 3)])
        self.assertEqual([group.ranks for group in two], [(0, 1), (2, 3)])
        for one in ([0, 1], (0, 1), {1, 0}, iter((0, 1)), "[0, 1]"):
            self.assertEqual([group.id for group in record.groups(ranks=one)], [3], one)
        self.assertEqual(record.ranks(coordinate=[None, (0, 1)]), record.ranks(rank=1))
        held = record.buffers()[0].numbers
        self.assertIn(record.buffers()[0], record.buffers(numbers=held))
        with self.assertRaisesRegex(TypeError, "no column opp; there are: rank, id"):
            record.collectives(opp="all_gather")

    def test_numbers_of_other_packages_are_numbers(self):
        class Whole:  # as numpy.int64 is: no int, but one by operator.index
            shape = ()

            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

            def item(self):
                return self.value

        class Column:  # as numpy's arrays and pandas' columns are
            shape = (3,)

            def tolist(self):
                return [0, 2, 0]

        class Group(Column):
            def tolist(self):
                return [[0, 1]]

        record = hsdp()
        self.assertEqual(record.ranks(rank=Whole(2)), record.ranks(rank=2))
        self.assertEqual(len(record.ranks(rank=2)), 1)
        for several in (Column(), (0, 2), {0, 2}, (rank for rank in (0, 2)), {0: "", 2: ""}, [Whole(0), Whole(2)]):
            self.assertEqual([rank.rank for rank in record.ranks(rank=several)], [0, 2], several)
        self.assertEqual([group.id for group in record.groups(ranks=Group())], [3])
        self.assertEqual([group.id for group in record.groups(ranks=[Whole(0), Whole(1)])], [3])
        self.assertEqual(record.value("SELECT ? + 1", Whole(6)), 7)
        for wrong in (b"0", [0], 1j):
            with self.assertRaisesRegex(TypeError, "whole numbers, floats, strings and None; not"):
                record.sql("SELECT ?", wrong)
        with self.assertRaisesRegex(TypeError, "not b'0'"):
            record.ranks(rank=b"0")
        for wrong in (1 << 63, "\ud800"):
            with self.assertRaises(meshscope.QueryError):
                record.ranks(rank=wrong)

    def test_what_is_known_of_the_run(self):
        record = hsdp()
        self.assertEqual((record.info.title, record.info.level, record.info.world_size, record.info.steps, record.info.failure),
                         ("HSDP: cut inside, copied across", "values", 4, 3, None))
        self.assertEqual(record.mesh, meshscope.Mesh((2, 2), ("replicate", "shard"), (0, 1, 2, 3)))
        self.assertIn('data = "fsdp2"', record.info.scenario)
        events = record.events(rank=0)
        self.assertEqual([event.id for event in events], list(range(len(events))))

    def test_what_is_alive_at_a_peak_adds_up_to_it(self):
        offloaded = meshscope.run("hsdp", parallel__cpu_offload=True)  # into the host's memory, which is not the device's
        self.assertGreater(len(offloaded.memory(category="offloaded")), 0)
        for record in (hsdp(), offloaded):
            for peak, rank in zip(record.peaks(), record.ranks()):
                self.assertEqual((peak.rank, peak.bytes, peak.step), (rank.rank, rank.peak_bytes, rank.peak_step))
                self.assertEqual(sum(peak.by_category.values()), peak.bytes)

    def test_weights_have_their_shapes(self):
        weights = hsdp().weights()
        self.assertEqual([(w.name, w.shape, len(w.numbers)) for w in weights],
                         [("net1.weight", (10, 10), 100), ("net1.bias", (10,), 10), ("net2.weight", (5, 10), 50),
                          ("net2.bias", (5,), 5)])

    def test_a_query_can_only_read(self):
        for sql in ("DELETE FROM event", "PRAGMA user_version", "ATTACH 'x' AS y", "CREATE TEMP TABLE t(a)", "VACUUM",
                    "SELECT load_extension('x')"):
            with self.assertRaisesRegex(meshscope.QueryError, "only be read"):
                hsdp().sql(sql)
        for sql in ("", "-- nothing", "SELECT 1; SELECT 2", "SELECT nosuch FROM event"):
            with self.assertRaises(meshscope.QueryError):
                hsdp().sql(sql)

    def test_tables_and_arrays(self):
        steps = hsdp().steps()
        self.assertEqual(steps.to_dicts()[0]["grad_norm"], None)
        self.assertEqual(steps[1:].columns, steps.columns)
        self.assertIn("<td>all_gather</td>", hsdp()._repr_html_())
        self.assertIn(f"20 of {len(hsdp().memory())} rows", hsdp().memory()._repr_html_())
        pandas = types.SimpleNamespace(DataFrame=types.SimpleNamespace(from_records=lambda rows, columns: (rows, columns)))
        with mock.patch.dict(sys.modules, pandas=pandas):
            rows, columns = hsdp().losses().to_pandas()
            self.assertEqual((columns, rows[0][0]), (["step", "loss"], 0))
        numpy = types.SimpleNamespace(array=lambda cells, dtype: (cells, dtype))
        with mock.patch.dict(sys.modules, numpy=numpy):
            cells, fields = steps.to_numpy()
            self.assertEqual(fields[:3], [("step", "i8"), ("loss", "f8"), ("grad_norm", "f8")])
            self.assertTrue(math.isnan(cells[0][2]))
            fields = dict(hsdp().collectives(rank=9)[:5].to_numpy()[1])
            self.assertEqual([fields[name] for name in ("rank", "op", "group_ranks", "hops")], ["i8", "U1", "O", "f8"])
            self.assertEqual(dict(hsdp().groups().to_numpy()[1]), {"id": "i8", "mesh_dim": "U9", "ranks": "O", "size": "i8"})

    def test_rows_of_a_query_have_names_each_once_and_can_be_pickled(self):
        rows = hsdp().sql("SELECT 1 AS rank, 2 AS rank, 3 AS rank_2, count(*) FROM ranks")
        self.assertEqual(rows.columns, ("rank", "rank_3", "rank_2", "count(*)"))
        self.assertEqual(rows.to_dicts(), [{"rank": 1, "rank_3": 2, "rank_2": 3, "count(*)": 4}])
        back = pickle.loads(pickle.dumps(rows))
        self.assertEqual((back, back.columns, back[0].rank_3), (rows, rows.columns, 2))
        self.assertEqual(copy.copy(rows[0]), rows[0])

    def test_what_was_not_recorded_is_refused_and_not_empty(self):
        record = meshscope.run(TOY, level="collectives")
        self.assertEqual({call.hops for call in record.collectives()}, {None})
        for read, least in ((record.hops, "hops"), (record.buffers, "values"), (record.operands, "values")):
            with self.assertRaisesRegex(meshscope.NotRecorded, f'level collectives, and that needs {least}.*level="{least}"'):
                read()
        record = meshscope.run(TOY, level="off")
        with self.assertRaises(meshscope.NotRecorded):
            record.collectives()
        self.assertEqual({rank.events for rank in record.ranks()}, {None})
        self.assertIn("<td>off</td>", record._repr_html_())

    def test_a_run_that_was_saved_nowhere_goes_with_its_record(self):
        record = meshscope.run(TOY)
        path = record.path
        self.assertTrue(os.path.exists(path))
        del record
        gc.collect()
        self.assertFalse(os.path.exists(os.path.dirname(path)))


class Files(InFolder):
    def refused(self, data, words):
        (self.folder / "x.mscope").write_bytes(data)
        with self.assertRaisesRegex(meshscope.RecordError, words):
            meshscope.open("x.mscope")

    def test_what_is_no_record(self):
        data = pathlib.Path(hsdp().path).read_bytes()
        self.refused(b"", "the file is empty")
        self.refused(b"%PDF", "not a Meshscope trace")
        self.refused(data[:50], "cut off: it has 50 bytes")
        self.refused(data[:5000], f"cut off: it has 5000 bytes and should have {len(data)}")
        self.refused(data + b"x", "section 'file'")
        self.refused(data[:68] + b"abcd" + data[72:], "not a Meshscope trace")
        self.refused(data[:60] + struct.pack(">i", 5) + data[64:], "format version 5; this package reads up to version 4")
        for path, words in ((self.folder / "nosuch", "No such file"), (self.folder, "it is no file")):
            with self.assertRaisesRegex(meshscope.RecordError, words):
                meshscope.open(path)

    def test_what_was_changed_is_named(self):
        for section, sql in (("event", "UPDATE event SET sent_bytes = 1 WHERE rank = 1 AND id = 1"),
                             ("meta", "UPDATE meta SET value = 'x' WHERE key = 'title_en'"),
                             ("value_block", "UPDATE value_block SET data = zeroblob(8) WHERE rank = 0 AND ordinal = 0"),
                             ("hop_piece", "INSERT INTO hop_piece VALUES(0, 0, 0, 0, 0, 0, 0)"),
                             ("checksum", "DELETE FROM checksum WHERE section = 'event'"),
                             ("schema", "CREATE VIEW more AS SELECT 1")):
            shutil.copy(hsdp().path, "x.mscope")
            changed = sqlite3.connect("x.mscope")
            changed.execute(sql)
            changed.commit()
            changed.close()
            with self.assertRaisesRegex(meshscope.RecordError, f"section '{section}' has changed"):
                meshscope.open("x.mscope")
        with self.assertRaisesRegex(meshscope.RecordError, "section 'schema'"):
            meshscope.open("x.mscope", verify=False)

    def test_what_no_run_wrote_is_damage_though_its_checksums_hold(self):
        for sql in ("INSERT INTO meta VALUES('failure', '[]')", "INSERT INTO meta VALUES('failure', '{')",
                    "DELETE FROM meta WHERE key = 'title_zh'", "UPDATE meta SET value = 9 WHERE key = 'level'",
                    "UPDATE meta SET value = -1 WHERE key = 'level'", "UPDATE meta SET value = 'x' WHERE key = 'steps'",
                    "UPDATE meta SET value = 7 WHERE key = 'backend'"):
            shutil.copy(hsdp().path, "x.mscope")
            changed = sqlite3.connect("x.mscope")
            changed.execute(sql)
            rows = changed.execute("SELECT * FROM meta ORDER BY key").fetchall()
            changed.execute("UPDATE checksum SET row_count = ?, crc32c = ? WHERE section = 'meta'", checksum.sum_of(rows))
            changed.commit()
            changed.close()
            with self.assertRaisesRegex(meshscope.RecordError, "section 'meta'", msg=sql):
                meshscope.open("x.mscope")

    def test_damage_is_named_where_it_is_met_without_checksums(self):
        shutil.copy(hsdp().path, "x.mscope")
        changed = sqlite3.connect("x.mscope")
        changed.execute("UPDATE meta SET value = '[{}]' WHERE key = 'parameters'")
        changed.execute("UPDATE hop_block SET data = zeroblob(7)")
        changed.execute("UPDATE string SET text = CAST(x'ff' AS TEXT) WHERE id = (SELECT max(id) FROM string)")
        changed.commit()
        changed.close()
        with meshscope.open("x.mscope", verify=False) as record:
            for read, section in ((record.weights, "meta"), (record.hops, "file"),
                                  (lambda: record.sql("SELECT text FROM string"), "file")):
                with self.assertRaisesRegex(meshscope.RecordError, f"section '{section}'"):
                    read()
            with mock.patch.dict("meshscope.record._READ", {(Group, "ranks"): lambda text: json.loads("{")}):
                with self.assertRaisesRegex(meshscope.RecordError, "section 'groups'"):
                    record.groups()
            with self.assertRaisesRegex(meshscope.QueryError, "user-defined"):
                record.sql("SELECT hop_rows(7)")
        with self.assertRaisesRegex(meshscope.QueryError, "x.mscope: this record is closed"):
            record.losses()

    def test_paths_that_sqlite_does_not_take(self):
        deep = self.folder.joinpath(*["d" * 200] * 6)
        deep.mkdir(parents=True)
        shutil.copy(hsdp().path, deep / "x.mscope")
        with self.assertRaisesRegex(meshscope.RecordError, "its path is too long"):
            meshscope.open(deep / "x.mscope")
        with self.assertRaisesRegex(meshscope.RecordError, "cannot open d+"):
            meshscope.open("d" * 5000)
        with self.assertRaisesRegex(meshscope.RecordError, "cannot open"):
            meshscope.open("x\0y")

    def test_the_schemas_are_the_engines(self):
        told = {version: hashlib.sha256("\n".join(schema(version)).encode()).hexdigest() for version in range(1, 5)}
        self.assertEqual(told, trace_file._SCHEMAS)
        header = (ROOT / "core" / "trace" / "schema.h").read_text(encoding="utf-8")
        self.assertIn(f"kSchemaVersion = {trace_file.NEWEST_VERSION}", header)

    def test_older_versions_are_read(self):
        newest = meshscope.run(TOY, level="values")
        for version in (1, 2, 3):
            path = str(self.folder / f"{version}.mscope")
            older(newest.path, version, path)
            record = meshscope.open(path)
            self.assertEqual(record.hops(), newest.hops())
            self.assertEqual(record.buffers(), newest.buffers())
            with self.assertRaisesRegex(meshscope.NotRecorded, "before 4"):
                record.operands()
        self.assertEqual(asked(path, "SELECT count(*) FROM buffers"), [[len(newest.buffers())]])
        with self.assertRaisesRegex(meshscope.NotRecorded, "version 1"):
            meshscope.open("1.mscope").parameters()


if __name__ == "__main__":
    unittest.main()
