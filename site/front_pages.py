"""The front page, the lists of documents and terms, the search, and the page that chooses a language."""

import html

import marks
from frame import picture_image, relative

# The picture of each chapter: lesson and step.
FACES = {
    1: ("12_device_mesh", "who-talks"), 2: ("22_ring", "first-round"), 3: ("32_batch_sizes", "pipeline"), 4: ("42_ddp", "average"),
    5: ("52_zero", "stage2"), 6: ("63_hsdp", "gather"), 7: ("77_cp", "ring"), 8: ("84_dead_rank", "lost"),
    9: ("91_comparison", "memory"), 10: ("103_mfu", "bubble"),
}

# What the package for Python is tried with.
PYTHON = "python3 -c 'import meshscope; print(meshscope.open(\"hsdp.mscope\").collectives()[0])'"


def face(site, words, number, lessons, page):
    """The chapter's picture, or the first lesson's first one where the site has not that lesson."""
    name, step_id = FACES.get(number, ("", ""))
    lesson = next((lesson for lesson in lessons if lesson.name == name), lessons[0])
    steps = lesson.data["steps"]
    step = next((step for step in steps if step["id"] == step_id), steps[0])
    told = step["pictures"][words.language]["answered"]
    image = picture_image(site, words, page, lesson, step, told["file"], told["scene"][:2])
    link = relative(f"{lesson.page(words.language)}#{step['id']}", page)
    return f'<a class="face" href="{link}">{image}</a>'


def chapter(site, words, number, lessons, page):
    items = []
    for lesson in lessons:
        first = marks.inline(lesson.goals(words.language).split("\n")[0].removeprefix("- "))
        link = f'<a href="{relative(lesson.page(words.language), page)}">{marks.inline(lesson.full_title(words.language))}</a>'
        items.append(f'<li>{link}<span class="goal">{first}</span></li>')
    title = html.escape(site.chapters[words.language][number])
    return f"""<section class="chapter" id="chapter-{number}" aria-labelledby="chapter-{number}-title">
<div class="words">
<p class="count">{words.html('chapter', number=number)}</p>
<h2 id="chapter-{number}-title">{title}</h2>
<ol class="lessons">{''.join(items)}</ol>
</div>
{face(site, words, number, lessons, page)}
</section>"""


def front(site, words):
    language, page = words.language, f"{words.language}/index.html"
    by_chapter = {}
    for lesson in site.lessons:
        by_chapter.setdefault(lesson.chapter, []).append(lesson)
    chapters = "\n".join(chapter(site, words, number, lessons, page) for number, lessons in sorted(by_chapter.items()))
    if site.live:
        target = relative("meshscope.html", page) + f"#lang={language}"
        live = f'<a class="button" href="{target}">{words.html("open_live")}</a>'
        note = f'<p class="caption">{words.html("open_live_note")}</p>'
    else:
        live, note = "", f'<p class="note">{marks.inline(words("no_live"))}</p>'
    first = relative(site.lessons[0].page(language), page)
    ways = [
        ("way_page", "meshscope.html" if site.live else "scripts/web"),
        ("way_packages", "scripts/package\napt install ./out/meshscope_*.deb ./out/meshscope-app_*.deb\nmeshscope-app"),
        ("way_python", "pip install out/python/meshscope-*.whl\n" + PYTHON),
        ("way_build", "scripts/demo"),
    ]
    cards = ""
    for key, code in ways:
        text = marks.inline(words(f"{key}_text"))
        cards += f'<li><h3>{words.html(key)}</h3><p>{text}</p><pre tabindex="0"><code>{html.escape(code)}\n</code></pre></li>'
    return f"""<div class="front">
<section class="hero" aria-labelledby="meshscope">
<h1 id="meshscope">Meshscope</h1>
<p class="lead">{words.html('sentence')}</p>
<p>{words.html('intro', lessons=len(site.lessons))}</p>
<p class="buttons">{live}<a class="button second" href="{first}">{words.html('first_lesson', number=site.lessons[0].number)}</a></p>
{note}
</section>
{chapters}
<section class="ways" aria-labelledby="ways"><h2 id="ways">{words.html('ways')}</h2><ul>{cards}</ul></section>
</div>"""


def docs_list(words, documents, titles, page):
    items = []
    for document in documents:
        title, first = titles[document.name]
        english = document.language(words.language) != words.language
        tag = ' lang="en"' if english else ""
        link = f'<a{tag} href="{relative(document.page(words.language), page)}">{html.escape(title)}</a>'
        items.append(f'<li>{link}<span class="goal"{tag}>{html.escape(first)}</span></li>')
    return f"""<div class="document"><article>
<h1>{words.html('docs')}</h1>
<p>{words.html('docs_intro')}</p>
<ul class="lessons">{''.join(items)}</ul>
</article></div>"""


def glossary_page(site, words, sections, rest_html):
    """The terms, each with an anchor; records for the search."""
    language = words.language
    other = "zh" if language == "en" else "en"
    tag = "zh-CN" if other == "zh" else "en"
    parts, records = [], []
    for section in sections:
        rows = []
        for term in section.terms:
            own, foreign = (term.english, term.chinese) if language == "en" else (term.chinese, term.english)
            also = f' <span class="also" lang="{tag}">{html.escape(foreign)}</span>' if foreign != own else ""
            rows.append(f'<div id="{term.id}"><dt>{html.escape(own)}{also}</dt><dd>{marks.inline(term.meaning[language])}</dd></div>')
            records.append((term.id, f"{own} · {foreign}" if foreign != own else own, term.meaning[language]))
        parts.append(f"<section><h2>{html.escape(section.title[language])}</h2><dl class=\"terms\">{''.join(rows)}</dl></section>")
    main = f"""<div class="document"><article>
<h1>{words.html('glossary')}</h1>
<p>{words.html('glossary_intro')}</p>
{''.join(parts)}
{rest_html}
</article></div>"""
    return main, records


def search_page(words):
    data = ""
    for key in ("search_none", "search_found", "search_more"):
        data += f' data-{key.replace("_", "-")}="{words.html(key)}"'
    return f"""<div class="document"><article class="search"{data}>
<h1>{words.html('search')}</h1>
<form role="search"><label for="query">{words.html('search_field')}</label>
<input id="query" name="q" type="search" autocomplete="off" spellcheck="false"></form>
<p class="caption">{words.html('search_hint')}</p>
<p id="found" role="status" aria-live="polite"></p>
<ol id="results" class="results"></ol>
<noscript><p>{words.html('search_no_script')}</p></noscript>
</article></div>"""


def choose_page(site):
    """index.html: goes to the browser's language, or the one that was chosen last; without scripts one is chosen."""
    links = ""
    for language in site.languages:
        words = site.words[language]
        tag = words("html_lang")
        links += f'<li lang="{tag}"><a class="button" data-language="{language}" href="{language}/index.html">{words.html("language")}</a><p>{words.html("tagline")}</p></li>'
    return f'<div class="choose" data-languages="{" ".join(site.languages)}"><h1>Meshscope</h1><ul>{links}</ul></div>'
