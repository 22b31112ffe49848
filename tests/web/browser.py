"""A headless Chromium, spoken to over pipes: no port, no package beyond Python's own."""
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
             "--hide-scrollbars", "--force-device-scale-factor=1"]


class Browser:
    def __init__(self, width=1280, height=720, language="en", arguments=()):
        self.profile = tempfile.mkdtemp(prefix="meshscope-browser-")
        self.downloads = pathlib.Path(self.profile) / "downloads"
        self.downloads.mkdir()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def place():
            # The pipes are to be 3 and 4; a copy first, so that neither is overwritten by the other.
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        command = ["chromium", *ARGUMENTS, f"--window-size={width},{height}", f"--lang={language}", f"--accept-lang={language}",
                   f"--user-data-dir={self.profile}", "--remote-debugging-pipe", *arguments, "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "LANGUAGE": language, "LANG": "C.UTF-8"})
        os.close(theirs_in)
        os.close(theirs_out)
        self.read_from, self.write_to = ours_in, ours_out
        self.buffer, self.number = b"", 0
        self.events, self.session = [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_from], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read_from, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout_s=120, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout_s
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer.get("result", {})
            self.events.append(answer)

    def evaluate(self, expression, timeout_s=120):
        got = self.call("Runtime.evaluate", timeout_s, expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(json.dumps(got["exceptionDetails"])[:2000])
        return got["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def wait(self, expression, timeout_s=60):
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            try:
                value = self.evaluate(expression)
            except RuntimeError:
                value = None
            if value:
                return value
            time.sleep(0.05)
        raise TimeoutError(f"in {timeout_s} s it did not come to: {expression}")

    def key(self, key, code=None, modifiers=0):
        number = ord(key.upper()) if len(key) == 1 else {"ArrowRight": 39, "ArrowLeft": 37, "Enter": 13, "Escape": 27, "Tab": 9}[key]
        common = {"key": key, "code": code or ("Key" + key.upper() if key.isalpha() and len(key) == 1 else key),
                  "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number, "modifiers": modifiers}
        text = {"text": key} if len(key) == 1 and modifiers == 0 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.frames(2)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.frames(2)

    @contextlib.contextmanager
    def held(self, key):
        common = {"key": key, "code": key + "Left", "windowsVirtualKeyCode": {"Control": 17, "Shift": 16}[key]}
        self.call("Input.dispatchKeyEvent", type="rawKeyDown", **common)
        yield
        self.frames(2)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def frames(self, count):
        """Waits for so many frames: ImGui sees a key only where it is down in one."""
        self.evaluate(f"(async () => {{ for (let i = 0; i < {count}; ++i) await new Promise(requestAnimationFrame); }})()")

    def click(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frames(2)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            self.frames(2)

    def wheel(self, x, y, down):
        """So many CSS pixels, 100 a notch, with the pointer there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frames(2)
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)
        self.frames(4)

    def fingers(self, kind, *points):
        """touchStart, touchMove, touchEnd (with none), and a frame that sees it."""
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])
        self.frames(2)

    def has_touch(self):
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)

    def picture(self, path):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        pathlib.Path(path).write_bytes(data)
        return data

    def console(self):
        """What was written to the console so far, exceptions included."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.consoleAPICalled":
                found.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:1500])
            elif event.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
