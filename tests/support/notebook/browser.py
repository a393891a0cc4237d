# JupyterLab in Chromium, driven through the DevTools protocol as a person would: opens a notebook,
# runs its cells, completes, interrupts, and looks on from a second console. PICTURES names a folder
# for pictures of each state. Needs jupyterlab and websocket-client.
import atexit
import base64
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import client
from client import GPUSH, done, ok, same

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
try:
    import jupyterlab
    import nbformat
    import websocket
except ImportError as e:
    print(f"1..0 # SKIP {e}: pip install jupyterlab websocket-client")
    raise SystemExit
if not CHROMIUM:
    print("1..0 # SKIP there is no Chromium")
    raise SystemExit

PICTURES = os.environ.get("PICTURES")
CELLS = {
    "a table": "x = randn(4, 3)\nx",
    "a picture": "plot {1, 4, 9, 16}",
    "a bar": "for i in progress(3) do os.execute 'sleep 0.1' end",
    "printed": "print 'seen'; io.stderr:write 'an error stream\\n'",
    "an error": "y = ones(2, 3)\ny:matmul(y)",
    "a report": "s = ones(3, 3, {device = 'sim'}); s:sum():item(); sync.report()",
    "a page": "profile.run(function() return s:matmul(s):sum():item() end):report()",
    "training": "step = 0; while true do step = step + 1; s:sum():item() end",
}


