# The requests of a notebook, one by one, beside what jupyter_kernel_test tries.
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from client import GPUSH, PATIENCE, Kernel, done, kinds, ok, same, shown

k = Kernel()

# ---- what it is ----
with open(f"/proc/{k.manager.provisioner.pid}/maps") as maps:
    heavy = {os.path.basename(line.split()[-1]) for line in maps if re.search("blas|lapack|dnnl|cuda", line)}
same(heavy, set(), "its first replies wait for no library of matrices")
same(k.info["protocol_version"], "5.5", "the protocol's version")
same(k.info["language_info"]["name"], "lua", "the language")
ok("kernel subshells" in k.info["supported_features"], "it says that it has consoles")
ok(k.info["banner"].startswith("gpush "), "its banner", k.info["banner"])

# ---- cells ----
reply, out = k.run("6 * 7")
same(kinds(out), ["status", "execute_input", "execute_result", "status"], "what a cell publishes, in order")
same(out[2][1]["data"]["text/plain"], "42", "its value as text")
same((reply["status"], reply["execution_count"], out[1][1]["execution_count"]), ("ok", 1, 1), "it is the first")
same(k.text("w = 1; w + 1"), "2", "the last expression of a block")
same(k.text("x = 5"), "", "a statement shows nothing")
same(k.text("x;"), "", "a semicolon mutes")
same(k.text("_ + 1"), "6", "_ is the last value")
same(k.text("1, nil, 'a'"), "1\tnil\ta", "several values")
same(k.text("{a = 1}"), "{a = 1}", "a table, as the prompt shows it")
same(k.text("zeros(2)"), "tensor({0.0, 0.0}, f32 2 cpu)", "a tensor")
same(k.text(""), "", "an empty cell")
same(k.text("-- only a comment"), "", "a comment")
same(k.text("print 'a'\nio.write('b');"), "a\nb", "what is printed, without a line's end, too")
out = k.run("print 'first'; io.stderr:write 'second\\n'; print 'third'; 4")[1]
same([(t, c.get("name")) for t, c in out if t == "stream"][0], ("stream", "stdout"), "streams have names")
same(kinds(out)[-2:], ["execute_result", "status"], "a value comes after what was printed")
same(k.text("!echo from a program"), "from a program\n", "what another program prints")
same(k.text("x = 1\nx\n:mem\nx + 1").split("\n")[0].split()[0], "1", "a cell of several chunks and a command")
same(k.text("f = function(a)\n  return a.b.c\nend"), "", "a function of one cell")
same(k.text("f({})"), "stdin[15]:2: attempt to index a nil value (field 'b')", "its error names the cell and line")
same(k.text("print('é'); '\\xff\\xfe'"), "é\n\ufffd\ufffd", "text that is no UTF-8")

# ---- errors ----
reply, out = k.run("ones(2, 3):matmul(ones(4, 5))")
same(reply["status"], "error", "an error in the reply")
ok(out[2][0] == "error" and out[2][1]["traceback"][0] == reply["evalue"], "and published", out[2])
ok(any("ones(2, 3):matmul" in line for line in reply["traceback"]), "with its line", reply["traceback"])
k.run("y = ones(2, 3)")
reply, _ = k.run("y:matmul(y)")
ok(any("y is f32 2x3 cpu" in line for line in reply["traceback"]), "with the tensors on it", reply["traceback"])
reply, _ = k.run("for i in range(3):")
same(reply["ename"], "SyntaxError", "a syntax error")
ok(any("for i = 0, 2 do" in line for line in reply["traceback"]), "of Python's line the Lua form", reply["traceback"])
reply, _ = k.run("k = cuda.kernel('__global__ void f(float *y) { y[0] = z; }', 'f')")
if shutil.which("gcc"):
    same(reply["traceback"][1:3], ["    __global__ void f(float *y) { y[0] = z; }", " " * 41 + "^"],
         "a mistake in a kernel's text has a caret")
reply, _ = k.run("error {}")
same(reply["evalue"], "(error object is a table value) {}", "an error that is no text")
same(k.text("prnt(1)").split("\n")[0], "stdin[24]:1: attempt to call a nil value (global 'prnt')", "an unknown name")

# ---- options of a request ----
reply, out = k.run("print 'quiet'; 5", silent=True)
same((reply["execution_count"], kinds(out)), (24, ["status", "stream", "status"]), "a silent cell")
reply, _ = k.run("7", store_history=False)
same(reply["execution_count"], 24, "one that is not kept has no number")
reply, _ = k.run(":time x = = 1", store_history=False)
ok(reply["traceback"][1:] == ["    1 | x = = 1", "            ^"], "a command's text has a caret under its mistake",
   reply["traceback"])
