"""How a text, some bytes, some JSON, a checkpoint and a trace are altered: bits flipped, cut, characters that steer a
terminal put in, NULs, values of another type, numbers beyond every range, tables within tables. Checksums that would
hide what stands behind them are made right again. Every change comes of the generator that is passed.
"""

import json
import sqlite3
import struct

STEERING = ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u200b", "\u2028", "\x7f", "\ufeff", "\x1b]0;t\x07", "\r", "\ufffe"]


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


VALUES = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "-1", "0", "4294967296", "1e308", "-1e308",
          "nan", "inf", "1.5", "true", '""', '"x"', "[]", "[[1]]", "{}", "{ a = 1 }", "1979-05-27", "[-1]", '["a", 1]',
          "[9223372036854775807, 9223372036854775807]", '"a\\u0000b"', '"../../../etc/passwd"', '"/dev/zero"', "0x7fffffffffffffff"]


def altered_text(text, rng):
    """A TOML text with one to three changes; UTF-8 or not."""
    lines = text.split("\n")
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.randrange(13)
        at = rng.randrange(len(lines))
        valued = [i for i, line in enumerate(lines) if "=" in line and len(line) < 1000]
        if kind <= 2 and valued:  # another value
            at = rng.choice(valued)
            lines[at] = lines[at].split("=")[0] + "= " + rng.choice(VALUES)
        elif kind in (3, 11, 12) and valued:  # what steers a terminal, raw or escaped, in a text or in a key
            told = [i for i in valued if lines[i].startswith(("title", "id", "name"))]
            at = rng.choice(told if told and kind > 3 else valued)
            word = rng.choice(STEERING)
            if rng.random() < 0.7:
                word = "".join(f"\\u{ord(c):04x}" for c in word)
            place = lines[at].find('"') + 1
            lines[at] = lines[at][:place] + word + lines[at][place:] if place else f'"{word}" = {at}\n' + lines[at]
        elif kind == 4 and valued:  # NUL in a text
            at = rng.choice(valued)
            place = lines[at].find('"') + 1
            lines[at] = lines[at][:place] + rng.choice(["\\u0000", "\0"]) + lines[at][place:]
        elif kind == 5:  # depth
            n = rng.choice([10, 63, 64, 65, 1000, 60000])
            lines.insert(at, rng.choice(["a" + ".a" * n + " = 1", "[a" + ".a" * n + "]", "[[a" + ".a" * n + "]]", "a = " + "[" * n,
                                         "a = " + "[" * n + "]" * n, "a = " + "{b=" * n, "a = " + "[{b.c=" * n]))
        elif kind == 6:  # size
            n = rng.choice([100, 3000])
            lines.insert(at, "\n".join(rng.choice(["k%d = 1", "[t%d]", "[[check]]\nid = \"c%d\"", "# %d"]) % i for i in range(n)))
        elif kind == 7:
            del lines[at]
        elif kind == 8:
            lines.insert(at, rng.choice(lines))
        elif kind == 9 and valued:  # a long text
            at = rng.choice(valued)
            place = lines[at].find('"') + 1
            lines[at] = lines[at][:place] + rng.choice(["x", "分", "<&>"]) * rng.choice([300, 40000]) + lines[at][place:]
        else:
            return altered_bytes("\n".join(lines).encode(), rng)
        if not lines:
            lines = [""]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def altered_bytes(data, rng):
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        del data[rng.randrange(len(data) + 1):]
    elif kind == 1:
        place = rng.randrange(len(data) + 1)
        data[place:place] = bytes(rng.choice([b"\x1b[2J", b"\x00", b"\xff", b"\xc2\x9b", b"\xe2\x80\xae", b"\x80" * 40]))
    else:
        for _ in range(rng.randint(1, 8)):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


JSON_VALUES = [-2**63, 2**63 - 1, 2**64 - 1, 2**32, -1, 0, 1e300, None, True, "", "\x1b[2J\u202e", "a\0b", "../x", "/etc/passwd", [], {},
               [2**62, 2**62, 2**62], [[]], "x" * 5000]


def altered_json(value, rng):
    """The value with one place within it replaced."""
    inner = value
    while True:
        key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        if not isinstance(inner[key], (dict, list)) or not inner[key] or rng.random() < 0.2:
            break
        inner = inner[key]
    kind = rng.randrange(6)
    if kind == 0 and isinstance(inner, dict):
        inner[rng.choice(["\x1b[2J", "a\0", "\u202e", "x" * 3000])] = inner.pop(key)
    elif kind == 1:
        del inner[key]
    elif kind == 2 and isinstance(inner, list):
        inner.append(rng.choice(JSON_VALUES))
    else:
        inner[key] = rng.choice(JSON_VALUES)


