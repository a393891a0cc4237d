# What no front end should send, and what no kernel should do with it: wrong signatures, broken
# frames, floods, slow readers, deaths. The kernel goes on, or ends without a trace.
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import zmq
from client import GPUSH, PATIENCE, Kernel, done, kinds, ok, same, shown

k = Kernel()
info = k.client.get_connection_info()
key = info["key"]
context = zmq.Context()


def dealer(name):
    s = context.socket(zmq.DEALER)
    s.linger = 0
    s.connect(f"tcp://127.0.0.1:{info[name + '_port']}")
    return s


def parts(kind="kernel_info_request", **header):
    head = {"msg_id": "m", "session": "s", "username": "u", "date": "2026-01-01T00:00:00Z", "msg_type": kind,
            "version": "5.5", **header}
    return [json.dumps(head).encode(), b"{}", b"{}", b"{}"]


def signed(texts, with_key=key):
    with_key = with_key.encode() if isinstance(with_key, str) else with_key
    return hmac.new(with_key, b"".join(texts), hashlib.sha256).hexdigest().encode()


def answered(s, frames, ms=300):
    s.send_multipart(frames)
    got = s.poll(ms)
    if got:
        s.recv_multipart()
    return bool(got)


# ---- signatures ----
shell = dealer("shell")
good = parts()
ok(answered(shell, [b"<IDS|MSG>", signed(good), *good], 1000 * PATIENCE), "a signed request is answered")
wrong = {"no signature": b"", "another key's": signed(good, "another"), "a shorter one": signed(good)[:63],
         "one in capitals": signed(good).upper(), "the right one of another text": signed(parts("x_request"))}
for name, signature in wrong.items():
    shell.send_multipart([b"<IDS|MSG>", signature, *good])
ok(not shell.poll(300), f"none of these is: {', '.join(wrong)}")
evil = parts("execute_request")
evil[3] = json.dumps({"code": "os.exit(3)"}).encode()
shell.send_multipart([b"<IDS|MSG>", signed(evil, ""), *evil])
ok(not shell.poll(200), "nor runs a cell that is signed with no key")

# ---- frames ----
broken = [
    [b""], [b"<IDS|MSG>"], [b"<IDS|MSG>", signed(good)], [b"<IDS|MSG>", signed(good), *good[:3]],
    [b"x"] * 40 + [b"<IDS|MSG>", signed(good), *good], [b""] * 500, [os.urandom(100) for _ in range(7)],
    [b"<IDS|MSG>" * 3, signed(good), *good],
]
for header in (b"", b"{", b"[]", b"null", b"{}", b'{"msg_id":1,"msg_type":"x"}', b'{"msg_id":"a"}', b"[" * 5000,
               b'{"msg_id":"a","msg_type":"../x"}', b'{"msg_id":"a","msg_type":""}', b"\xff\xfe",
               json.dumps({"msg_id": "a" * 300, "msg_type": "kernel_info_request"}).encode(),
               json.dumps({"msg_id": "a", "msg_type": "x" * 60}).encode(),
               json.dumps({"msg_id": "a", "msg_type": "kernel_info_request", "subshell_id": 5}).encode(),
               json.dumps({"msg_id": "a", "msg_type": "kernel_info_request", "subshell_id": "s" * 80}).encode()):
    texts = [header, b"{}", b"{}", b"{}"]
    broken.append([b"<IDS|MSG>", signed(texts), *texts])
for at in (1, 2, 3):
    for text in (b"", b"[]", b"nan", b'"x"', b"{" * 3000):
        texts = parts()
        texts[at] = text
        broken.append([b"<IDS|MSG>", signed(texts), *texts])
for channel in ("shell", "control", "stdin"):
    s = dealer(channel)
    for frames in broken:
        s.send_multipart(frames)
    ok(not s.poll(200), f"{len(broken)} broken messages on the {channel} channel are not answered")
    s.close()
same(k.text("1 + 1"), "2", "and the kernel works")
raw = socket.create_connection(("127.0.0.1", info["shell_port"]))
raw.sendall(os.urandom(4096))
raw.close()
same(k.text("1 + 2"), "3", "nor does a socket of something else disturb it")
sub = context.socket(zmq.SUB)
sub.connect(f"tcp://127.0.0.1:{info['iopub_port']}")
sub.subscribe(b"")
ok(sub.poll(1000 * PATIENCE) and b"iopub_welcome" in b"".join(sub.recv_multipart()), "a subscriber is welcomed")
sub.close()

# ---- contents ----
strange = [("execute_request", c) for c in ({}, {"code": None}, {"code": {"a": 1}}, {"code": "1", "silent": "yes"},
           {"code": "1", "user_expressions": ["a"]}, {"code": "1", "user_expressions": {"a": 5}})]
strange += [(kind, c) for kind in ("complete_request", "inspect_request") for c in (
            {}, {"code": "é", "cursor_pos": -1}, {"code": "é", "cursor_pos": 99}, {"code": "é" * 3, "cursor_pos": 1.5},
            {"code": "x" * 100000, "cursor_pos": 100000})]
strange += [("is_complete_request", {}), ("history_request", {"hist_access_type": 5, "n": -3}),
            ("history_request", {"hist_access_type": "search", "pattern": "[%(" * 50}), ("comm_info_request", {"x": 1}),
            ("history_request", {"hist_access_type": "range", "session": -1, "start": -5, "stop": 1e300})]