reply, _ = k.run("z = 3", user_expressions={"a": "z + 1", "b": "nope()", "c": "ones(2)"})
same(reply["user_expressions"]["a"]["data"]["text/plain"], "4", "an expression beside")
same(reply["user_expressions"]["b"]["status"], "error", "a wrong one is an error of its own")
same(reply["user_expressions"]["c"]["data"]["text/plain"], "tensor({1.0, 1.0}, f32 2 cpu)", "a tensor there")
first, second = k.ask("execute_request", {"code": "os.execute 'sleep 0.3' error 'stop'"}), k.ask("execute_request", {"code": "print 1"})
third = k.ask("kernel_info_request", {})
same([k.reply(third)["status"], k.reply(first)["status"], k.reply(second)["status"]], ["ok", "error", "aborted"],
     "after an error cells that wait do not run, other requests do")
first = k.ask("execute_request", {"code": "error 'go on'", "stop_on_error": False})
second = k.ask("execute_request", {"code": "1"})
same([k.reply(first)["status"], k.reply(second)["status"]], ["error", "ok"], "unless the cell says so")

# ---- what is asked beside ----
def state(code):
    return k.answer("is_complete_request", {"code": code})[0]


same(state("for i = 1, 3 do")["status"], "incomplete", "an open block")
same(state("for i = 1, 3 do")["indent"], "    ", "its next line is indented")
same([state(c)["status"] for c in ("x = 1", "x = = 1", ":mem", "?zeros")],
     ["complete", "invalid", "complete", "complete"], "complete, invalid, and commands")


def complete(code, at=None):
    return k.answer("complete_request", {"code": code, "cursor_pos": len(code) if at is None else at})[0]


got = complete("string.for")
same((got["matches"], got["cursor_start"], got["cursor_end"]), (["format"], 7, 10), "a member")
if shutil.which("gcc"):
    k.run('kern = cuda.kernel "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }"',
          store_history=False)
    same(sorted(complete("kern:")["matches"]), ["counts", "global", "over"], "a kernel's methods")
    k.run("kern = nil", store_history=False)
types = {c["text"]: c for c in complete("y:matm")["metadata"]["_jupyter_types_experimental"]}
same(types["matmul"]["type"], "function", "its type")
ok("tensor" in types["matmul"]["signature"], "its arguments", types["matmul"])
got = complete("s = 'äöü'; zeros_l")
same((got["cursor_start"], got["matches"]), (11, ["zeros_like"]), "characters are counted, not bytes")
same(complete("zeros_l + 1", 7)["matches"], ["zeros_like"], "the cursor inside the text")
same(complete(":stat")["matches"], ["status"], "commands")
same(complete("zeros(2, {dty")["matches"], ["dtype = "], "options")
types = {c["text"]: c["type"] for c in complete("whi")["metadata"]["_jupyter_types_experimental"]}
same(types["while"], "keyword", "keywords")
reply = k.answer("inspect_request", {"code": "z = zeros(2)", "cursor_pos": 7, "detail_level": 0})[0]
ok(reply["found"] and reply["data"]["text/plain"].startswith("zeros("), "help about the name at the cursor", reply)
reply = k.answer("inspect_request", {"code": "zeros(2, ", "cursor_pos": 9, "detail_level": 0})[0]
ok(reply["found"] and reply["data"]["text/plain"].startswith("zeros("), "or about the call", reply)
same(k.answer("inspect_request", {"code": "nothing_such", "cursor_pos": 3})[0]["found"], False, "about nothing")
reply, out = k.run("?zeros")
ok(reply["payload"][0]["data"]["text/plain"].startswith("zeros("), "a question is answered by a page", reply["payload"])
history = k.answer("history_request", {"hist_access_type": "tail", "n": 2, "raw": True, "output": False})[0]["history"]
same([row[2] for row in history], ["1", "?zeros"], "the history's end")
history = k.answer("history_request", {"hist_access_type": "range", "session": 0, "start": 1, "stop": 2})[0]["history"]
same([row[1:] for row in history], [[1, "6 * 7"]], "a part of this session's")
history = k.answer("history_request", {"hist_access_type": "search", "pattern": "f = func*"})[0]["history"]
same(len(history), 1, "what fits a pattern")

# ---- comms ----
reply, out = k.answer("comm_info_request", {})
same(reply["comms"], {}, "no comms")
about = k.ask("comm_open", {"comm_id": "c1", "target_name": "jupyter.widget", "data": {}})
same([c["comm_id"] for t, c in k.published(about) if t == "comm_close"], ["c1"], "one that is opened is closed")
about = k.ask("comm_msg", {"comm_id": "c1", "data": {}})
same(kinds(k.published(about)), ["status", "status"], "a message to none")

