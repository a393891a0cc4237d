-- gpush analyze --baseline: checks that ask for no times. What each counts is known beforehand.
local t = require "tap"
local made = require "torch_trace"
local folder, build = os.getenv "TMPDIR" or "/tmp", os.getenv "GPUSH_BUILD"

local function write(name, text)
    local file <close> = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
end
local function read(name)
    local file <close> = assert(io.open(folder .. "/" .. name))
    return file:read "a"
end

-- As many kernels, a copy of that many bytes, and reads of the lines that are listed; in as many
-- steps, of a rank.
local function trace(name, o)
    local r = made.trace { rank = o.rank }
    r:whole(0, 1000)
    for i = 1, o.steps or 0 do r:region("ProfilerStep#" .. i, 50 * i, 50) end
    for i = 1, o.kernels do
        r:op("aten::add", 20 * i, 10)
        r:kernel("add", 20 * i + 12, 5, r:call("cudaLaunchKernel", 20 * i + 2, 5))
    end
    r:op("aten::to", 300, 20)
    r:copy("Memcpy HtoD (Pinned -> Device)", 330, 5, r:call("cudaMemcpyAsync", 305, 5), o.bytes)
    for i, line in ipairs(o.reads) do
        local at = 400 + 50 * i
        if o.region then
            r:region(o.region, at, 45)
        else
            r:python(("%s/train.py(%d): step"):format(folder, line - 1), at, 45)
            r:python("torch/_tensor.py(9): item", at + 1, 42,
                ("%s/train.py:%d"):format(folder, line))
        end
        r:op("aten::item", at + 2, 40)
        if o.copied then
            r:copy("Memcpy DtoH (Device -> Pageable)", at + o.copied, 2,
                r:call("cudaMemcpyAsync", at + 4, 5), 4)
        end
        r:call("cudaStreamSynchronize", at + 10, 20)
    end
    if o.profilers then
        r:python("torch/profiler/profiler.py(811): step", 800, 100)
        r:call("cudaDeviceSynchronize", 820, 50)
    end
    write(name, r:text())