same([k.answer(kind, content)[0]["status"] in ("ok", "error", "unknown") for kind, content in strange],
     [True] * len(strange), f"{len(strange)} requests with strange contents are answered")
for kind in ("comm_open", "comm_msg", "comm_close", "nothing"):
    k.published(k.ask(kind, {"comm_id": 5}))
same(k.text("2 + 2"), "4", "and the kernel works")
for hurt in ("string.format = nil", "error(setmetatable({}, {__tostring = function() error 'x' end}))",
             "print = nil", "return setmetatable({}, {__tostring = function() error 'x' end})", "error()", "error(nil)",
             "coroutine.wrap(function() error 'inside' end)()", "local function f() return f() + 1 end f()"):
    ok(k.run(hurt)[0]["status"] in ("ok", "error"), f"after {hurt[:40]}")
same(k.text("3 + 2"), "5", "it works")
k.run("debug.setmetatable('', nil)")
same(k.run("1")[0]["status"], "error", "a cell that cannot even be read is answered")
k.end()

# ---- much at once ----
k = Kernel()
out = k.run("print(('x'):rep(10000000))")[1]
same(sum(len(c["text"]) for t, c in out if t == "stream"), 10000001, "10 MB of a stream arrive whole")
out = k.run("setmetatable({}, {__tostring = function() return ('y'):rep(10000000) end})")[1]
same(len(out[2][1]["data"]["text/plain"]), 10000000, "10 MB of a value")
pid = k.manager.provisioner.pid


def resident():
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


before = resident()
about = k.ask("execute_request", {"code": "for i = 1, 1000000 do print(i) end", "allow_stdin": False})
text = []
for kind, content in k.published(about):
    if kind == "stream":
        text.append(content["text"])
same(("".join(text)).count("\n"), 1000000, "a million lines arrive")
ok(resident() - before < 64, "and fill no memory", f"{resident() - before} MiB more")
k.reply(about)
requests = [k.ask("execute_request", {"code": f"{i}"}) for i in range(200)]
same([k.reply(r)["status"] for r in requests], ["ok"] * 200, "200 cells at once")
k.published(requests[-1])

# A front end that subscribes and reads nothing holds the kernel up for a while, not without end.
slow = context.socket(zmq.SUB)
slow.rcvhwm = 1
slow.connect(f"tcp://127.0.0.1:{k.client.get_connection_info()['iopub_port']}")
slow.subscribe(b"")
slow.poll(1000 * PATIENCE)
began = time.monotonic()
about = k.ask("execute_request", {"code": "for i = 1, 400 do io.write(('z'):rep(65000)) notebook.display(i) end"})
out = k.published(about) # before the reply: else this client reads nothing, too
k.reply(about)
same(sum(1 for t, _ in out if t == "display_data"), 400, "others get everything while one reads nothing")
ok(resident() - before < 200, "which fills no memory", f"{resident() - before} MiB more")
slow.close(0)

# ---- ends ----
other = Kernel()
other.run("mine = 1")
same(other.text("mine"), "1", "two kernels have their own variables")
ok("nil" in k.text("mine"), "which the other has not")
busy = subprocess.run([GPUSH, "kernel", "--connection", k.client.connection_file], capture_output=True, text=True)
ok(busy.returncode == 1 and "cannot listen at" in busy.stderr, "a second kernel on the same ports says why not", busy.stderr)
for how in ("while true do end", "while true do pcall(function() while true do end end) end",
            "x = ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'c')"):
    about = other.ask("execute_request", {"code": how})
    other.published(about, "execute_input")
    time.sleep(0.1)
    began = time.monotonic()
    reply = other.answer("shutdown_request", {"restart": True}, "control")[0]
    same(reply, {"status": "ok", "restart": True}, "an end for a restart is answered while a cell runs")
    other.manager.provisioner.process.wait(PATIENCE)
    ok(other.manager.provisioner.process.returncode is not None, f"and comes in {time.monotonic() - began:.1f} s: {how[:30]}")
    other.client.stop_channels()
    other = Kernel()
about = other.ask("execute_request", {"code": "print 'last words' os.exit(7)"})
ok("last words\n" in shown(other.published(about, "stream")), "what is printed before os.exit arrives")
other.manager.provisioner.process.wait(PATIENCE)
same(other.manager.provisioner.process.returncode, 7, "and its status is the kernel's")
other.client.stop_channels()
k.end()

# Its launcher's death ends it, though a cell runs.
code = "import os, sys, time\nfrom client import Kernel\nk = Kernel()\n" \
       "k.ask('execute_request', {'code': 'while true do end'})\nprint(k.manager.provisioner.pid, flush=True)\ntime.sleep(99)\n"
launcher = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                            cwd=os.path.dirname(os.path.abspath(__file__)))
orphan = int(launcher.stdout.readline())
launcher.kill()
launcher.wait()
for _ in range(20 * PATIENCE):
    if not os.path.exists(f"/proc/{orphan}") or " Z " in open(f"/proc/{orphan}/stat").read():
        break
    time.sleep(0.1)
else:
    os.kill(orphan, signal.SIGKILL)
    ok(False, "a kernel ends with its launcher")
ok(True, "a kernel ends with its launcher") if not os.path.exists(f"/proc/{orphan}") or " Z " in open(f"/proc/{orphan}/stat").read() else None
done()