# ---- displays ----
out = k.run("plot {1, 2, 3}")[1]
ok(out[2][0] == "display_data" and out[2][1]["data"]["image/png"].startswith("iVBOR"), "a plot is a picture", kinds(out))
out = k.run("imshow(rand(4, 4)); hist(randn(100))")[1]
same(kinds(out).count("display_data"), 2, "an image and a histogram")
out = k.run("notebook.display(zeros(2), 'd'); notebook.update_display(1, 'd')")[1]
same([(t, c["transient"]["display_id"]) for t, c in out[2:4]], [("display_data", "d"), ("update_display_data", "d")], "a display is replaced")
same(k.run("notebook.clear_output(true)")[1][2], ("clear_output", {"wait": True}), "the output is cleared")
out = k.run("for i in progress(3) do end")[1]
same(len({c["transient"]["display_id"] for t, c in out if t.endswith("display_data")}), 1, "a bar stays in one place")

# ---- habits of IPython ----
k.run("x = ones(3)")
k.run("%timeit x:sum()")
k.run("?conv2d")
lines = k.text("%history").split("\n")
ok(any(line.endswith("] %timeit x:sum()") for line in lines) and any(line.endswith("] ?conv2d") for line in lines),
   "the list of inputs has magics and questions as they were typed", lines[-5:])
got = k.text(":who\n%timeit x:sum()\nx?\nx:sum()")
ok(re.search("(?s)x  f32 3 cpu.* a call.*a tensor: f32, 3, on cpu.*\ntensor", got), "a cell of several commands runs each", got)
ok("needs a terminal" in k.text(":edit"), "no editor is started where there is no terminal")
ok("0 waits" in k.text(":time for i = 1, 2 do\n  y = x + i\nend"), "one whose text has several lines is one")
same(k.text("%%time\na = 1\na + 1").split("\n")[-1], "2", "a cell's magic takes all of it")
same(k.text("In [1]: y = {1,\n   ...:      2}\n\nIn [2]: #y + 1\nOut[2]: 3"), "3", "a copied session of IPython")
same(k.text(">>> y = 4\n>>> y * 2\n8"), "8", "and of Python")
same(k.answer("is_complete_request", {"code": ">>> for i = 1, 2 do"})[0]["status"], "incomplete", "so is a part of one")
same([k.text(c) for c in ("io.write 'a'", "io.stderr:write('b')")], ["a", "b"], "a file that was written to is no value")
ok(k.text("io.stderr").startswith("file ("), "one that is named is")
for name in ("display(x)", "clear_output()"):
    reply, _ = k.run(name)
    ok(any("notebook." + name.split("(")[0] in line for line in reply["traceback"]), f"{name} of IPython",
       reply["traceback"])
ok("expected a value to show" in k.text("notebook.display()"), "display without a value")
ok("expected a string or a number, got table" in k.text("notebook.display(1, {})"), "an id that is none")
ok("clear_output([wait])" in " ".join(k.text("help(notebook)").split()), "help about the notebook")
page = k.run("tensor{0.} * (0/0)")[1][2][1]["data"]["text/html"]
ok('right">nan<' in page, "nan is aligned like a number, without a sign", page)

# ---- control ----
reply, _ = k.answer("kernel_info_request", {}, "control")
same(reply["protocol_version"], "5.5", "what it is, by the control channel")
same(k.answer("debug_request", {"command": "x"}, "control")[0]["status"], "error", "there is no debugger")
same(k.answer("nosuch_request", {})[0]["status"], "error", "an unknown request")
same(k.answer("execute_request", {"code": 5})[0]["ename"], "BadRequest", "one that is not what it should be")
same(shown(k.run("1 + 1")[1]), "2", "and all goes on")
k.end()

# ---- a client that does not wait ----
folder = tempfile.mkdtemp()
path, ports = write_connection_file(os.path.join(folder, "connection.json"), key=b"a key")
os.mkfifo(os.path.join(folder, "begin"))
kernel = subprocess.Popen([GPUSH, "kernel", "--connection", path], stdin=subprocess.DEVNULL,
                          env={**os.environ, "LUA_INIT": f"io.open('{folder}/begin'):read 'a'"})
deadline, early = time.monotonic() + PATIENCE, False
while not early and time.monotonic() < deadline:
    with socket.socket() as s:
        early = s.connect_ex((ports["ip"], ports["shell_port"])) == 0
    time.sleep(0 if early else 0.01)
ok(early, "a kernel listens before its Lua files are read")
client = BlockingKernelClient(connection_file=path)
client.load_connection_file()
client.start_channels()
about = client.kernel_info()
with open(os.path.join(folder, "begin"), "w"):
    pass
same(client.get_shell_msg(timeout=PATIENCE)["parent_header"]["msg_id"], about, "and answers then what was asked before")
client.stop_channels()
kernel.terminate()
kernel.wait()
shutil.rmtree(folder)
done()