end
-- status and what stdout has, of gpush analyze with the baseline.
local function analyze(name, options)
    local pipe <close> = assert(io.popen(("cd %s && %s/gpush analyze --baseline base.json %s %s \z
        2>err; echo $?"):format(folder, build, options or "--tap", name)))
    local text, status = pipe:read "a":match "^(.-)(%d+)\n$"
    return math.tointeger(status), text, read "err"
end
-- What a record says whose counts are those of the baseline.
local function as_baseline(waits, launches, copies, bytes)
    return ([[
ok 1 - waits: %d, at most %d
ok 2 - launches: %d, at most %d
ok 3 - copies: %d, at most %d
ok 4 - bytes: %d, at most %d
1..4
]]):format(waits, waits, launches, launches, copies, copies, bytes, bytes)
end

local step = "def step(x):\n    a = x.sum().item()\n    b = x.max().item()\n"
write("train.py", "import torch\n" .. step)
trace("first.json", { kernels = 3, bytes = 1000, reads = { 3, 3 } })
local status, out, err = analyze("first.json", "--update")
t.is(status, 0, "a baseline is written")
t.ok(err:find("wrote base.json", 1, true), "which is said", err)
status, out = analyze "first.json"
t.is(out, as_baseline(2, 3, 1, 1000), "the same record passes")
t.is(status, 0, "and its status is 0")

write("train.py", "import torch\n\n\n" .. step)
trace("moved.json", { kernels = 3, bytes = 1000, reads = { 5, 5 } })
t.is((analyze "moved.json"), 0, "a line that moved is the same line")

-- A line of the same number whose text was changed is that line still: it had two waits.
write("train.py", "import torch\n" .. step:gsub("sum", "mean"))
trace("edited.json", { kernels = 3, bytes = 1000, reads = { 3, 3, 3 } })
status, out = analyze "edited.json"
t.ok(status == 1 and out:find("train.py:3: aten::item, 3 instead of 2", 1, true),
    "a changed line", out)
trace("as_many.json", { kernels = 3, bytes = 1000, reads = { 3, 3 } })
t.is((analyze "as_many.json"), 0, "which has as many waits as before")

write("train.py", "import torch\n\n\n" .. step)
trace("new.json", { kernels = 2, bytes = 1000, reads = { 5, 6 } })
status, out = analyze "new.json"
t.is(status, 1, "another line's wait is a failure, in as many")
t.ok(out:find("not ok 1 - waits: 2, at most 2\n# " .. folder
    .. "/train.py:6: aten::item, 1 instead of 0", 1, true), "which names the line", out)
t.ok(out:find("ok 2 - launches: 2, at most 3", 1, true), "fewer launches pass", out)
trace("more.json", { kernels = 4, bytes = 1001, reads = { 5, 5, 5 } })
status, out = analyze("more.json", "--tap --fail-on launches,bytes --junit gate.xml")
t.is(status .. out, "1" .. [[
not ok 1 - launches: 4, at most 3
not ok 2 - bytes: 1001, at most 1000
1..2
]], "--fail-on checks what it names")
t.is(read "gate.xml", [[
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="gpush" tests="2" failures="2">
  <testcase classname="gpush" name="launches">
    <failure message="launches: 4, at most 3"></failure>
  </testcase>
  <testcase classname="gpush" name="bytes">
    <failure message="bytes: 1001, at most 1000"></failure>
  </testcase>
</testsuite>
]], "--junit")
-- Names with what ends a line, colours a terminal, is no ASCII, or no UTF-8 at all.
trace("named.json", { kernels = 3, bytes = 1000, reads = { 3, 3, 3 },
    region = "schr\u{ed}tt^not ok 9~[3m\xff<" })
write("named.json", (read "named.json":gsub("[%^~]", { ["^"] = "\\n", ["~"] = "\\u001b" })))
status, out = analyze("named.json", "--tap --fail-on waits --junit named.xml")
t.ok(status == 1 and out:find("schr\u{ed}tt\\x0anot ok 9\\x1b[3m", 1, true)
    and not out:find("\nnot ok 9", 1, true) and not out:find("\27", 1, true),
    "a name is no line of TAP", out)
local xml = read "named.xml"
t.ok(xml:find("schr\u{ed}tt\\x0anot ok 9\\x1b[3m?&lt;", 1, true) and utf8.len(xml),
    "and JUnit's file is UTF-8", xml)
status, out, err = analyze("more.json", "")
t.ok(status == 1 and out:find("Verdict", 1, true)
    and err:find("failed: waits: 3, at most 2", 1, true)
    and err:find("train.py:5: aten::item, 3 instead of 2", 1, true), "beside the text", err)
status, out, err = analyze("first.json", "--fail-on peak")
t.ok(status == 3 and err:find("peak: the record lacks it", 1, true), "what is not recorded", err)
-- 8192 bytes at most on the host, in a baseline of its own; then twice that.
local function remember(name, ...)
    local r = made.trace()
    r:op("aten::add", 0, 10)
    for i, level in ipairs { ... } do
        r:raw(('{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 77, \z
            "tid": 77, "ts": %d, "args": {"Total Allocated": %d, "Bytes": %d, "Device Id": -1, \z
            "Device Type": 0, "Addr": 4096}}'):format(i, level, level - (select(i, 0, ...))))
    end
    write(name, r:text())
end
remember("memory.json", 4096, 8192, 0)
remember("twice.json", 4096, 16384, 0)
status, out, err = analyze("first.json", "--fail-on peak --update")
t.ok(status == 3 and err:find("the record lacks it", 1, true), "no baseline without it", err)
local kept_base = read "base.json"
status = analyze("memory.json", "--fail-on peak --update")
status, out = analyze("memory.json", "--fail-on peak --tap")
t.is({ status, out }, { 0, "ok 1 - peak: 8192, at most 8192\n1..1\n" }, "the host's peak", out)
status, out = analyze("twice.json", "--fail-on peak --tap")
t.is({ status, out }, { 1, "not ok 1 - peak: 16384, at most 8192\n1..1\n" }, "more of it")
write("base.json", kept_base)
status, out, err = analyze("first.json", "--fail-on '' --tap")
t.ok(status == 2 and err:find("got ''", 1, true), "nothing to check is no success", err)
status, out, err = analyze("first.json", "first.json --tap")
t.ok(status == 3 and err:find("are one file", 1, true), "a file is not two ranks", err)
status, out, err = analyze("first.json", "--fail-on time")
t.ok(status == 2 and err:find("got 'time'", 1, true), "what there is not", err)
status, out, err = analyze("first.json", "--json --tap")
t.is(status, 2, "one output at a time")

-- A record of more steps is compared by step: 2 reads, 3 kernels and 1000 bytes a step.
trace("one.json", { steps = 1, kernels = 3, bytes = 1000, reads = { 5, 6 } })
t.is((analyze("one.json", "--update")), 0, "the baseline of a step")
trace("two.json", { steps = 2, kernels = 6, bytes = 2000, reads = { 5, 6, 5, 6 } })
status, out, err = analyze "two.json"
t.is(status .. out, "0" .. [[
ok 1 - waits: 4 in 2 steps, at most 2 in 1 step
ok 2 - launches: 6 in 2 steps, at most 3 in 1 step
ok 3 - copies: 1 in 2 steps, at most 1 in 1 step
ok 4 - bytes: 2000 in 2 steps, at most 1000 in 1 step
1..4
]], "two steps have twice as much")
trace("two.json", { steps = 2, kernels = 7, bytes = 2001, reads = { 5, 6, 5, 6, 6 } })
status, out, err = analyze "two.json"
t.is(status .. out:gsub("1 step: [^\n]+", "1 step"), "1" .. ([[
not ok 1 - waits: 5 in 2 steps, at most 2 in 1 step
# %s/train.py:6: aten::item, 3 in 2 steps instead of 1 in 1 step
not ok 2 - launches: 7 in 2 steps, at most 3 in 1 step
ok 3 - copies: 1 in 2 steps, at most 1 in 1 step
not ok 4 - bytes: 2001 in 2 steps, at most 1000 in 1 step
1..4
]]):format(folder), "or more")
t.is((analyze("two.json", "--update")), 0, "the baseline of two steps")
trace("one.json", { steps = 1, kernels = 4, bytes = 1000, reads = { 5 } })
status, out, err = analyze "one.json"
t.ok(status == 1 and out:find("not ok 2 - launches: 4 in 1 step, at most 7 in 2 steps", 1, true),
    "one step may have half as much", out)
status, out, err = analyze "first.json"
t.ok(err:find("the record has no steps: what was counted is compared as it is", 1, true),
    "a record without steps", err)
-- The profiler's own wait is nobody's to mend, in the record or in a file of an older gpush.
trace("own.json", { kernels = 3, bytes = 1000, reads = { 5, 6 }, profilers = true })
trace("lines.json", { kernels = 3, bytes = 1000, reads = { 5, 6 } })
t.is((analyze("lines.json", "--update")), 0, "a baseline of two lines")
status, out, err = analyze "own.json"
t.ok(status == 0 and out:find("ok 1 - waits: 2, at most 2", 1, true),
    "a profiler's wait passes", out)
t.ok(err:find("1 wait of the profiler's own is not counted", 1, true), "which is said", err)
write("base.json", (read "base.json":gsub('"waits":%[', '%0{"file":"p.py","line":1,"text":"",\z
    "why":"explicit","what":"profiler: cudaDeviceSynchronize","times":3},')))
status, out, err = analyze "own.json"
t.ok(status == 0 and out:find("ok 1 - waits: 2, at most 2", 1, true), "nor in the file", out .. err)
status, out, err = analyze("own.json", "--tap --junit -")
t.ok(status == 2 and err:find("--junit: expected a file, got '-'", 1, true), "'-' is no file", err)
-- Ranks.
for rank = 0, 1 do
    trace(("rank%d.json"):format(rank), { rank = rank, steps = 1, kernels = 3, bytes = 1000,
        reads = { 5, 6 } })
end
status, out, err = analyze("rank0.json rank1.json", "--update --tap")
t.is(status, 0, "a baseline of two ranks")
status, out, err = analyze "rank0.json rank1.json"
t.is(status .. out, "0" .. as_baseline(4, 6, 2, 2000), "two ranks against two")
status, out, err = analyze "rank0.json"
t.is(status .. out, "3", "one against two is no comparison")
t.ok(err:find("it is of 2 ranks, and the record of 1 (expected as many: a file for each number, "
    .. "or --update)", 1, true), "which says so", err)

-- Where the source cannot be read, lines are known by their numbers.
os.remove(folder .. "/train.py")
t.is((analyze("first.json", "--update")), 0, "without the source")
status, out, err = analyze "first.json"
t.is(status, 0, "what was written is read again", err)
status, out = analyze "moved.json"
t.ok(status == 1 and out:find("train.py:5: aten::item, 2 instead of 0", 1, true), "by number", out)
write("base.json", '{"form": "gpush profile baseline 1", "launches": "many"}')
status, out, err = analyze "first.json"
t.ok(status == 3 and err:find("base.json: expected a file that --baseline", 1, true), "damaged",
    err)
local record = io.popen(("cd %s && %s/gpush record --baseline base.json -- touch ran 2>&1; echo $?")
    :format(folder, build)):read "a"
t.ok(record:find "3%c$" and not io.open(folder .. "/ran"), "which record says before it runs",
    record)
local alone = ("%s/gpush analyze --tap %s/first.json 2>/dev/null"):format(build, folder)
t.is(select(3, os.execute(alone)), 2, "--tap without --baseline")
-- An item() copies, and waits for its stream: whether the copy's call returned after the copy's
-- end, and so waited, too, is a matter of time.
trace("late.json", { kernels = 3, bytes = 1000, reads = { 3, 3 }, copied = 25 })
t.is((analyze("late.json", "--update")), 0, "copies that end late")
trace("early.json", { kernels = 3, bytes = 1000, reads = { 3, 3 }, copied = 5 })
status, out = analyze "early.json"
t.is({ status, out:match "ok 1 [^\n]*" }, { 0, "ok 1 - waits: 2, at most 2" },
    "and copies that were waited for: one wait of each op")

t.done()
