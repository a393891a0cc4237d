-- The lab find_the_wait: its step waits in six lines, answers are marked, and a rewrite passes when
-- nothing waits and it computes the same.
local t = require "tap"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"

local function lab(options)
    local p = io.popen(("'%s/gpush' '%s/scripts/labs/find_the_wait.lua' --steps 4 --size 16 %s \z
        2>&1 </dev/null"):format(build, root, options))
    local out = p:read "a"
    return out, (p:close())
end

local out, ok = lab ""
t.ok(ok and out:find "Answer with %-%-guess", "without an answer it asks")
out, ok = lab "--guess 2,6,9,14"
t.ok(ok and out:find "\n3 of 6 lines found; no wait in 9\n", "an answer is marked", out)
for _, line in ipairs { 2, 6, 10, 11, 12, 14 } do
    local row = "\n%4d  %%l+ +%%d+ waits, [%%d.]+ %%ls a step, on the card [%%d.]+ %%ls%%."
    t.ok(out:find(row:format(line)), ("line %d waits, here and on a card"):format(line), out)
end

local file = os.tmpname()
t.ok(select(2, lab("--write " .. file)), "the step is written to a file")
local text = assert(io.open(file)):read "a"
local function check(changes)
    local mine = text
    for before, after in pairs(changes) do
        local at, last = mine:find(before, 1, true)
        mine = mine:sub(1, at - 1) .. after .. mine:sub(last + 1)
    end
    assert(io.open(file, "w")):write(mine):close()
    return lab("--check " .. file)
end
local changes = {
    ["labels:to(x.device)"] = "labels:to(x.device, {non_blocking = true})",
    ["losses[losses > 2]"] = "where(losses > 2, losses, 0)",
    ["if norm:isfinite() then optimizer:step() end"] = "optimizer:step()",
    [":sum():item()"] = ":sum()",
    ['state.log[#state.log + 1] = ("loss %s"):format(loss)'] =
        'sync.async(loss:detach(), function(v) state.log[#state.log + 1] = v end)',
    ["y:unique():numel()"] = "y:one_hot(10):amax(1):sum()",
    ["state.classes = math.max(state.classes, used)"] =
        "state.classes = where(used > state.classes, used, state.classes)",
}
out, ok = check(changes)
t.ok(ok and out:find "^passed: nothing waits", "without its waits it passes", out)
for before in pairs(changes) do
    local some = {}
    for b, after in pairs(changes) do if b ~= before then some[b] = after end end
    if not before:find "state.classes" then
        out, ok = check(some)
        t.ok(not ok and out:find "^not yet: [^\n]+would wait", "not with: " .. before, out)
    end
end
-- changed(BEFORE, AFTER): the clean rewrite with another text in place of one of its own.
local function changed(before, after)
    local own = changes[before]
    changes[before] = after
    out, ok = check(changes)
    changes[before] = own
    return out
end
t.ok(changed("losses[losses > 2]", "losses"):find "the weights differ" and not ok,
    "nor without the mask", out)
t.ok(changed('state.log[#state.log + 1] = ("loss %s"):format(loss)', ""):find "state.log is empty"
    and not ok, "nor without the log", out)
t.ok(changed("y:unique():numel()", "y:nonsense()"):find "^not yet: [^\n]+nonsense" and not ok,
    "nor where it fails", out)
t.ok(changed("y:unique():numel()", "end"):find "^not yet: [^\n]+near 'end'\n$" and not ok,
    "nor where it is no Lua", out)
out, ok = lab "--check /nonexistent/mine.lua"
t.ok(not ok and out:find "^not yet: /nonexistent/mine.lua: No such file[^\n]*\n$", "no file", out)
out, ok = lab "--device cpu --guess 2"
t.ok(not ok and out:find "^on cpu nothing waits", "a device on which nothing waits", out)
changes["/ losses:numel()"] = "/ 2 / losses:numel()"
out, ok = check(changes)
t.ok(not ok and out:find "the weights differ", "nor where it computes something else", out)
os.remove(file)
t.done()
