#!/usr/bin/env python3
"""The page that `steptime report` writes, in headless Chromium: no error on the console, nothing asked
for beside the file, every chart drawn, and nothing wider than the screen or too small to read or in a box that
scrolls, and no name in a picture of a machine on another one, at 1280, 700 and 400 CSS pixels. Exit code 77 where Chromium or Vega is not there.

    report_browser_test.py STEPTIME [FOLDER]     FOLDER: gets the pages and pictures of them
"""
import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# A sweep over two axes, one with points that fail; a node with links, in messages; an engine with several tracks; jobs; a layout.
CONFIGS = {
    "sweep": ["configs/quickstart.json", "--set", "/cluster/nodes=16", "--set", "/strategy/schedule/type=mg-wfbp"],
    "gaps": ["configs/quickstart.json", "--set", '/strategy/schedule={"type": "fixed-buckets", "capacity": "1 MiB"}',
             "--set", '/sweep={"/strategy/schedule/capacity": ["1 MiB", "2 MiB", "2.3 MiB", "4 MiB", "8 MiB", "90.3 MiB"]}'],
    "node": ["configs/papers/mxnet-tree/end-to-end.json"],
    "engine": ["configs/papers/mxnet-dag/resnet50.json"],
    "jobs": ["configs/examples/two-jobs.json"],
    "layout": ["configs/examples/llama3-70b-3d.json"],
}
WIDTHS = (1280, 700, 400)
# What the line of perfect scaling keeps, of nodes and ms: 256 samples of all replicas of the layout take half of the
# time on twice as many, but for the bubble, which is more of fewer micro-batches; each GPU's own samples of the sweep take as long on any number.
KEEPS = {"layout": lambda nodes, ms: nodes * ms, "sweep": lambda nodes, ms: ms}
SAYS = {
    "gaps": ["6 points over capacity, 2 of them failed."],
    "jobs": ["2 jobs on 8 nodes", "resnet50 beside the others", "vgg16 beside the others", "vgg16 alone", "2, 3, 6, 7",
             "A timeline is drawn of the first job alone", "8 links of 12 GB/s and 1 of 3 GB/s.", "leaf0", "leaf1"],
    "layout": ["A replica is 32 GPUs (tensor 4, pipeline 4, context 2)", "All replicas share the 256 samples of a step",
               "What they carry is not known link by link."],
    "sweep": ["Each GPU has as many samples in a step on any number of nodes.", "Of these the load of the busiest is known",
              "Where the step jumps"],
}
# Parts of the line and the band of a sweep's steps, and the ends of their axis, whose margins are small, as powers of
# two: 2.3 MiB and 90.3 MiB are no whole numbers of bytes, so that their points fail.
PARTS = {"gaps": {"lines": 2, "areas": 2, "reach": [20, 23]}}
SMALLEST_TEXT = 10.5  # CSS pixels


class Browser:
    """Chromium, driven over a pipe by its DevTools protocol: one message of JSON, then a NUL."""

    def __init__(self, program, folder):
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()

        def as_three_and_four():  # the numbers that Chromium expects; the pipe's may be among them
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=as_three_and_four)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, event):
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self.message())

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")


# What stands on the page: charts with their marks, how far it reaches, texts that are too small or that the
# screen cuts off.
LOOK = """(async () => {
  await new Promise((done) => setTimeout(done, 300));
  const width = document.documentElement.clientWidth;
  const charts = [...document.querySelectorAll("figure")].map((f) => ({
    name: f.getAttribute("aria-label"),
    marks: f.querySelectorAll("svg path[d], svg rect, svg line, svg text").length,
    scrolls: [...f.querySelectorAll("*")].some((e) => /auto|scroll/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth),
    wide: f.querySelector("svg") ? f.querySelector("svg").getBoundingClientRect().right : 0}));
  const texts = [...document.querySelectorAll("svg text")].filter((t) => t.textContent.trim() !== "" && t.getBoundingClientRect().width > 0);
  const small = texts.filter((t) => parseFloat(getComputedStyle(t).fontSize) < %g).map((t) => t.textContent);
  const cut = texts.filter((t) => { const b = t.getBoundingClientRect(); const f = t.closest("figure").getBoundingClientRect();
    return b.left < f.left - 1 || b.right > f.right + 1; })
    .map((t) => [t.closest("figure").getAttribute("aria-label"), t.textContent]);
  const covered = [...document.querySelectorAll("figure")].filter((f) => /^(The inside|What connects)/.test(f.getAttribute("aria-label")))
    .flatMap((f) => {
      const names = texts.filter((t) => f.contains(t) && !t.textContent.endsWith("%%")).map((t) => [t.textContent, t.getBoundingClientRect()]);
      return names.flatMap(([one, a], i) => names.slice(0, i).filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(([other]) => [one, other]));
    });
  const ideal = (drawn.find((d) => d.name === "step-time")?.view.data("ideal") ?? []).map((r) => [r.x, r.y]);
  const said = document.getElementById("page").textContent;
  const steps = drawn.find((d) => d.name === "sweep-step-time");
  const partsOf = (mark) => [...(steps?.at.querySelectorAll(`svg .mark-${mark} path`) ?? [])]
    .reduce((sum, path) => sum + path.getAttribute("d").split("M").length - 1, 0);
  const parts = {lines: partsOf("line"), areas: partsOf("area"), reach: steps?.view.scale("x").domain().map((n) => Math.round(Math.log2(n)))};
  return {ideal, parts, said, width, reach: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight, charts, small, cut, covered};
})()""" % SMALLEST_TEXT


