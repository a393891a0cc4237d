-- Ops that a library adds (gpush/op.h): they are called, checked, differentiated, recorded and
-- described as gpush's own; and what is wrong with a library, or goes wrong in it, is an error that
-- names it. The libraries are tests/support/extension.
local t, gpush = require "tap", require "gpush"
local function close(got, want, name) return t.close(got, want, 1e-5, name) end
package.cpath = os.getenv "GPUSH_BUILD" .. "/tests/extension/?.so;" .. package.cpath

-- ---- calls ----

t.is(rawget(_G, "hypot3"), nil, "there is none before")
local ops_before = ops().matmul and ops().hypot3
local lib = require "distances"
t.is(ops_before, nil, "nor in the table of ops")
local hypot3, cityblock = lib.hypot3, lib.cityblock
t.ok(rawget(_G, "hypot3") == hypot3 and require "gpush".hypot3 == hypot3,
    "require gives the functions, which are globals, too")
local row = ops().hypot3
t.is({ row.sig, row.help, row.kind, row.grad }, { "operand! x, operand y, operand z",
    "length of the vectors (x, y, z)", "custom", "yes" }, "the table has its row")

for _, device in ipairs { "cpu", "sim" } do
    local x = tensor({ { 2, 3 }, { 6, 4 } }, { device = device, dtype = "f32" })
    local y = tensor({ 3, 4 }, { device = device, dtype = "f32" })
    local z = tensor({ { 6 }, { 6 } }, { device = device, dtype = "f32" })
    close(hypot3(x, y, z), { { 7, math.sqrt(61) }, { 9, math.sqrt(68) } },
        "operands broadcast on " .. device)
    close(x:hypot3(3, 6), { { 7, math.sqrt(54) }, { 9, math.sqrt(61) } }, "a method, and numbers")
    close(hypot3(x:t(), 0, 0), { { 2, 6 }, { 3, 4 } }, "of strides")
    close(hypot3(x, tensor(3), { z = tensor(6.0) }), { { 7, math.sqrt(54) }, { 9, math.sqrt(61) } },
        "tensors without dims, of the cpu, and options")
    close(hypot3(x, tensor({ 3 }, { device = device }), x:long()),
        { { math.sqrt(17), math.sqrt(27) }, { 9, math.sqrt(41) } }, "integers become floats")
    t.is(hypot3(ones(0, 2, { device = device }), 1, 2).shape, { 0, 2 }, "nothing to compute")
    local w = x:clone()
    t.ok(rawequal(w:hypot3_(y, z), w), "in place")
    close(w, { { 7, math.sqrt(61) }, { 9, math.sqrt(68) } }, "which writes")
    local a = tensor({ { 0, 1 }, { 2, 2 }, { 5, 0 } }, { device = device, dtype = "f32" })
    local b = tensor({ { 1, 1 }, { 0, 0 } }, { device = device, dtype = "f32" })
    t.is(cityblock(a, b), { { 1, 1 }, { 2, 4 }, { 5, 5 } }, "a shape of its own on " .. device)
    t.is(cityblock(a:t():contiguous():t(), b), { { 1, 1 }, { 2, 4 }, { 5, 5 } },
        "whose arguments are made contiguous")
end

-- ---- the same errors ----

local x = ones(2, 3)
for text, call in pairs {
    ["hypot3: argument 'x' %(#1%): expected a tensor or a number, got '1'"] = { hypot3, "1", x, x },
    ["hypot3: argument 'z' %(#3%): expected a tensor or a number, got nothing"] = { hypot3, x, x },
    ["hypot3: 4 arguments given, at most 3 expected"] = { hypot3, x, x, x, x },
    ["hypot3: unknown option 'zz'"] = { hypot3, x, x, { zz = 1 } },
    ["hypot3: shapes 2x3 and 4 do not broadcast"] = { hypot3, x, ones(4), 1 },
    ["hypot3: dtype f64 of argument 'x' is not supported %(expected f32%)"] =
        { hypot3, x:double(), x, x },
    ["hypot3: tensors are on different devices: cpu and sim:0"] =
        { hypot3, x, ones(2, 3, { device = "sim" }), x },
    ["cityblock: dtype i64 of argument 'y' is not supported"] = { cityblock, x, x:long() },
    ["cityblock: expected x of n x d and y of m x d"] = { cityblock, x, ones(3) },
    ["hypot3_: argument #1: expected a tensor to write to"] = { x.hypot3_, 1, x, x },
    ["hypot3_: the tensor that is written is not contiguous"] = { x.hypot3_, x:t(), 1, 1 },
} do
    t.error(function() call[1](table.unpack(call, 2)) end, text, text)
