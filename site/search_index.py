"""What the search finds: a record a section, as a script, since a page from the disk cannot fetch files."""

import json
import re

MOST_TEXT = 6000  # letters of a section: tables of keys are longer, and nobody reads what is far down in a result


class Index:
    def __init__(self, language):
        self.language = language
        self.records = []

    def add(self, page, title, kind, records):
        """`records`: anchor, heading and text of each section; `page` is relative to the search page."""
        for anchor, heading, text in records:
            text = re.sub(r"\s+", " ", text)[:MOST_TEXT]
            if text or heading:
                self.records.append([page + (f"#{anchor}" if anchor else ""), title, heading, text, kind])

    def script(self):
        lines = ",\n".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in self.records)
        return f"window.meshscopeIndex = [\n{lines}\n];\n"
