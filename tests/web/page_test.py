#!/usr/bin/env python3
"""Opens out/web/meshscope.html from the disk in a headless Chromium and uses it as a reader does: a lesson, its steps, a run of
one's own, ranks held, the other language, files out and in. Says what it measured. Needs nothing beyond Debian's chromium."""
import argparse
import base64
import functools
import http.server
import json
import pathlib
import sys
import threading
import time

from browser import Browser

STATE = "/state.json"
allowed = []  # addresses that a case opened besides the page


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Page:
    """The page as the window tells of itself (--dump-state): what is shown, and where each control lies."""

    def __init__(self, browser, file, link=""):
        self.browser = browser
        browser.open("about:blank")
        browser.open(f"{file if isinstance(file, str) else file.as_uri()}#{link}&state={STATE}")
        browser.wait("typeof Module === 'object' && Module.running", 120)

    def state(self):
        return json.loads(self.browser.evaluate(f"FS.readFile('{STATE}', {{encoding: 'utf8'}})"))

    def until(self, what, holds, timeout_s=60):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            state = self.state()
            if state["error"]:
                raise AssertionError(f"{what}: {state['error']}")
            if holds(state):
                return state
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {timeout_s} s")

    def press(self, control):
        self.until(f"the control {control}", lambda state: control in state["boxes"])
        x, y, width, height = self.state()["boxes"][control]
        self.browser.click(x + width / 2, y + height / 2)

    def frames_per_s(self, seconds=3):
        first, begin = self.browser.evaluate("[Module.marks.frames, performance.now()]")
        time.sleep(seconds)
        last, end = self.browser.evaluate("[Module.marks.frames, performance.now()]")
        return (last - first) * 1000 / (end - begin)


def opened(state):
    return state["document"] and not state["loading"]


def check(what, holds):
    if not holds:
        raise AssertionError(what)
    print(f"ok      {what}")


def lesson(browser, file, pictures):
    began = time.monotonic()
    page = Page(browser, file, "lesson=hsdp")
    marks = browser.evaluate("Module.marks")
    print(f"        first picture after {marks['first'] / 1000:.1f} s")
    page.until("the lesson is open", opened)
    print(f"        lesson run and open after {time.monotonic() - began:.1f} s")
    check("a link opens its lesson", page.state()["document"] == "63_hsdp")
    browser.picture(pictures / "lesson.png")

    page.press("lesson_on")
    state = page.until("the second step", lambda s: s["lesson_step"] == 1 and not s["moving"])
    check("a step brings its view", state["view"] == "collective")
    browser.key("ArrowRight")
    check("a key steps one hop", page.until("a hop", lambda s: s["cursor_ns"] != state["cursor_ns"])["view"] == "collective")
    browser.picture(pictures / "step.png")

    # Texts follow the picture by a moment, on a busy machine by a longer one.
    browser.wait("(text => text.includes('Forward gathers') && text.includes('all_gather'))(document.getElementById('told').textContent)")
    print("ok      the step and its view are told as text")
    browser.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    with browser.held("Control"), browser.held("Shift"):
        browser.key("L", modifiers=10)
    link = browser.wait("window.copied")
    check("a link to what is on show is copied", link.startswith(f"file://{file}#lesson=hsdp&") and "&step=2&" in link)

    page.press("play")
    print(f"        {page.frames_per_s():.0f} frames a second while it plays")
    page.press("play")
    page.press("language0")
    check("the language changes", page.until("Chinese", lambda s: s["language"] == "zh")["language"] == "zh")
    time.sleep(0.5)
    browser.picture(pictures / "chinese.png")
    page.press("language1")

    page = Page(browser, file, link.split("#")[1])
    again = page.until("what the link names", lambda s: opened(s) and s["lesson_step"] == 1)
    check("the link leads there", again["view"] == "collective" and again["selection"]["event"] == state["selection"]["event"])


def runs(browser, file, pictures):
    page = Page(browser, file, "lesson=hsdp&step=1")
    page.until("the lesson is open", opened)
    change_mesh(page)
    page.press("sandbox.at.run")
    state = page.until("a run of one's own", lambda s: len(s["runs"]) == 2 and not s["running"])
    check("a changed scenario really runs", state["front"] == 1)
    browser.picture(pictures / "sandbox.png")
    page.press("sandbox.at.live")
    page.until("ranks held", lambda s: s["live"] and not s["live"]["going"])
    page.press("live.at.hop.0")
    state = page.until("a hop of a held rank", lambda s: s["live"] and s["live"]["acts"] > 0)
    check("held ranks go on one by one", not state["live"]["ended"])
    browser.picture(pictures / "held.png")
    page.press("live.at.all")
    check("held ranks come to their end", page.until("the end", lambda s: s["live"] and s["live"]["ended"])["live"]["ended"])