end

-- ---- gradients ----

local p = rand(2, 3):requires_grad_()
local q = rand(3):requires_grad_()
hypot3(p, q, 2):sum():backward()
local y = (p:detach() ^ 2 + q:detach() ^ 2 + 4):sqrt()
close(p.grad, p:detach() / y, "by a function of the library's")
close(q.grad, (q:detach() / y):sum(1), "of what was broadcast")
local a, b = randn(3, 4):requires_grad_(), randn(2, 4):requires_grad_()
local weight = randn(3, 2)
weight:mul(cityblock(a, b)):sum():backward()
local left = (a:detach():unsqueeze(2) - b:detach():unsqueeze(1)):sign() * weight:unsqueeze(3)
close(a.grad, left:sum(2), "by another op")
close(b.grad, -left:sum(1), "for each tensor")
local g = grad(hypot3(p, q, 1):sum(), p, { create_graph = true })
g:sum():backward()
t.ok(p.grad:isfinite():all():item(), "a gradient that is composed has one itself")
t.error(function()
    local c = ones(1, 2):requires_grad_()
    local d = grad(cityblock(c, c):sum(), c, { create_graph = true })
    d:sum():backward()
end, "backward: cityblock_grad has no gradient: library 'distances' gives none", "one that is not")
local keep = p.grad
p.grad = nil
no_grad(function() t.is(hypot3(p, q, 2).requires_grad, false, "no_grad holds") end)
p.grad = keep

-- ---- records, capture, fuse, diverge, streams ----

local s = ones(4, { device = "sim" })
local prof = profile.run(function() return hypot3(s, 1, 2):sum():item() end)
t.ok(prof:table():find "hypot3", "a profile has it by its name")
if pcall(capture, print) then -- which a build may leave out
    local step = capture(function(v) return hypot3(v, 1, 2) * 2 end)
    for i = 1, 3 do close(step(s * i), hypot3(s * i, 1, 2) * 2, "captured, call " .. i) end
    local fused = fuse(function(v) return (hypot3(v + 1, 1, 2) * 2):relu() end)
    for i = 1, 3 do
        close(fused(s * i), (hypot3(s * i + 1, 1, 2) * 2):relu(), "within fuse, call " .. i)
    end
end
local parts = gpush.diverge(function(v) return hypot3(v, 1, 2) end, { rand(5) }, { device = "sim" })
t.ok(tostring(parts):find "none of 1 results", "diverge compares it")
t.error(function()
    gpush.nan.watch(function() return hypot3(tensor { 3e38 }, 3e38, 0) end)
end, "hypot3", "nan.watch looks at what it gives")
local f = fork(function() return cityblock(ones(40, 8), zeros(30, 8)) end)
t.is(wait(f):sum():item(), 40 * 30 * 8.0, "in a fork")
local big, out = rand(512, 64, { device = "sim" }), nil
for _ = 1, 5 do
    local v = big:clone()
    out = v:hypot3_(v, 0)
    v:mul_(2)
end
close(out, big * math.sqrt(2) * 2, "in order with what writes before and after")

-- ---- what kernels see and write ----

local probe = require "probe"
local probe_seen, probe_scale, probe_both = probe.probe_seen, probe.probe_scale, probe.probe_both
local probe_strided, probe_shape, probe_fails = probe.probe_strided, probe.probe_shape,
    probe.probe_fails
