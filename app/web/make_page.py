#!/usr/bin/env python3
"""Makes one HTML file of the page's program, lessons and fonts. Standard library only; fonts are cut by pyftsubset."""
import argparse
import base64
import gzip
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

# Where the program looks for fonts on Debian: find_fonts() of app/gui/window/fonts.cpp.
WORDS = "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"
FONTS = [WORDS, "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"]
TEXTS = {".toml", ".md", ".py", ".cpp", ".h", ".html", ".js", ".def"}


def letters_of(root):
    """Every code point of the tree's own texts: catalogues, lessons, and what the views draw themselves."""
    found = set(map(chr, range(0x20, 0x7F))) | set(map(chr, range(0xA0, 0x180)))
    for folder in ("app", "core", "scenarios"):
        for path in (root / folder).rglob("*"):
            if path.suffix in TEXTS:
                found.update(path.read_text(encoding="utf-8"))
    return {letter for letter in found if ord(letter) >= 0x20}


def cut(font, letters, folder):
    """The font with these letters alone."""
    wanted, made = folder / "letters", folder / "font"
    wanted.write_text("".join(sorted(letters)), encoding="utf-8")
    command = ["pyftsubset", font, f"--text-file={wanted}", f"--output-file={made}", "--layout-features=", "--no-hinting",
               "--name-IDs=0,1,2,13,14", "--drop-tables+=FFTM", "--ignore-missing-glyphs", "--ignore-missing-unicodes", "--no-glyph-names"]
    if font.endswith(".ttc"):
        command.append("--font-number=0")
    subprocess.run(command, check=True)
    return made.read_bytes()


def packed(data):
    return gzip.compress(data, 9, mtime=0)


def archive(files):
    """[(path, bytes)] as page.js reads it: the list's length (4 bytes), the list, then the bytes."""
    listed = json.dumps([[path, len(data)] for path, data in files], ensure_ascii=False).encode()
    return struct.pack("<I", len(listed)) + listed + b"".join(data for _, data in files)


def write_split(folder, page, parts):
    """The same page for hosts: its parts are files beside it, whose names tell their content."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("meshscope.*"):
        old.unlink()
    for name, data in parts.items():
        file = f"meshscope.{name}.{hashlib.sha256(data).hexdigest()[:8]}.bin"  # a host may unpack what is called .gz
        (folder / file).write_bytes(data)
        page = page.replace(f'id="{name}">{base64.b64encode(data).decode()}<', f'id="{name}" data-file="{file}"><')
    page = page.replace("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
    (folder / "meshscope.html").write_text(page, encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}/meshscope.html: {size / 1e6:.2f} MB in {len(parts) + 1} files")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="the tree")
    parser.add_argument("--program", type=pathlib.Path, required=True, help="meshscope-page.js, beside its .wasm")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--split", type=pathlib.Path, metavar="FOLDER", help="also there, for hosts, with its parts as files")
    options = parser.parse_args()

    letters = letters_of(options.root)
    files = [("/" + str(path.relative_to(options.root)), path.read_bytes())
             for path in sorted((options.root / "scenarios").rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    with tempfile.TemporaryDirectory() as folder:
        files += [(font, cut(font, letters, pathlib.Path(folder))) for font in FONTS]

    web = options.root / "app/web"
    glue = options.program.read_text(encoding="utf-8")
    parts = {"program": packed(options.program.with_suffix(".wasm").read_bytes()), "files": packed(archive(files))}
    if "</script" in glue:
        sys.exit("the glue would end its own element")
    html = "".join(f'<script type="text/plain" id="{name}">{base64.b64encode(data).decode()}</script>\n' for name, data in parts.items())
    html += f'<script type="text/plain" id="glue">{glue}</script>'
    page = (web / "page.html").read_text(encoding="utf-8")
    page = page.replace("@PARTS@", html)
    for mark, script in (("@TOUCH@", "touch.js"), ("@TYPING@", "typing.js"), ("@PAGE@", "page.js")):
        page = page.replace(mark, (web / script).read_text(encoding="utf-8"))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(page, encoding="utf-8")
    if options.split:
        write_split(options.split, page, parts)
    size = options.output.stat().st_size
    print(f"{options.output}: {size / 1e6:.2f} MB, {len(gzip.compress(page.encode(), 9)) / 1e6:.2f} MB by gzip")


if __name__ == "__main__":
    main()
