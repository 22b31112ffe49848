#!/usr/bin/env python3
"""Opens out/web/meshscope.html from the disk in Firefox ESR on a virtual display, at a lesson, and looks at the screen: the lesson
must have run, which the window's title tells, and something must be drawn. Needs Debian's firefox-esr, xvfb, xdotool, ffmpeg."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

WIDTH, HEIGHT = 1280, 720
PREFERENCES = """user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("app.update.enabled", false);
user_pref("webgl.force-enabled", true);
"""


def display():
    """A virtual display of its own, by the number that the server chose."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"],
                              pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as told:
        return server, ":" + told.readline().strip()


def screen(where):
    """The pixels, RGB."""
    return subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "x11grab", "-video_size", f"{WIDTH}x{HEIGHT}", "-i", where, "-frames:v", "1",
                           "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True).stdout


def colours(pixels):
    return len({pixels[i:i + 3] for i in range(0, len(pixels), 3 * 7)})


def opened(title, environment, timeout_s):
    """Whether a window of that title came."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if subprocess.run(["xdotool", "search", "--name", title], env=environment, capture_output=True).stdout.strip():
            return True
        time.sleep(0.2)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, default=pathlib.Path("out/web/pictures"))
    parser.add_argument("--timeout", type=float, default=240, metavar="SECONDS")
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    address = options.page.resolve().as_uri() + "#lesson=hsdp&step=2&lang=en"
    with tempfile.TemporaryDirectory(prefix="meshscope-firefox-", ignore_cleanup_errors=True) as profile:
        (pathlib.Path(profile) / "user.js").write_text(PREFERENCES)
        server, where = display()
        environment = {**os.environ, "DISPLAY": where, "HOME": profile, "LIBGL_ALWAYS_SOFTWARE": "1", "MOZ_CRASHREPORTER_DISABLE": "1"}
        began = time.monotonic()
        firefox = subprocess.Popen(["firefox-esr", "--no-remote", "--profile", profile, "--kiosk", address], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            told = opened("Meshscope · 63_hsdp", environment, options.timeout)
            took = time.monotonic() - began
            # The title comes with the first picture of the lesson; it stands on the screen within a moment.
            end, seen = time.monotonic() + 30, 0
            while told and seen < 40 and time.monotonic() < end:
                seen = colours(screen(where))
            subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-f", "x11grab", "-video_size", f"{WIDTH}x{HEIGHT}", "-i", where, "-frames:v", "1",
                            options.pictures / "firefox.png"], check=True)
        finally:
            firefox.kill()
            firefox.wait()
            server.kill()
            server.wait()
    print(f"        Firefox: lesson run and open after {took:.1f} s, {seen} colours on the screen")
    for what, holds in (("Firefox opens the lesson from the disk", told), ("and draws it", seen >= 40)):
        print(f"{'ok     ' if holds else 'FAILED '} {what}")
    return 0 if told and seen >= 40 else 1


if __name__ == "__main__":
    sys.exit(main())