local probe_gradient, probe_on_card = probe.probe_gradient, probe.probe_on_card
t.is(ops().probe_seen.sig, 'tensor x, int i=3, float f=0.5, bool b=true, dims? d, str s="abc", \z
    number n=2.5, dtype? t, dim along=-1', "a signature is shown as gpush's own")
t.is(probe_seen(x), { 2, 3, 3, 0.5, 1, -1, -1, 3, 2.5, 2, -1, 1 }, "defaults")
t.is(probe_seen(x, 7, 2, false, { 2, 1 }, "xy", 4, "i16", 1),
    { 2, 3, 7, 2, 0, 2, 1, 2, 4, 4, 3, 0 }, "arguments")
t.is(x:probe_seen { n = -1.5, s = "", t = "f64", d = 2 },
    { 2, 3, 3, 0.5, 1, 1, 2, 0, -1.5, -1, 9, 1 }, "options")
t.error(function() probe_seen(x, { along = 3 }) end,
    "probe_seen: dim 3 is out of range %(expected 1 to 2, or %-2 to %-1%)", "gpush_dim")
for _, device in ipairs { "cpu", "sim" } do
    local d = { device = device, dtype = "f64" }
    local u, v = ones(3, d), ones(2, 2, d) * 2
    t.is(select("#", probe_scale({ u, v }, 3)), 0, "an op that only writes")
    t.is({ u:tolist(), v:tolist() }, { { 3, 3, 3 }, { { 6, 6 }, { 6, 6 } } }, "on " .. device)
    t.error(function() probe_scale({ ones(2, 3, d):t() }, 2) end,
        "probe_scale: tensor 1 of argument 'xs' is not contiguous", "a list that is not contiguous")
    t.error(function() probe_scale({ ones(3, d):requires_grad_() }, 2) end,
        "tensor 1 of argument 1 requires gradients and is written in place", "nor a leaf")
    local m = arange(1, 6, { device = device, dtype = "f64" }):reshape(2, 3)
    t.is(probe_strided(m:t(), tensor({ 10, 20 }, d)), { { 21, 44 }, { 22, 45 }, { 23, 46 } },
        "a kernel that takes strides")
    t.is(m:t():probe_strided_(1):t(), { { 3, 4, 5 }, { 6, 7, 8 } }, "and writes by them")
    t.is(m, { { 3, 4, 5 }, { 6, 7, 8 } }, "into the tensor")
    local minus, plus = probe_both(m, 1)
    t.is({ minus:tolist(), plus:tolist() },
        { { { 2, 3, 4 }, { 5, 6, 7 } }, { { 4, 5, 6 }, { 7, 8, 9 } } }, "two results")
end
local leaf = ones(2, { dtype = "f64" }):requires_grad_()
local by = { ones(2, { dtype = "f64" }), ones(3, { dtype = "f64" }) }
local x2 = tensor({ 3, 4 }, { dtype = "f64" }):requires_grad_()
probe.probe_times(x2, by):sum():backward()
t.is(x2.grad, { 2, 2 }, "a gradient beside a list")
by[2]:requires_grad_()
t.error(function() probe.probe_times(x2, by):sum():backward() end,
    "backward: probe_times: tensors in a list, as 'ys', have no gradients: detach them",
    "none of a list")
t.error(function() probe_both(leaf, 1):sum():backward() end,
    "backward: probe_both has no gradient: library 'probe' gives none", "no gradient")
t.is({ ops().probe_both.grad, ops().probe_gradient.grad }, { "no", "yes" }, "which the table says")
local factor = ones(2, { dtype = "f64" })
local product = leaf * factor
probe_scale({ factor }, 2)
t.error(function() product:sum():backward() end, "needs a tensor that was written in place since",
    "a write that backward notices")

-- ---- what goes wrong in a library ----

local d = ones(2, { dtype = "f64" })
t.is(probe_shape(d), { 1, 1 }, "a rule that is right")
for how, text in pairs {
    "library 'probe' gives result 1 dtype %-1, which is none", "gives result 1 dtype 77",
    "gives result 1 99 dims %(expected 0 to 8%)", "gives result 1 %-2 dims",
    "gives result 1 the size %-3 in dim 1", "probe_shape: .*more elements than a tensor may have",
    "probe_shape: no such shape: 7",
    "probe_shape: its shape rule returned 5 without a message %(library 'probe'%)"
} do
    t.error(function() probe_shape(d, how) end, text, text)
end
for how, text in pairs { "probe_fails: x is not good enough: 1.0",
    "probe_fails: its kernel returned 7 without a message %(library 'probe'%)",
    "probe_fails: part fails" } do
    t.error(function() probe_fails(d, how) end, text, text)
    t.error(function()
        local later = probe_fails(d:to "sim", how)
        later:tolist()
    end, text .. " %(queued at .*extension.lua", "on sim: where the host waits")
end
for how, text in pairs {
    "its gradient runs 'nothing', which is no row",
    "gives argument 'x', of shape 2, a gradient that is f64 scalar",
    "its gradient gives argument 'b' of mul as '%-'",
    "its gradient gives mul more arguments than 2",
    "backward: probe_gradient: not today",
    "its gradient returned 3 without a message %(library 'probe'%)", "a gradient that is i64 2",
    "gives mul a tensor that it does not have as argument 'b'",
    "gives argument 'p' of fused as 't'", "gives argument 'x', of shape 2",
    "backward: probe_gradient: its gradient gives argument 'x' none %(library 'probe'%)"
} do
    t.error(function() probe_gradient(leaf, how):sum():backward() end, text, text)
end
leaf.grad = nil
probe_gradient(leaf):sum():backward()
t.is(leaf.grad, { 2, 2 }, "and one that is right")
t.error(function() probe_on_card(d) end,
    "probe_on_card: no kernel for cpu: library 'probe' has one for cuda alone", "no kernel")
t.error(function() probe_on_card(d:to "sim") end, "probe_on_card: no kernel for sim", "nor for sim")

-- ---- libraries that are refused ----

local NAMED <const> = "library 'probe_%s'"
for name, text in pairs {
    signature = "signature 'tensr x': unknown type 'tensr' %(expected tensor, operand",
    default = "signature 'tensor x, int n=1.5': the default of 'n' is no int",
    no_text = "the default of 's' is no number, true, false or \"text\"",
    field = "op 'shape': the name is taken", grad = "op 'requires_grad': the name is taken",
    keyword = "op 'for': the name is taken", luas = "op 'print': the name is taken",
    text = "signature '.*' is malformed", type = "the type of 'p' is one that libraries do not get",
    twice = "'x' is there twice", none = "its signature 'int n' has no tensor",
    many = "9 tensors are more than 8", written = "`!` is for the first tensor",
    optional = "without a shape rule tensors are operands",
    taken = "op 'matmul': the name is taken: gpush has it",
    composite = "op 'cdist': the name is taken: gpush has it",
    module = "op 'nn': the name is taken",
    other = "op 'probe_both': the name is taken: library 'probe' has it",
    again = "op 'wrong_a': the name is there twice",
    name = "op 'Wrong%-a': a name has small letters",
    dtypes = "its dtypes: 'quad' is no dtype", results = "9 results %(expected 1 to 4%)",
    kernel = "it has no kernel", help = "it has no help",
    derivative = "its derivative 'nothing' is no op",
    derivative_of = "its derivative takes %(tensor a, tensor b%), not 1 gradient, the arguments \z
        %(tensor x%) and 1 result",
    two_gradients = "it has a gradient and a derivative", saves = "saves is 'z'",
    abi = "was made for version 2 of gpush/op.h, and this gpush has version 1: build it again",
    fields = "it uses fields of gpush/op.h that this gpush does not have" } do
    local ok, message = pcall(require, "probe." .. name)
    t.ok(not ok and message:find(text) and message:find(NAMED:format(name), 1, true), text)
    if ok or not message:find(text) then t.is(message, text) end
end
t.is(rawget(_G, "wrong_a"), nil, "of which nothing is added")
t.is(ops().wrong_a, nil, "nothing at all")
t.ok(require "probe.newer".newer_b, "rows of a newer header, whose new fields are empty")

-- ---- at the prompt ----

local typed = io.popen(([[cd "$TMPDIR" && printf '%%s\n' '?matmul' 'require "distances"' \
    '?hypot3' 'x:cityblock' | LUA_CPATH='%s' TERM=dumb "$GPUSH_BUILD/gpush" -i 2>&1]]):format(
    package.cpath))
local shown = typed:read "a"
typed:close()
t.ok(shown:find "length of the vectors", "?name describes it, also after the table was read")

-- ---- twice, and in other states ----

package.loaded.distances = nil
t.ok(require "distances".hypot3 == lib.hypot3, "a library that is loaded twice is the same")
rawset(_G, "hypot3", "mine")
package.loaded.distances = nil
t.ok(require "distances".hypot3 == hypot3 and rawget(_G, "hypot3") == "mine",
    "a global that the user has set stays")
local set = { size = 4, get = function(_, i) return hypot3(tensor { i + 0.0 }, 0, 0) end }
local sum = 0
for _, v in data.Loader { set, batch = 2, workers = 1 } () do sum = sum + v:sum():item() end
t.is(sum, 10.0, "a loader's workers have it")
t.done()
