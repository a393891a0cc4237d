"""Runs what gpush advises in PyTorch (profile/load/torch.def and, for what Python and its libraries
do, frames.def): for each row a program that waits and what the row says to write instead. On the
cpu both give the same; on the meta device, whose tensors hold no values, the first fails and the
second runs, as far as PyTorch can tell there: so it needs no value of the device.
usage: advice.py torch.def frames.def; prints TAP; without torch it checks that each row has its
programs, and counts the rest as skipped."""
import re
import sys

SETUP = """
x = torch.arange(1.0, 9.0).to(d)
a, b = x * 2, x * 2
mask = cond = torch.arange(8, device=d) > 3
labels = torch.arange(8, device=d) % 5
count = torch.arange(4, device=d)
square = torch.eye(3, device=d) * 2
losses = [x.sum() for _ in range(3)]
value, n, zero = 5.0, 5, torch.zeros((), device=d)
"""
# Only on a device is there something to pin for.
PIN = "p = x.pin_memory() if torch.cuda.is_available() else x\n"

SELECT = ("r = torch.where(mask, x, 0).sum()",
          "r = torch.where(mask, x, 0).sum() / mask.sum() * mask.sum()")
CHOOSE = ("a, b = x, 0\nr = torch.where(cond, a, b).sum()",)
PUT = ("r = x.masked_fill_(mask, value)", "r = torch.where(mask, value, x)",
       "y, x = x, torch.full_like(x, value)\ny = torch.where(mask, x, y)\nr = y")
TAKE = "y = torch.zeros_like(x)\ny = torch.where(mask, x, y)\nr = y.sum()"
COPY = PIN + "device = d\nr = p.to(device, non_blocking=True)"
INTO = PIN + "src = p\nr = torch.empty_like(x).copy_(src, non_blocking=True)"
ONCE = "r = zero\nfor i in range(3):\n    r = r + x.sum()\nr = r.cpu()"
EACH = "r = 0\nfor i in range(3):\n    r = r + x.sum().cpu()"
HERE = "i = labels.to(x.device)\nr = x[i]"
SCALED = ("p = torch.nn.Parameter(x.clone())\no = torch.optim.SGD([p], lr=0.1{})\n"
          "s = torch.amp.GradScaler('cpu')\ns.scale((p * p).sum()).backward()\n"
          "s.step(o)\ns.update()\nr = p.detach()")
PLATEAU = ("o = torch.optim.SGD([torch.nn.Parameter(x.clone())], lr=0.1)\n"
           "s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0)\n")
SAME, META = False, True

