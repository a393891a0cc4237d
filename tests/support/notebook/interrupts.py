# Cells of all kinds that run for long, interrupted TRIES times each, by message and by signal in
# turn; after each kind the session is whole. CELLS, a part of their names, chooses some. The times
# are those of client.py; scripts/dev/interrupts measures them.
import os
import queue
import shutil
import time

from client import PATIENCE, Kernel, done, same

k = Kernel()
k.run("x = randn(700, 700); s = randn(300, 300, {device = 'sim'}); t = randn(64, 64, {device = 'sim'}); kept = 41")
k.run("sum = x:sum():item()")
has_gcc = bool(shutil.which("gcc"))
if has_gcc:
    k.run("spin = cuda.kernel('__global__ void spin(float *y, int n) { while (n) {} *y = 1; }'); one = zeros(1)")
cells = {
    "a loop": "while true do end",
    "a loop that catches": "while true do pcall(function() while true do end end) end",
    "products on the cpu": "for i = 1, 1e6 do y = x:matmul(x) end",
    "queued products": "for i = 1, 1e6 do y = t:matmul(t) end",
    "a wait for sim": "y = s for i = 1, 300 do y = s:matmul(y) end synchronize()",
    "a search": "y = ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'c')",
    "a search by classes": "y = ('a'):rep(99999):gsub(('%a-'):rep(9) .. 'b', '')",
    "a loader": "slow = {size = 1000000} function slow:get(i) for j = 1, 1e6 do end return tensor(i) end "
                "for b in data.Loader(slow, {batch = 64, workers = 1})() do end",
    "output": "while true do print 'more' end",
    "a program": "os.execute 'sleep 60'",
}
if has_gcc:
    cells["a kernel"] = "spin(1, 32, one, 1)"
    cells["a kernel on a device"] = "y = zeros(1, {device = 'sim'}) spin(1, 32, y, 1) y:item()"
if os.environ.get("GPUSH_SAN") == "thread":  # which defers signals in loops without system calls
    for name in ("a loop", "a loop that catches", "a search", "a search by classes", "a kernel", "a kernel on a device"):
        cells.pop(name, None)

for name, code in cells.items():
    if os.environ.get("CELLS", "") not in name:
        continue
    k.interrupts(name, code, dies=name != "a program")
    same(k.text("kept + 1, x:sum():item() == sum"), "42\ttrue", f"{name}: the session is whole")
for _ in range(5):  # a kernel that began after its cell was stopped runs on, until a later wait is
    about = k.ask("execute_request", {"code": "synchronize()", "allow_stdin": False})
    try:
        reply = k.client.get_shell_msg(timeout=2)
    except queue.Empty:
        k.interrupt("message")
        reply = k.client.get_shell_msg(timeout=PATIENCE)
    k.published(about)
    if reply["content"]["status"] == "ok":
        break
same(k.text("s:sum():item() == s:sum():item()"), "true", "the device goes on working")
for _ in range(3):
    k.interrupt("message")
    k.interrupt("signal")
time.sleep(0.1)
same(k.text("1 + 1"), "2", "interrupts between cells do nothing")
k.end()
done()
