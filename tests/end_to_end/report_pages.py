#!/usr/bin/env python3
"""Opens pages of firn report in headless Chromium, over the pipes of its debugging protocol, and looks at them.

    report_pages.py CHROMIUM LOGS WORDS PAGE...

Each page must show its charts without a message on the console, in light and in dark colours and on a narrow screen, and
answer the keyboard. LOGS gets a picture of each. WORDS is a file with
what pages must say: lines of a page, an expression of JavaScript and its value as JSON, with tabs between. What is wrong is printed, one line each; the exit code then is 1."""
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time

SECONDS = 60  # for an answer of the browser


class Browser:
    """Chromium, which reads commands from descriptor 3 and answers on descriptor 4; each ends with a zero."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.answers, to_write = os.pipe()

        def connect():
            # The copies keep a number apart from 3 and 4 until both are in place.
            first, second = os.dup2(to_read, 30), os.dup2(to_write, 40)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=connect)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit("report_pages: no answer of the browser")
            part = os.read(self.answers, 1 << 20)
            if not part:
                sys.exit("report_pages: the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"report_pages: {method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event):
        while not any(one.get("method") == event for one in self.events):
            self.events.append(self.receive())

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            return "exception: " + result["exceptionDetails"].get("exception", {}).get("description", "?")
        return result["result"].get("value")

    def begin_page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return target

    def end_page(self, target):
        self.session = None
        self.call("Target.closeTarget", targetId=target)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path, whole):
        box = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"clip": {"x": 0, "y": 0, "width": box["width"], "height": box["height"], "scale": 1}} if whole else {}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def end(self):
        self.call("Browser.close")
        self.process.wait(SECONDS)


# The share of the pixels of each chart that something is drawn on.
DRAWN = """[...document.querySelectorAll('canvas')].map(canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let drawn = 0;
    for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
    return drawn / (pixels.length / 4);
})"""
BACK = "getComputedStyle(document.documentElement).backgroundColor"


def messages(browser):
    """What the browser has complained of, and each address that the page asked for."""
    for event in browser.events:
        method, said = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            yield "exception: " + said["exceptionDetails"].get("exception", {}).get("description", said["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            yield "console: " + " ".join(str(one.get("value", one.get("description"))) for one in said["args"])
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            yield "log: " + said["entry"]["text"]
        elif method == "Network.requestWillBeSent" and not said["request"]["url"].startswith("file:"):
            yield "asks for " + said["request"]["url"]


def look(browser, page, logs):
    """Returns what is wrong with a page."""
    name = os.path.splitext(os.path.basename(page))[0]
    wrong = []
    browser.events = []
    target = browser.begin_page()
    browser.size(1200, 800)
    browser.colours("light")
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    browser.wait_for("Page.loadEventFired")
    charts = browser.value(DRAWN)
    if not isinstance(charts, list) or not charts or min(charts) < 0.005:
        wrong.append(f"charts are missing or empty: {charts}")
    if browser.value("document.querySelectorAll('.card').length") != 3:
        wrong.append("the three answers are missing")
    if browser.value("document.querySelector('.cards').getBoundingClientRect().bottom") > 800:
        wrong.append("the answers are not on the first screen")
    links = browser.value("[...document.querySelectorAll('nav a')].every(link => document.querySelector(link.getAttribute('href')))")
    if links is not True:
        wrong.append("a link leads nowhere")
    for text in ("undefined", "[object", "NaN"):
        if browser.value(f"document.body.innerText.includes({json.dumps(text)})"):
            wrong.append(f"the text has {text}")
    browser.picture(f"{logs}/{name}.png", False)
    browser.picture(f"{logs}/{name}-whole.png", True)
    light = browser.value(BACK)

    # The keyboard: Tab comes to a chart, and arrows say its values; Escape takes the point away.
    at = None
    for _ in range(40):
        browser.press("Tab", 9)
        at = browser.value("document.activeElement.tagName")
        if at == "CANVAS":
            break
    if at != "CANVAS":
        wrong.append("Tab comes to no chart")
    browser.press("ArrowLeft", 37)
    before = browser.value("document.getElementById('said').textContent")
    browser.press("Home", 36)
    after = browser.value("document.getElementById('said').textContent")
    if not before or "step" not in before or before == after:
        wrong.append(f"arrow keys say nothing of a chart: {before!r}, {after!r}")
    browser.press("Escape", 27)
    if browser.value("document.querySelectorAll('input[type=range]').length") == 1:
        told = "document.querySelector('input[type=range]').getAttribute('aria-valuetext')"
        browser.value("document.querySelector('input[type=range]').focus()")
        before = browser.value(told)
        browser.press("ArrowLeft", 37)
        if browser.value(told) == before:
            wrong.append("arrow keys do not move through the memory")
    if browser.value("document.querySelectorAll('.tree summary').length"):
        browser.value("document.querySelector('.tree summary').focus()")
        browser.press("Enter", 13)
        if not browser.value("document.querySelector('.tree details').open") and not browser.value(
                "(document.querySelector('.tree summary').click(), document.querySelector('.tree details').open)"):
            wrong.append("a layer does not open")
        browser.value("[...document.querySelectorAll('.tree details')].forEach(one => { one.open = true; })")

    browser.colours("dark")
    if browser.value(BACK) == light:
        wrong.append("dark is light")
    browser.picture(f"{logs}/{name}-dark.png", False)
    browser.size(360, 740)
    end = time.monotonic() + SECONDS
    while (wide := browser.value("document.documentElement.scrollWidth")) > 360 and time.monotonic() < end:
        time.sleep(0.1)  # charts follow the size of the window when it has been drawn anew
    if wide > 360:
        wrong.append(f"a narrow screen of 360 pixels scrolls sideways: {wide}")
    browser.picture(f"{logs}/{name}-narrow.png", True)
    wrong += messages(browser)
    browser.end_page(target)
    return wrong


def open_page(browser, page):
    target = browser.begin_page()
    browser.events = []
    browser.size(1200, 800)
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    browser.wait_for("Page.loadEventFired")
    return target


def compare_words(browser, path):
    """Yields what pages say other than a file wants."""
    with open(path, encoding="utf-8") as file:
        wanted = [line.rstrip("\n").split("\t") for line in file]
    for page in dict.fromkeys(page for page, _, _ in wanted):
        target = open_page(browser, page)
        for _, script, value in (one for one in wanted if one[0] == page):
            got = browser.value(script)
            if got != json.loads(value):
                yield f"{page}: {script} is {json.dumps(got)}, not {value}"
        yield from (f"{page}: {one}" for one in messages(browser))
        browser.end_page(target)


def main(program, logs, words, *pages):
    failures = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        for page in pages:
            for one in look(browser, page, logs):
                print(f"{page}: {one}")
                failures += 1
        for one in compare_words(browser, words):
            print(one)
            failures += 1
        browser.end()
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