class Page:
    """A tab of a headless Chromium."""

    def __init__(self):
        home = os.path.join(os.getcwd(), "chromium")
        self.program = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={home}", "--window-size=1280,900", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        port = until(lambda: os.path.exists(home + "/DevToolsActivePort") and open(home + "/DevToolsActivePort").readline().strip())
        pages = until(lambda: [p for p in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json")) if p["type"] == "page"])
        atexit.register(self.end)
        self.socket = websocket.create_connection(pages[0]["webSocketDebuggerUrl"], timeout=60)
        self.n = 0

    def call(self, method, **params):
        self.n += 1
        self.socket.send(json.dumps({"id": self.n, "method": method, "params": params}))
        while True:
            m = json.loads(self.socket.recv())
            if m.get("id") == self.n:
                return m.get("result", m)

    def js(self, text):
        got = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"]["exception"].get("description", text))
        return got["result"]["value"] if "value" in got.get("result", {}) else None

    def key(self, key, modifiers=0, code=None):
        number = {"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, modifiers=modifiers,
                      windowsVirtualKeyCode=number, **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def type(self, text):
        for c in text:
            self.call("Input.insertText", text=c)

    def picture(self, name):
        if PICTURES:
            data = self.call("Page.captureScreenshot", format="png")["data"]
            with open(os.path.join(PICTURES, name.replace(" ", "-") + ".png"), "wb") as f:
                f.write(base64.b64decode(data))

    def end(self):
        end(self.program)


def end(program):
    try:
        os.killpg(program.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    program.wait()


def until(f, seconds=client.PATIENCE):
    """What f returns once it is true; its last value after so long."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = f()
        except (OSError, ValueError):
            value = None
        if value or time.monotonic() > end:
            return value
        time.sleep(0.1)


def start_lab():
    subprocess.run([GPUSH, "kernel", "install", "--prefix", os.getcwd()], check=True, stdout=subprocess.DEVNULL)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS.values()])
    book.metadata["kernelspec"] = {"name": "gpush", "display_name": "gpush", "language": "lua"}
    os.makedirs("books", exist_ok=True)
    nbformat.write(book, "books/x.ipynb")
    token = secrets.token_hex(16)
    home = os.getcwd()
    environment = {**os.environ, "JUPYTER_PATH": home + "/share/jupyter", "JUPYTER_RUNTIME_DIR": home + "/run",
                   "JUPYTER_CONFIG_DIR": home + "/config", "JUPYTER_TOKEN": token}
    program = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0", "--ip=127.0.0.1",
         f"--ServerApp.root_dir={home}/books", "--LabApp.expose_app_in_browser=True", "--LabApp.check_for_updates_class="
         "jupyterlab.NeverCheckForUpdate", "--LabApp.news_url="],
        env=environment, stdout=open("lab.log", "w"), stderr=subprocess.STDOUT, start_new_session=True)
    atexit.register(end, program)
    files = until(lambda: [f for f in os.listdir("run") if f.startswith("jpserver") and f.endswith(".json")], 60)
    with open("run/" + files[0]) as f:
        return program, json.load(f)["url"] + "lab/tree/x.ipynb?token=" + token


lab, url = start_lab()
page = Page()
page.call("Page.enable")
HELPERS = """
window.book = () => [...(window.jupyterapp?.shell?.widgets('main') ?? [])].find(w => w.context?.path == 'x.ipynb')
window.state = () => window.book()?.sessionContext?.session?.kernel?.status
window.cell = i => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[i]
window.number = i => window.cell(i)?.querySelector('.jp-InputPrompt')?.innerText.replace(/[^0-9*]/g, '')
window.shown = i => window.cell(i)?.querySelector('.jp-OutputArea')?.innerHTML ?? ''
window.run = (i, command) => {
    window.jupyterapp.shell.activateById(window.book().id)
    window.book().content.activeCellIndex = i
    window.jupyterapp.commands.execute(command ?? 'notebook:run-cell')
}
"""
page.call("Page.addScriptToEvaluateOnNewDocument", source=HELPERS)
page.call("Page.navigate", url=url)
opened = until(lambda: page.js("window.state?.() == 'idle'"), 60)
ok(opened, "a notebook opens with the kernel", open("lab.log").read()[-2000:])
page.picture("opened")
output = {}
for i, name in enumerate(list(CELLS)[:-1]):
    page.js(f"run({i})")
    until(lambda: (page.js(f"number({i})") or "*") != "*" and page.js("state() == 'idle'"))
    time.sleep(0.2)
    page.js(f"cell({i}).scrollIntoView()")
    time.sleep(0.2)
    output[name] = page.js(f"shown({i})")
    page.picture(name)
ok(output["a table"].count("<tr>") == 5 and ">f32 4x3 cpu<" in output["a table"], "a tensor is a table", output["a table"])
ok('<img src="data:image/png;base64,iVBOR' in output["a picture"], "a plot is a picture", output["a picture"])
ok(output["a bar"].count("jp-OutputArea-output") == 1 and "3/3" in output["a bar"], "a bar has one place", output["a bar"])

ok("<iframe" in output["a page"] and 'sandbox="allow-scripts"' in output["a page"], "a profile's page is in a frame", output["a page"][:200])

# ---- completion ----
page.js("run(0, 'notebook:insert-cell-above')")
page.js("run(0, 'notebook:enter-edit-mode')")
time.sleep(0.5)
page.type("x:ma")
page.key("Tab")
items = until(lambda: page.js("[...document.querySelectorAll('.jp-Completer-item')].map(e => e.innerText)"))
ok(any("matmul" in i for i in items or []), "Tab completes a method", items)
page.picture("completion")
page.key("Escape")
page.js("run(0, 'notebook:delete-cell')")

# ---- a second console, and an interrupt ----
last = len(CELLS) - 1
page.js(f"run({last})")
ok(until(lambda: page.js(f"number({last}) == '*' && state() == 'busy'")), "a cell trains")
page.js("window.jupyterapp.commands.execute('notebook:create-subshell-console').then(() => 0)")
console = "[...window.jupyterapp.shell.widgets('main')].find(w => w.console)?.console.sessionContext.session?.kernel?.subshellId"
ok(until(lambda: page.js(f"{console} && !!document.querySelector('.jp-CodeConsole-promptCell .cm-content')")), "a console opens beside it")


def ask(text):
    """What is shown about an input there."""
    page.js("document.querySelector('.jp-CodeConsole-promptCell .cm-content').focus()")
    before = page.js(ANSWERS + ".length")
    page.type(text)
    page.key("Enter", modifiers=8)
    return until(lambda: page.js(f"{ANSWERS}.length > {before} && {ANSWERS}.at(-1)")) or ""


ANSWERS = "[...document.querySelectorAll('.jp-CodeConsole-content .jp-OutputArea-output')].map(e => e.innerText)"
for text, found in ((":status", f"cell {len(CELLS)} has run for"), (":sync", "item"), (":mem", "in use"), ("step", "a cell is running")):
    got = ask(text)
    ok(found in got, f"{text} is answered there while the cell runs", got)
page.picture("console")
same(page.js(f"[number({last}), state()]"), ["*", "busy"], "which goes on")
page.js(f"run({last}, 'notebook:interrupt-kernel')")
stopped = until(lambda: "interrupted!" in page.js(f"shown({last})") and page.js("state() == 'idle'"))
ok(stopped, "the stop button interrupts it", page.js(f"shown({last})"))
page.picture("interrupted")
same(ask("step > 0").strip(), "true", "then the console has the session")
page.picture("after")
done()