# row: (a program that waits, [what to write instead], whether the meta device tells them apart).
ROWS = {
    "aten::is_nonzero": ("r = x * 2 if x.sum() > 0 else x",
                         ["r = torch.where(x.sum() > 0, x * 2, x)"], META),
    "aten::item": ("r = 0.0\nfor loss in losses:\n    r += loss.detach().item()",
                   ["total = zero\nfor loss in losses:\n    total += loss.detach()\nr = total"],
                   META),
    "scheduler.step": (
        PLATEAU + "for loss in losses:\n    s.step(loss.detach() * 0 + 1)\nr = o.param_groups[0]['lr']",
        [PLATEAU + "for epoch in losses:\n    total = zero\n    for loss in losses:\n"
         "        total += loss.detach()\n    s.step(total.item() * 0 + 1)\n"
         "r = o.param_groups[0]['lr']"], SAME),
    "torch.save": ("for i in range(4):\n    r = x.cpu()",
                   ["N = 2\nfor i in range(4):\n    r = x.cpu() if i % N == 1 else None"], SAME),
    "print": ("r = x.sum()\nstr(r)", ["loss = x.sum()\nstr(loss.item())\nr = loss"], SAME),
    "GradScaler": (SCALED.format(""), [SCALED.format(", fused=True")], SAME),
    "aten::equal": ("r = torch.equal(a, b)", ["r = (a == b).all()"], META),
    "aten::allclose": ("r = torch.allclose(a, b)", ["r = torch.isclose(a, b).all()"], META),
    "aten::nonzero": ("r = x[mask.nonzero().squeeze(1)].sum()", [*CHOOSE, *SELECT], META),
    "aten::argwhere": ("r = x[torch.argwhere(mask).squeeze(1)].sum()", [*CHOOSE, *SELECT], META),
    "aten::where": ("r = x[torch.where(mask)[0]].sum()", [*CHOOSE, *SELECT], META),
    "aten::": ("for i in range(4):\n    r = torch.cov(x) * 2",
               ["c = torch.cov(x)\nfor i in range(4):\n    r = c * 2",
                "N = 2\nfor i in range(4):\n    r = torch.cov(x) * 2 if i % N == 1 else None"], SAME),
    "aten::index": ("r = x[mask].sum()", [*SELECT, TAKE], META),
    "IndexBackward0": ("y = x.clone().requires_grad_()\ny[mask].sum().backward()\nr = y.grad",
                       ["z = x.clone().requires_grad_()\nx = z\n"
                        "torch.where(mask, x, 0).sum().backward()\nr = z.grad"], SAME),
    "aten::index: HtoD": ("r = x[labels.cpu()]", [HERE], SAME),
    "aten::index_put_: HtoD": ("x[labels.cpu()] = value\nr = x",
                               [HERE + "\nx[i] = value\nr = x"], SAME),
    "aten::index_put_": ("x[mask] = value\nr = x", [*PUT], SAME),
    "aten::masked_select": ("r = x.masked_select(mask).sum()", [*SELECT], META),
    "aten::repeat_interleave": ("r = torch.repeat_interleave(x[:4], count)",
                                ["r = torch.repeat_interleave(x[:4], count, output_size=6)"], META),
    "aten::bincount": ("r = torch.bincount(labels)", [
        "x = labels\nr = torch.zeros(n, device=x.device)"
        ".scatter_add_(0, x, torch.ones(x.shape, device=x.device))"], META),
    "aten::one_hot": ("r = torch.nn.functional.one_hot(labels)",
                      ["r = torch.nn.functional.one_hot(labels, num_classes=5)"], META),
    "aten::_unique2": ("r = labels.unique().numel()",
                       ["s = labels.sort().values\nr = (s[1:] != s[:-1]).sum() + 1"], META),
    "aten::unique_consecutive": ("r = labels.unique_consecutive().numel()",
                                 ["x = labels\nr = (x[1:] != x[:-1]).sum() + 1"], META),
    "aten::unique_dim": ("r = len(torch.unique((labels // 2).sort().values[:, None], dim=0))", [
        "x = (labels // 2).sort().values[:, None]\nr = (x[1:] != x[:-1]).any(1).sum() + 1"], META),
    "aten::_to_copy: HtoD": ("r = x.to(d)", [COPY], SAME),
    "aten::copy_: HtoD": ("r = torch.empty_like(x).copy_(x)", [INTO], SAME),
    "aten::_to_copy": (EACH, [ONCE, COPY.replace("r =", "y =") + "\n" + ONCE], SAME),
    "aten::copy_": (EACH, [ONCE, INTO.replace("r =", "y =") + "\n" + ONCE], SAME),
    "aten::linalg_solve": ("r = torch.linalg.solve(square, square)",
                           ["r = torch.linalg.solve_ex(square, square, check_errors=False)[0]"],
                           SAME),
    "aten::linalg_inv": ("r = torch.linalg.inv(square)",
                         ["r = torch.linalg.inv_ex(square, check_errors=False)[0]"], SAME),
    "aten::linalg_cholesky": ("r = torch.linalg.cholesky(square)",
                              ["r = torch.linalg.cholesky_ex(square, check_errors=False)[0]"],
                              SAME),
    "cudaFree": ("r = x * 2\ntorch.cuda.empty_cache()", ["r = x * 2"], SAME),
}
# A kind of frames.def whose advice names code: a program, and what to write instead.
FILE = "import io, threading\nfile, path = io.BytesIO(), io.BytesIO()\n"
FRAMES = {
    "LOG": ("import logging\nr, to = [], logging.Handler()\n"
            "to.emit = lambda e: r.append(len(e.msg))\nto.emit(logging.makeLogRecord({'msg': 'step'}))",
            ["import logging.handlers, queue\nr, q = [], queue.SimpleQueue()\n"
             "logging.handlers.QueueHandler(q).emit(logging.makeLogRecord({'msg': 'step'}))\n"
             "to = logging.Handler()\nto.emit = lambda e: r.append(len(e.msg))\n"
             "by = logging.handlers.QueueListener(q, to)\nby.start()\nby.stop()"]),
    "SAVE": (FILE + "torch.save({'x': x}, file)\nfile.seek(0)\nr = torch.load(file)['x']",
             [FILE + "copy = {'x': x.to('cpu', copy=True)}\n"
              "t = threading.Thread(target=torch.save, args=(copy, path))\n"
              "t.start()\nx += 1\nt.join()\npath.seek(0)\nr = torch.load(path)['x']"]),
    "PROCESS": ("import subprocess\nr = subprocess.run(['true']).returncode",
                ["import subprocess\np = subprocess.Popen(['true'])\nr = p.wait()"]),
    "SLEEP": ("import threading, time\nr = []\n"
              "threading.Thread(target=r.append, args=(1,)).start()\nwhile not r:\n    time.sleep(0.001)",
              ["import threading\nr, done = [], threading.Event()\n"
               "threading.Thread(target=lambda: (r.append(1), done.set())).start()\ndone.wait()",
               "import threading, queue\nq = queue.Queue()\n"
               "threading.Thread(target=q.put, args=(1,)).start()\nr = [q.get()]"]),
}
LIKE = {"aten::_local_scalar_dense": "aten::item", "aten::nonzero_numpy": "aten::nonzero",
        "aten::_index_put_impl_": "aten::index_put_", "aten::to": "aten::_to_copy",
        "hipFree": "cudaFree"}