def check(browser, page, width, picture):
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait("Page.loadEventFired")
    seen = browser.value(LOOK)
    faults = []
    for event in browser.events:
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            faults.append(f"console: {params['exceptionDetails'].get('exception', {}).get('description', params)}")
        if kind == "Log.entryAdded":
            faults.append(f"console: {params['entry']['text']}")
        if kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            faults.append(f"console: {json.dumps(params['args'])[:400]}")
        if kind == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if url != page.as_uri() and not url.startswith(("data:", "blob:")):
                faults.append(f"asks for {url}")
    if seen["reach"] > seen["width"]:
        faults.append(f"is {seen['reach']} pixels wide")
    if len(seen["charts"]) < 5:
        faults.append(f"has {len(seen['charts'])} charts")
    faults += [f"chart \"{c['name']}\" is empty" for c in seen["charts"] if c["marks"] < 3]
    faults += [f"chart \"{c['name']}\" is cut off" for c in seen["charts"] if c["wide"] > seen["width"] + 1]
    if page.stem in KEEPS:
        kept = [KEEPS[page.stem](*point) for point in seen["ideal"]]
        if len(kept) < 2 or max(kept) > 1.05 * min(kept):
            faults.append(f"the line of perfect scaling is {seen['ideal']}")
    if seen["parts"] != PARTS.get(page.stem, seen["parts"]):
        faults.append(f"the sweep's steps are in {seen['parts']}")
    faults += [f"does not say \"{words}\"" for words in SAYS.get(page.stem, []) if words not in seen["said"]]
    faults += [f"chart \"{c['name']}\" scrolls" for c in seen["charts"] if c["scrolls"]]
    faults += [f"text \"{t}\" is too small" for t in seen["small"]]
    faults += [f"text \"{t}\" of \"{name}\" is cut off" for name, t in seen["cut"]]
    faults += [f"names \"{one}\" and \"{other}\" are on each other" for one, other in seen["covered"]]
    if picture:
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": seen["height"], "scale": 1})
        picture.write_bytes(base64.b64decode(shot["data"]))
    print(f"{page.stem} at {width}: {len(seen['charts'])} charts, {seen['height']} pixels high")
    return [f"{page.stem} at {width}: {fault}" for fault in faults]


def main():
    steptime = pathlib.Path(sys.argv[1]).resolve()
    chromium = shutil.which("chromium")
    if not chromium:
        print("chromium is not there: the report's page is not tested")
        return 77
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        browser = None
        for name, args in CONFIGS.items():
            page = folder / f"{name}.html"
            run = subprocess.run([steptime, "report", *args, "-o", page], cwd=ROOT, capture_output=True, text=True)
            if run.returncode == 6:
                print(run.stderr.strip())
                return 77
            if run.returncode != 0:
                faults.append(f"{name}: {run.stderr.strip()}")
                continue
            if browser is None:
                browser = Browser(chromium, f"{scratch}/profile")
                target = browser.call("Target.createTarget", url="about:blank")["targetId"]
                browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
                for part in ("Page", "Runtime", "Log", "Network"):
                    browser.call(f"{part}.enable")
            for width in WIDTHS:
                faults += check(browser, page, width, len(sys.argv) > 2 and folder / f"{name}-{width}.png")
        if browser:
            browser.session = None
            browser.call("Browser.close")
            browser.process.wait(30)
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
