# A cell that runs: one that cannot be interrupted, one that asks for input, one that is looked at
# from a second console; and tables in HTML.
import re
import time
from html import unescape

from client import Kernel, done, ok, same, shown

k = Kernel()
k.run("s = randn(300, 300, {device = 'sim'}); kept = 41")
about = k.ask("execute_request", {"code": "print 'begun' setmetatable({}, {__gc = function() local t = os.clock() "
              "while os.clock() - t < 0.5 do end end}) collectgarbage()", "allow_stdin": False})
k.published(about, "stream")
k.interrupt("message")
k.interrupt("message")
ok("Restarting the kernel ends the cell" in shown(k.published(about)), "a finalizer goes on, which the second interrupt says")
k.reply(about)


# ---- input ----
def typed(code, *lines):
    about = k.ask("execute_request", {"code": code, "allow_stdin": True})
    for line in lines:
        k.client.get_stdin_msg(timeout=20)
        k.client.input(line)
    reply = k.reply(about)
    return shown(k.published(about)), reply["status"]


same(typed("io.write 'name? '; print('hello ' .. io.read())", "Ada"), ("name? hello Ada\n", "ok"), "io.read asks for a line")
same(typed("io.read 'n' + io.read 'n'", "40 2")[0], "42", "numbers of one line")
same(typed("io.read 'l', io.stdin:read 'l'", "é", "")[0], "é\t", "two lines, one of them empty")
same(k.text("io.read()"), "nil", "a front end that cannot be asked has no input")
about = k.ask("execute_request", {"code": "io.read()", "allow_stdin": True})
k.client.get_stdin_msg(timeout=20)
k.interrupt("message")
same(k.reply(about)["ename"], "Interrupted", "a question is interrupted")
k.published(about)
same(typed("io.read()", "again")[0], "again", "and the next is asked")

# ---- consoles ----
name = k.answer("create_subshell_request", {}, "control")[0]["subshell_id"]
console = {"subshell_id": name}
same(k.answer("list_subshell_request", {}, "control")[0]["subshell_id"], [name], "a console is listed")
same(shown(k.answer("execute_request", {"code": "kept"}, header=console)[1]), "41", "without a cell it has the session")
about = k.ask("execute_request", {"code": "while true do s:sum():item() end", "allow_stdin": False})
k.published(about, "execute_input")
time.sleep(0.2)


def look(code):
    return shown(k.answer("execute_request", {"code": code, "silent": False}, header=console)[1])


ok(re.search("item +sim:0", look(":sync")), "while a cell runs it sees the waits")
ok(re.search("item +sim:0", look(":sync")), "which stay in the ledger")
ok(re.match(" +in use.*\ncpu.*\nsim:0.*\n$", look(":mem")), "the memory of devices")
ok(look(":status").startswith("-- cell "), "what runs")
ok("* cpu" in look(":dev"), "the devices")
same([look(c).startswith("a cell is running; until it ends,") for c in ("kept", ":quit", "x = 1", "", ":sync x")], [True] * 5,
     "the rest is answered in a sentence")
same(k.answer("execute_request", {"code": "x = 1"}, header=console)[0]["ename"], "Busy", "and is no cell that succeeded")
ok(look("?conv2d").startswith("conv2d(x, weight,") and look("zeros?").startswith("zeros("), "but help about gpush's names")
reply = k.answer("inspect_request", {"code": "conv2d(x", "cursor_pos": 3, "detail_level": 0}, header=console)[0]
ok(reply["found"] and reply["data"]["text/plain"].startswith("conv2d("), "by inspection, too", reply)
same(k.answer("kernel_info_request", {}, header=console)[0]["status"], "ok", "what it is")
same(k.answer("kernel_info_request", {})[0]["status"], "ok", "to a front end that comes now, too")
m = k.client.get_iopub_msg(timeout=20)
same((m["content"], m["parent_header"]["msg_id"]), ({"execution_state": "busy"}, about), "and then, that the cell goes on")
same(k.answer("complete_request", {"code": "ze", "cursor_pos": 2}, header=console)[0]["matches"], [], "no completion")
same(k.answer("execute_request", {"code": "1"}, header={"subshell_id": "nosuch"})[0]["ename"], "UnknownSubshell", "an unknown console")
more = [k.answer("create_subshell_request", {}, "control")[0]["status"] for _ in range(40)]
ok("error" in more and more.count("ok") > 20, "there is an end to their number", more)
same(k.answer("delete_subshell_request", {"subshell_id": name}, "control")[0]["status"], "ok", "a console is deleted")
same(k.answer("delete_subshell_request", {"subshell_id": name}, "control")[0]["status"], "error", "once")
k.interrupt("message")
same((k.reply(about)["ename"], k.text("kept")), ("Interrupted", "41"), "all of which left the cell alone")

# ---- HTML ----
def html(code):
    return next((c["data"].get("text/html", "") for t, c in k.run(code)[1] if "data" in c), "")


ok(html("tensor {{1, 2}, {3, 4.5}}").count("<td") == 6, "a matrix is a table")
ok(html("rand(50, 60)").count("<tr>") == 22, "a large one its corners")
same(html("zeros(2, 2, 2)"), "", "what has more dims is text")
k.run("prof = profile.run(function() return s:matmul(s):sum():item() end)")
ok("<th" in html("prof") and "matmul" in html("prof"), "a profile is a table of rows")
ok(re.search("<th[^>]*>what the time is owed to</th>.*<td", html("prof:verdict()")), "a verdict")
page = html("prof:whatif{without = 'item'}")
ok(re.match("<div>profile of .*predicted by a replay.*</div><table><tr><th.*<td[^>]*>matmul</td>", page), "what would be, and that it is predicted", page)
page = html("prof:report()")
ok(page.startswith("<iframe sandbox=") and unescape(page).count("<!doctype html>") == 1, "its page", page[:300])
same(html("prof:report 'page.html'"), "", "which is written where it has a name")
ok("<!doctype html>" in open("page.html").read(), "to that file")
k.run("sync.reset(); s:sum():item(); sync.reset() s:sum():item()")
out = k.run("sync.report()")[1]
ok(out[2][0] == "display_data" and out[2][1]["data"]["text/html"].count("<tr>") == 2, "the report of waits, with no wait of our own", out[2])
ok(re.search("nowrap\">[0-9.]+ [mun]s<", out[2][1]["data"]["text/html"]), "in which a number and its unit stay together", out[2])
ok("&lt;b&gt;" in html("setmetatable({}, {__tostring = function() return 'a  b  c  d\\n<b>  1  2  3' end})"), "text in it is escaped")

# ---- The end ----
reply = k.run("%matplotlib inline")[0]
same(reply["status"], "ok", "what notebooks begin with is no error")
reply = k.run("exit()")[0]
same((reply["status"], [p["source"] for p in reply["payload"]]), ("ok", ["ask_exit"]), "exit is answered")
k.end()
done()