class Text:
    """A text cell, whatever its bytes."""

    def __init__(self, raw):
        self.raw = raw


def key_of(db, table):
    """The columns of a table's primary key, in its order, for SQL."""
    info = [(row[5], row[1].raw.decode()) for row in db.execute(f"PRAGMA table_info({table})")]
    return ", ".join(name for order, name in sorted(info) if order)


def reseal(db, table):
    """Makes the checksum of a table right again (core/trace/table_io.h, RowSum)."""
    data, rows = bytearray(), 0
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {key_of(db, table)}"):
        for cell in row:
            if cell is None:
                data += b"\0"
            elif isinstance(cell, int):
                data += b"\1" + struct.pack("<q", cell)
            elif isinstance(cell, float):
                data += b"\2" + struct.pack("<d", cell)
            elif isinstance(cell, Text):
                data += b"\3" + struct.pack("<q", len(cell.raw)) + cell.raw
            else:
                data += b"\4" + struct.pack("<q", len(cell)) + cell
        data += b"\5"
        rows += 1
    db.execute("UPDATE checksum SET row_count = ?, crc32c = ? WHERE section = ?", (rows, crc32c(data), table))


CELLS = [None, 0, 1, -1, 7, 2**31, -2**31 - 1, 2**63 - 1, -2**63, 2**62, 1e300, float("inf"), 0.5, b"", b"\0" * 40, b"\xff" * 17, "", "x",
         "\x1b[2J", "\u202ea\u2028", "\x9b31m\x07", "<script>&\"'", "a\0b", "分" * 3000, "\x01", "x" * 40000]


TEXTS = {"string": "text", "meta": "value", "mesh_dim": "name", "process_group": "mesh_dim", "word": "text"}


def altered_trace(path, rng):
    if rng.random() < 0.2:
        path.write_bytes(altered_bytes(path.read_bytes(), rng))
        return
    db = sqlite3.connect(path)
    db.text_factory = Text
    tables = [t.raw.decode() for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    tables = [t for t in tables if not t.startswith("sqlite_") and t != "checksum"]
    for _ in range(rng.randint(1, 3)):
        table = rng.choice(tables)
        texts = rng.random() < 0.4  # half of what is told are texts
        if texts:
            table = rng.choice([t for t in tables if t in TEXTS])
        columns = [row[1].raw.decode() for row in db.execute(f"PRAGMA table_info({table})")]
        (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
        if count == 0:
            continue
        row = rng.randrange(count)
        key = key_of(db, table)
        of = f"({key}) = (SELECT {key} FROM {table} LIMIT 1 OFFSET {row})"
        try:
            if rng.random() < 0.1:
                db.execute(f"DELETE FROM {table} WHERE {of}")
            else:
                column = TEXTS[table] if texts else rng.choice(columns)
                value = rng.choice([c for c in CELLS if isinstance(c, str)]) if texts else rng.choice(CELLS)
                db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {of}", (value,))
        except sqlite3.Error:
            continue
        reseal(db, table)
    db.commit()
    db.close()


def altered_checkpoint(folder, rng):
    """One file of a checkpoint: its manifest (with a checksum that is right again), or a part."""
    manifest = folder / "manifest.json"
    kind = rng.randrange(5)
    if kind == 0:
        manifest.write_bytes(altered_bytes(manifest.read_bytes(), rng))
    elif kind == 1:
        n = rng.choice([63, 100, 100000])
        deep = rng.choice(["[" * n + "]" * n, '{"a":' * n + "0" + "}" * n, "[" * n])
        text = manifest.read_text()
        manifest.write_text(rng.choice([deep, text.replace('"losses":', '"deep": ' + deep + ', "losses":')]))
    elif kind == 2:
        part = rng.choice(sorted(folder.glob("*.safetensors")))
        part.write_bytes(altered_bytes(part.read_bytes(), rng))
    else:
        whole = json.loads(manifest.read_text())
        for _ in range(rng.choice([1, 1, 2])):
            altered_json(whole["checkpoint"], rng)
        body = json.dumps(whole["checkpoint"], separators=(",", ":"), ensure_ascii=False)
        whole["crc32c"] = f"{crc32c(body.encode()):08x}"
        manifest.write_text(json.dumps(whole, ensure_ascii=False))