def files(browser, file, pictures):
    page = Page(browser, file, "lesson=hsdp&lang=en")
    page.until("the lesson is open", opened)
    # A record made elsewhere, dropped: the schedule of a pipeline is the smallest there is.
    text = "".join(f"{line}\n" for line in ("0F0,0F1,0B0,0B1", ",1F0,1F1,1B0,1B1")).replace("\n", "\\n")
    browser.evaluate(f"""(() => {{
      const files = new DataTransfer();
      files.items.add(new File(["{text}"], 'schedule.csv'));
      const canvas = document.getElementById('canvas');
      for (const kind of ['dragover', 'drop'])
        canvas.dispatchEvent(new DragEvent(kind, {{dataTransfer: files, bubbles: true, cancelable: true}}));
    }})()""")
    state = page.until("what was dropped", lambda s: len(s["runs"]) == 2)
    check("a dropped file opens beside the lesson", state["runs"][1]["name"] == "GPipe · schedule.csv")
    page.press("export")
    page.until("the export's sheet", lambda s: s["export_sheet"])
    browser.picture(pictures / "export.png")
    page.press("export_go")
    end = time.monotonic() + 60
    while not (found := list(browser.downloads.glob("*.png"))) and time.monotonic() < end:
        time.sleep(0.1)
    check("an export is a download", found and found[0].read_bytes().startswith(b"\x89PNG"))


def exported(browser, file, pictures):
    page = Page(browser, file, "lesson=hsdp&step=3&lang=zh&theme=light")
    page.until("the lesson is open", opened)
    made = export_page(page, browser)
    check("the page gives a page with the run in it", made.stat().st_size > file.stat().st_size)
    began = time.monotonic()
    own = Page(browser, made)
    state = own.until("the record opens by itself", opened)
    print(f"        its record is open after {time.monotonic() - began:.1f} s")
    check("at the step, view, language and theme that were on show, with its lesson",
          (state["lesson_step"], state["view"], state["language"], state["theme"]) == (2, "memory", "zh", "light")
          and state["runs"][0]["name"] == "63_hsdp.mscope")
    browser.picture(pictures / "exported.png")
    own = Page(browser, made, "view=mesh&lang=en")
    state = own.until("the record again", opened)
    check("a link's words go before the page's", (state["view"], state["language"]) == ("mesh", "en"))


def export_page(page, browser):
    """Presses through the export's sheet; the page that was downloaded."""
    page.press("export")
    page.until("the export's sheet", lambda s: s["export_sheet"])
    page.press("export_format4")
    page.press("export_go")
    end = time.monotonic() + 60
    while not (found := list(browser.downloads.glob("*.html"))) and time.monotonic() < end:
        time.sleep(0.1)
    if not found:
        raise AssertionError("no page was downloaded")
    allowed.append(found[0].as_uri())
    return found[0]


def hosted(browser, file, pictures):
    serve = functools.partial(Quiet, directory=file.parent / "split")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}/"
        allowed.append(host)
        began = time.monotonic()
        page = Page(browser, host + "meshscope.html", "lesson=hsdp&lang=en")
        page.until("the lesson is open", opened)
        print(f"        from a host, in parts: lesson run and open after {time.monotonic() - began:.1f} s")
        asked = {url.partition("#")[0].rpartition("/")[2].partition(".")[2].partition(".")[0] for url in browser.requests() if url.startswith(host)}
        check("its parts came as files", asked == {"html", "program", "files"})
        browser.wait("FS.analyzePath('/meshscope.html').exists")
        own = export_page(page, browser)
        server.shutdown()
    Page(browser, own).until("the exported page without the host", opened)
    print("ok      what it exports opens from the disk, alone")


