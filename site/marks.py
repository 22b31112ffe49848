"""The marks of lesson texts (docs/scenario.md, "Lesson texts") as HTML."""

import html
import re

# One of the few marks inside a line; code first, as marks inside it are none.
INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\[(?P<words>[^\]]+)\]\((?P<kind>[a-z]+):(?P<target>[^)]*)\)")
# The groups of hues that a mesh dim's name has on its axis (style.css).
DIMS = {"replicate", "shard", "tp", "pp", "cp"}


def inline(text, terms=None):
    """A line's marks; `terms` (glossary.Links) links words of the rest to the glossary."""
    plain = terms.link if terms else html.escape
    out, at = [], 0
    for mark in INLINE.finditer(text):
        out.append(plain(text[at : mark.start()]))
        at = mark.end()
        if mark["code"] is not None:
            out.append(f"<code>{html.escape(mark['code'])}</code>")
        elif mark["strong"] is not None:
            out.append(f"<strong>{inline(mark['strong'], terms)}</strong>")
        else:
            out.append(reference(mark["words"], mark["kind"], mark["target"], plain))
    out.append(plain(text[at:]))
    return "".join(out)


def reference(words, kind, target, plain):
    """What the window lights up. A page can only go to a step, and give a dim the hue of its axis."""
    if kind == "step":
        return f'<a href="#{html.escape(target)}">{html.escape(words)}</a>'
    if kind == "dim" and target in DIMS:
        return f'<span class="dim {target}">{html.escape(words)}</span>'
    return plain(words)


def plain_text(text):
    """Without marks: for the search and for titles of pages."""
    bare = INLINE.sub(lambda mark: mark["code"] or mark["strong"] or mark["words"], text)
    bare = re.sub(r"^(- |```.*$|\|[-:| ]+\|$)", "", bare, flags=re.M)
    bare = re.sub(r"^\|.*\|$", lambda row: " · ".join(cells(row[0])), bare, flags=re.M)
    return re.sub(r"\s+", " ", bare).strip()


def cells(line):
    """A table's row; a bar in `code` or behind a backslash is none."""
    row = line.strip().removeprefix("|")
    found = re.findall(r"((?:`[^`]*`|\\\||[^|])*)\|", row if re.search(r"(?<!\\)\|$", row) else row + "|")
    return [cell.strip().replace("\\|", "|") for cell in found]


def table(lines, terms):
    sides = ["right" if cell.endswith(":") else "left" for cell in cells(lines[1])]

    def row(line, tag):
        made = "".join(
            f'<{tag}{" class=number" if side == "right" else ""}>{inline(cell, terms)}</{tag}>'
            for cell, side in zip(cells(line), sides)
        )
        return f"<tr>{made}</tr>"

    body = "".join(row(line, "td") for line in lines[2:])
    head = row(lines[0], "th")
    return f'<div class="scrolls" tabindex="0"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def blocks(text, terms=None):
    """Paragraphs, lists of points, tables and blocks of code."""
    out, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        line = lines[at]
        begin = at
        if not line.strip():
            at += 1
        elif line.startswith("```"):
            at += 1
            while at < len(lines) and not lines[at].startswith("```"):
                at += 1
            out.append("<pre><code>" + html.escape("\n".join(lines[begin + 1 : at])) + "\n</code></pre>")
            at += 1
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            out.append(table(lines[begin:at], terms))
        elif line.startswith("- "):
            points = []
            while at < len(lines):
                if lines[at].startswith("- "):
                    points.append(f"<li>{inline(lines[at][2:], terms)}</li>")
                elif lines[at].strip() or not "".join(lines[at + 1 : at + 2]).startswith("- "):
                    break  # points may have empty lines between them
                at += 1
            out.append("<ul>" + "".join(points) + "</ul>")
        else:
            while at < len(lines) and lines[at].strip() and not lines[at].startswith(("```", "|", "- ")):
                at += 1
            out.append("<p>" + inline("\n".join(lines[begin:at]), terms) + "</p>")
    return "\n".join(out)
