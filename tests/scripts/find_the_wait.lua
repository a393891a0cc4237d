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
t.ok(not select(2, lab("--write " .. file)), "a file that is there stays")
os.remove(file)
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
        t.ok(not ok and out:find "^not yet: [^\n]+:%d+ waits %d times?: ", "not with: " .. before,
            out)
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

-- Cheats: each is refused. `body` is the clean step, `waits` the same with an item() in it.
local clean = text
for before, after in pairs(changes) do
    local at, last = clean:find(before, 1, true)
    clean = clean:sub(1, at - 1) .. after .. clean:sub(last + 1)
end
local body = clean:match "^return function%(.-%)\n(.*)end\n$"
local waits = body:gsub(":sum%(%)\n    sync", ":sum():item()\n    sync")
t.ok(waits ~= body and clean:find(body, 1, true), "a body that waits, and one that does not")
local head = "return function(model, optimizer, x, labels, state)\n"
local function step(inner) return head .. inner .. "end\n" end
local early = "state.n = (state.n or 0) + 1\nif state.n > 1 then return end\n"
local cheats = {
    { "modes off", step("local _ <close> = sync.off()\n" .. waits) },
    { "waits allowed", step("local _ <close> = sync.allow 'no reason'\n" .. waits) },
    { "the mode set", step("sync.mode = 'off'\n" .. waits) },
    { "a ledger forgotten", step(waits .. "sync.reset()\n") },
    { "the real sync", "local sync = require('gpush').sync\n" .. step(waits .. "sync.reset()\n") },
    { "sync replaced", "sync = {async = sync.async, lines = function() return {} end}\n" .. step(
        waits) },
    { "the clock replaced", "clock = function() return 0 end\n" .. step(waits) },
    { "print replaced", "print = function() end\nio = nil\n" .. step(waits) },
    { "output replaced", "io.write = function() end\n" .. step(body) },
    { "a tolerance changed", "math.abs = function() return 0 end\nmath.max = math.abs\n" .. step(
        body:gsub("optimizer:step%(%)", "")) },
    { "a layer replaced", "local f = nn.Linear.forward\nnn.Linear.forward = function(self, x) \z
        return f(self, x):detach() * 0 + self.bias end\n" .. clean },
    { "a layer's table replaced", "nn.Module.parameters = function() return {} end\n" .. clean },
    { "its helpers replaced", "nn.utils.clip_grad_norm_ = function(list) \z
        return list[1].grad:norm() end\n" .. clean },
    { "gradients that are not clipped", step(body:gsub("local norm = [^\n]*\n", "")) },
    { "a copy that has not come", step("if state.p ~= nil then state.q = state.p:item() end\n" ..
        body .. "state.p = loss:detach():to('cpu', {non_blocking = true})\n"),
        tries = 5 }, -- where it has come in each step, by chance, the program is right
    { "labels used as a mailbox", step(body .. "labels:copy_(logits:detach():argmax(2), \z
        {non_blocking = true})\nstate.q = labels[1]:item()\n") },
    { "losses that are sorted", step(body .. "state.l = state.l or {}\nstate.l[#state.l + 1] = \z
        loss:detach()\ntable.sort(state.l)\n") },
    { "a hook of the model", step("if not state.h then\n    state.h = true\n    \z
        model:register_forward_hook(function(_, _, y) y:sum():item() end)\nend\n" .. body) },
    { "half of the steps", step("state.n = (state.n or 0) + 1\nif state.n % 2 == 0 then \z
        state.seen = state.seen + x.shape[1] return end\n" .. body:gsub("optimizer:step%(%)",
        "%0 %0")) },
    { "another dtype", head .. "autocast('bf16', function()\n" .. body .. "end)\nend\n" },
    { "NaN for weights", step(body .. "model:parameters()[1]:detach():fill_(0 / 0)\n") },
    { "a cached result", step(early .. body) },
    { "a constant result", step
        "state.right, state.seen, state.classes = 0, 0, 10\nstate.log[1] = 2.3\n" },
    { "an end before the check", "os.exit(0)\n" .. clean },
    { "an end in the step", step(body .. "os.exit(true, true)\n") },
    { "work before the check", "nn.Linear(16, 10)(randn(2, 16)):sum():backward()\n" .. step
        "state.seen = state.seen + x.shape[1]\n" },
    { "work after the check", step(body ..
        "local w = model:parameters()[1]\nsync.async(loss:detach(), function() w:sum() end)\n") },
    { "a wait after the check", step(body ..
        "local w = model:parameters()[1]\nsync.async(x, function() w:sum():item() end)\n") },
    { "a result that is none", step(body .. "state.right = function() return 0 end\n") },
    { "a table that computes", step(body .. "setmetatable(state, {})\n") },
    { "a coroutine", step("coroutine.wrap(function()\n" .. waits .. "end)()\n") },
    { "a fork", step("wait(fork(function()\n" .. waits .. "end))\n") },
    { "a process", step(body .. "os.execute 'true'\n") },
    { "the model moved", step("model:to 'cpu'\nx = x:cpu()\n" .. body) },
    { "batches moved", step("local p = x:to('cpu', {non_blocking = true})\n" .. body) },
    { "errors swallowed", step("pcall(function()\n" .. waits .. "end)\n") },
    { "hooks", "debug.sethook(function() end, 'l')\n" .. step(waits) },
    { "upvalues", "debug.getregistry()\n" .. clean },
    { "text loaded", step("load('x = 1')()\n" .. body) },
    { "formats replaced", "string.format = function() return '' end\n" .. step(waits) },
    { "a log of nothing", step(body:gsub("= v end", "= 'fine' end")) },
    { "a profile stopped", step(body .. "profile.stop()\n") },
    { "another device", step(body .. "sim.card = 'h200'\n") },
}
for _, cheat in ipairs(cheats) do
    assert(io.open(file, "w")):write(cheat[2]):close()
    for _ = 1, cheat.tries or 1 do
        out, ok = lab("--check " .. file)
        if not ok then break end
    end
    t.ok(not ok and not out:find "passed" and not out:find "traceback", "refused: " .. cheat[1],
        out)
end
changes["/ losses:numel()"] = "/ 2 / losses:numel()"
out, ok = check(changes)
t.ok(not ok and out:find "which is the loss of no step", "nor where it computes something else",
    out)
os.remove(file)
t.done()