def touched(browser, file, pictures):
    browser.has_touch()
    page = Page(browser, file, "lesson=hsdp&view=timeline&lang=en&reduced-motion")
    page.until("the lesson is open", opened)

    def span():
        begin, end = page.state()["range"]
        return (end - begin) or page.state()["end_ns"]

    whole = span()
    browser.fingers("touchStart", (400, 300), (440, 300))
    browser.fingers("touchMove", (380, 300), (460, 300))
    browser.fingers("touchMove", (340, 300), (500, 300))
    browser.fingers("touchEnd")
    state = page.until("a closer range", lambda s: 0 < s["range"][1] - s["range"][0] < 0.6 * whole)
    closer, begin = span(), state["range"][0]
    browser.fingers("touchStart", (400, 300), (440, 300))
    browser.fingers("touchMove", (380, 300), (420, 300))
    browser.fingers("touchMove", (340, 300), (380, 300))
    browser.fingers("touchEnd")
    state = page.until("a later range", lambda s: s["range"][0] > begin)
    check("two fingers zoom and move the timeline", abs(span() - closer) <= 2)
    browser.picture(pictures / "touched.png")
    x, y, width, height = state["boxes"]["lesson_on"]
    middle = (x + width / 2, y + height / 2)
    browser.fingers("touchStart", middle)
    time.sleep(0.8)  # a finger that rests is no press
    browser.fingers("touchEnd")
    browser.frames(5)
    check("a finger that rests presses nothing", page.state()["lesson_step"] == 0)
    browser.fingers("touchStart", middle)
    browser.fingers("touchEnd")
    page.until("the second step", lambda s: s["lesson_step"] == 1)
    print("ok      a tap presses")


def wheeled(browser, file, pictures):
    page = Page(browser, file, "lesson=hsdp&view=timeline&lang=en&reduced-motion&step=4")
    state = page.until("the lesson is open", opened)

    def span():
        begin, end = page.state()["range"]
        return (end - begin) or page.state()["end_ns"]

    whole = span()
    browser.wheel(640, 400, -100)
    page.until("a notch up zooms by a notch", lambda s: 0.7 * whole < s["range"][1] - s["range"][0] < 0.9 * whole)
    browser.wheel(640, 400, 100)
    page.until("a notch down takes it back", lambda s: not s["range"][1] or s["range"][1] - s["range"][0] > 0.95 * whole)
    place = lambda s: s["boxes"]["prefetched.number"][1]  # the question's field, in the lesson's column
    x, y = state["boxes"]["prefetched.number"][0] + 20, 300
    before = place(page.state())
    browser.wheel(x, y, 100)
    down = place(page.until("the column scrolls on", lambda s: place(s) < before - 10))
    check("a notch is no page", before - down < 200)
    browser.wheel(x, y, -100)
    page.until("and back", lambda s: place(s) > down + 10)
    browser.picture(pictures / "wheeled.png")
    print("ok      the wheel zooms and scrolls, a notch at a time")


def kept(browser, file, pictures):
    page = Page(browser, file, "lang=zh&lesson=hsdp&step=2&theme=light")
    page.until("the lesson is open", opened)
    time.sleep(3)  # settings are written every two seconds
    page = Page(browser, file)
    state = page.state()
    check("language and theme are kept", state["language"] == "zh" and state["theme"] == "light")
    browser.picture(pictures / "welcome.png")


    page = Page(browser, file, "lesson=hsdp&step=1&lang=en")
    page.until("the lesson is open", opened)
    change_mesh(page)
    page = Page(browser, file, "lang=en")
    text = page.until("a word on what was not saved", lambda s: s["toast"])["toast"]
    check("edits are kept, and where to find them is told", "kept in this browser" in text and "/" not in text)
    browser.wait(f"document.getElementById('told').textContent.includes({json.dumps(text)})")
    print("ok      a message that passes is told as text, too")
    page = Page(browser, file, "lang=en")
    check("it is told once", page.state()["toast"] is None)


def pictured(browser, file, pictures):
    """A picture that the window writes is what is on the screen: also scrolled, and with a question's numbers left out."""
    page = Page(browser, file, "lesson=hsdp&lang=en&reduced-motion&step=4")
    place = lambda s: s["boxes"]["prefetched.number"][1]
    before = place(page.until("the lesson is open", opened))
    browser.wheel(100, 300, 100)
    page.until("the column is scrolled", lambda s: place(s) < before - 10)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=60)
    browser.frames(10)
    seen = base64.b64encode(browser.picture(pictures / "seen.png")).decode()
    page.press("export")
    page.press("export_go")
    end = time.monotonic() + 60
    while not (found := list(browser.downloads.glob("*.png"))) and time.monotonic() < end:
        time.sleep(0.1)
    written = base64.b64encode(found[0].read_bytes()).decode()
    differing = browser.evaluate(f"""(async () => {{
      const pixels = async text => {{
        const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], {{type: 'image/png'}}));
        const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
        canvas.drawImage(image, 0, 0);
        return canvas.getImageData(0, 0, image.width, image.height).data;
      }};
      const [a, b] = [await pixels('{seen}'), await pixels('{written}')];
      if (a.length !== b.length) return 1;
      let differing = 0;
      for (let i = 0; i < a.length; ++i) differing += Math.abs(a[i] - b[i]) > 8;
      return differing / a.length;
    }})()""")
    check(f"a picture shows what is on the screen ({100 * differing:.3f} % differ)", differing < 1e-4)