# Rows without a line of PyTorch to run: calls of the runtime, and what is nothing to change.
NONE = {"", "cudaMemcpy", "cudaMemcpyAsync", "hipMemcpyWithStream", "first use", "profiler", "full queue",
        *(f"{api}{of}Query, polled" for api in ("cuda", "hip") for of in ("Event", "Stream")),
        "copy of a number",  # as aten::item, of another profiler's trace
        "gloo", "mpi", "ucc",  # several processes
        "aten::cudnn_convolution", "aten::convolution_backward", "aten::miopen_convolution"}

tests = failures = 0


def ok(good, name, note=""):
    global tests, failures
    tests += 1
    failures += not good
    print(f"{'' if good else 'not '}ok {tests} - {name}")
    if not good and note:
        print("# " + note.replace("\n", "\n# "))


def text_of(path):
    return re.sub(r'"\n *"', "", open(path, encoding="utf-8").read())


def rows(path):
    """The rows of torch.def: name, advice."""
    return re.findall(r'^TORCH\("([^"]*)", *\w+, *"([^"]*)"\)', text_of(path), re.M)


def check_frames(torch, path):
    """The kinds of frames.def whose advice names a function of a module."""
    for kind, advice in re.findall(r'^FRAME_ADVICE\((\w+), *"([^"]*)"\)', text_of(path), re.M):
        advice = re.sub(r"\bno [\w.]+\(\)", "", advice)  # what not to call
        calls = re.findall(r"[a-z]\w*\.\w+[\w.]*(?:\((?:[^()]|\([^()]*\))*\))?", advice)
        ok(bool(calls) == (kind in FRAMES), f"{kind} has its programs where it names code")
        for call in calls if kind in FRAMES else ():
            ok(call in "\n".join(FRAMES[kind][1]), f"'{kind}': '{call}' is in a program")
        if torch and kind in FRAMES:
            check(torch, kind, (*FRAMES[kind], SAME))


def programs(name):
    """The programs of a row; of "OP: HtoD pinned" those of "OP: HtoD", else of OP."""
    op, _, copy = name.partition(":" if not name.startswith("aten::") else ": ")
    op = op.strip()
    if op in NONE:
        return "none"
    op = LIKE.get(op, op)
    short = f"{op}: {copy.strip().split(' ')[0]}" if copy.strip() else op
    return ROWS.get(short) or ROWS.get(op)


def run(torch, text, device):
    names = {"torch": torch, "d": device}
    exec(SETUP, names)
    exec(text, names)
    return names["r"]


def same(torch, got, want):
    got, want = (torch.as_tensor(v).double() for v in (got, want))
    return got.shape == want.shape and bool((got == want).all())


def check(torch, name, found):
    waits, instead, meta = found
    want = run(torch, waits, "cpu")
    for text in instead:
        got = run(torch, text, "cpu")
        ok(same(torch, got, want), f"{name}: {text!r} gives the same", f"{got}, expected {want}")
    if not meta:
        return
    try:
        run(torch, waits, "meta")
        ok(False, f"{name}: {waits!r} needs a value of the device")
    except (RuntimeError, NotImplementedError):
        ok(True, f"{name}: {waits!r} needs a value of the device")
    for text in instead:
        try:
            run(torch, text, "meta")
            ok(True, f"{name}: {text!r} needs none")
        except (RuntimeError, NotImplementedError) as error:
            ok(False, f"{name}: {text!r} needs none", str(error))


def main():
    try:
        import torch
    except ImportError:
        torch = None
    table = rows(sys.argv[1])
    ok(len(table) >= 30, f"torch.def has {len(table)} rows")
    seen = set()
    for name, advice in table:
        found = programs(name)
        ok(found is not None, f"'{name}' has its programs")
        if not found or found == "none":
            continue
        text = "\n".join(found[1])
        advice = re.sub(r"\bno [\w.]+\(\)", "", advice)  # what not to call
        for call in re.findall(r"[\w.]*\w\((?:[^()]|\([^()]*\))*\)", advice):
            words = re.sub(r"\([^()]*\.\.\., ", "(", call)
            tail = words if words == call else words[words.index("(") + 1:]
            ok(tail in text, f"'{name}': '{call}' is in a program")
        if torch and id(found) not in seen:
            seen.add(id(found))
            check(torch, name, found)
    check_frames(torch, sys.argv[2])
    if not torch:
        print(f"ok {tests + 1} # SKIP PyTorch is not installed: what is advised for it was not run")
    print(f"1..{tests + (not torch)}")
    return failures > 0


sys.exit(main())