def typed(browser, file, pictures):
    browser.has_touch()
    page = Page(browser, file, "lesson=hsdp&lang=en&reduced-motion&step=4")
    state = page.until("the lesson is open", opened)
    x, y, width, height = state["boxes"]["prefetched.number"]
    middle = (x + width / 2, y + height / 2)
    active = "document.activeElement.id"

    def answer(what, expected):
        browser.key("Enter")
        page.until(what, lambda s: s["quizzes"]["prefetched"]["missed"] == expected)
        print(f"ok      {what}")

    browser.fingers("touchStart", middle)
    browser.fingers("touchEnd")
    check("a tap on a field asks for the keyboard at once", browser.evaluate(active) == "typing")
    page.until("a field to type in", lambda s: s["typing"])
    browser.call("Input.insertText", text="41")
    answer("what a touch screen's keyboard writes arrives", "41")
    paste = """(text => {
      const data = new DataTransfer();
      data.setData('text', text);
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
    })"""
    browser.evaluate(paste + "(' 77\\n')")
    answer("what is pasted from a menu arrives", "77")
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.evaluate("navigator.clipboard.writeText('78')")
    with browser.held("Control"):
        browser.key("v", modifiers=2)
    answer("what is pasted by Ctrl+V arrives", "78")
    browser.key("5")
    browser.key("8")
    answer("what is typed arrives once", "58")
    with browser.held("Control"):
        browser.key("k", modifiers=2)
    page.until("the palette", lambda s: s["palette"] and s["typing"])
    browser.wait(f"{active} === 'typing'")
    browser.call("Input.imeSetComposition", text="liu shui", selectionStart=8, selectionEnd=8)
    browser.frames(3)
    browser.call("Input.insertText", text="流水")
    page.until("what was composed", lambda s: s["palette_query"] == "流水")
    print("ok      what an input method composes arrives once")
    browser.picture(pictures / "typed.png")
    browser.key("Escape")
    page.until("the palette is closed", lambda s: not s["palette"])
    browser.wait(f"{active} === 'canvas'")
    print("ok      after a field the window has the keyboard again")


def change_mesh(page):
    """In the sandbox: two replicas of two ranks become one of four."""
    page.press("open_sandbox")
    page.press("sandbox.at.mesh.shape")
    page.until("a field to type in", lambda s: s["typing"])
    with page.browser.held("Control"):
        page.browser.key("a", modifiers=2)
    for letter in "1, 4":
        page.browser.key(letter)
    page.browser.key("Enter")
    page.until("what was typed", lambda s: "[1, 4]" in s["sandbox"]["text"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, default=pathlib.Path("out/web/pictures"))
    parser.add_argument("--only", choices=["lesson", "runs", "files", "exported", "hosted", "touched", "wheeled", "kept", "pictured", "typed"])
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    file = options.page.resolve()
    failed = 0
    for case in (lesson, runs, files, exported, hosted, touched, wheeled, kept, pictured, typed) if not options.only else [globals()[options.only]]:
        allowed.clear()
        with Browser() as browser:
            try:
                case(browser, file, options.pictures)
                asked = [url for url in browser.requests() if not url.startswith((f"file://{file}", *allowed, "about:", "blob:", "data:"))]
                check(f"{case.__name__}: no request left the page", not asked)
                check(f"{case.__name__}: nothing was thrown", not [line for line in browser.console() if "exception" in line.lower() or "abort" in line.lower()])
            except (AssertionError, EOFError, TimeoutError, RuntimeError) as error:
                failed += 1
                browser.picture(options.pictures / f"failed_{case.__name__}.png")
                print(f"FAILED  {case.__name__}: {error}")
                for line in browser.console():
                    print("        " + line[:300])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
