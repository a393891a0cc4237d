--!plain
-- nan.watch: the op, line, module and shape of the first NaN or infinity, forward and backward, on
-- the cpu at once and on sim at the next wait, at the latest at its end, where it waits itself.
local t = require "tap"
local g = require "gpush"
local nn, watch = g.nn, g.nan.watch

local function line() return debug.getinfo(2, "l").currentline end
-- fn's error must hold each text.
local function says(name, texts, fn, ...)
    local ok, msg = pcall(fn, ...)
    msg = tostring(msg)
    local missing = not ok and "" or "an error"
    for _, text in ipairs(texts) do
        if not msg:find(text, 1, true) then missing = missing .. " '" .. text .. "'" end
    end
    if not t.ok(missing == "", name) then io.stderr:write("#   ", msg, "; lacks", missing, "\n") end
    return msg
end
local file = "watch.lua:"

for _, dev in ipairs { "cpu", "sim" } do
    local function of(v, dtype)
        return g.tensor(v, { dtype = dtype or "f32", device = dev })
    end
    -- What sim finds is raised by the next wait.
    local function watched(fn)
        return watch(function()
            fn()
            g.synchronize()
        end)
    end
    local function on(name) return dev .. ": " .. name end

    local at
    says(on "log(0)", { "nan.watch: log made 0 NaN and 1 infinite of 6 elements (f32 2x3)",
        file .. line() + 2 }, watched, function()
        local x = of { { 1, 2, 3 }, { 4, 5, 0 } }
        x:log() at = line()
        return at
    end)
    says(on "0 / 0", { "div made 1 NaN and 0 infinite of 2 elements (f32 2)" }, watched,
        function() return of { 0, 1 } / of { 0, 1 } end)
    says(on "f16 that overflows", { "mul made 0 NaN and 1 infinite of 2 elements (f16 2)" },
        watched, function() return of({ 300, 1 }, "f16") * of({ 300, 1 }, "f16") end)
    says(on "f32 that does not fit into f16",
        { "copy made 0 NaN and 1 infinite of 2 elements (f16 2)" }, watched,
        function() return of { 1e5, 1 }:to("f16") end)
    says(on "bf16", { "exp made 0 NaN and 1 infinite of 2 elements (bf16 2)" }, watched,
        function() return of({ 100, 1 }, "bf16"):exp() end)
    says(on "f64", { "sqrt made 1 NaN and 0 infinite of 1 element (f64 scalar)" }, watched,
        function() return of(-1, "f64"):sqrt() end)
    says(on "a mean whose sum is too large",
        { "avg_pool1d made 0 NaN and 1 infinite of 1 element (f32 1x1x1)" }, watched,
        function() return of { { { 3e38, 3e38 } } }:avg_pool1d(2) end)
    says(on "in place", { "log made 1 NaN and 0 infinite of 2 elements" }, watched,
        function() return of { -1, 1 }:log_() end)
    says(on "a result that is not contiguous", { "log made 1 NaN and 0 infinite of 2 elements" },
        watched, function() return of { { 1, -1 }, { 1, 1 } }:select(2, 2):log_() end)

    local _, n = says(on "the first of three", { "log made", file .. line() + 1 }, watched,
        function() return of { 0, 1 }:log():mul(0):add(1) end):gsub("nan.watch", "")
    t.is(n, 1, on "and nothing of what follows from it")

    -- what is not finite already
    says(on "an operand that is NaN", { "add gave 1 NaN and 0 infinite of 2 elements (f32 2)",
        "operand 2 was not finite before" }, watched,
        function() return of { 1, 2 } + of { 1, 0 / 0 } end)
    says(on "a number that is NaN", { "mul gave 2 NaN and 0 infinite of 2 elements (f32 2)",
        "a number was not finite before" }, watched, function() return of { 1, 2 } * (0 / 0) end)
    says(on "inf - inf", { "sub gave 1 NaN and 0 infinite of 2 elements", "operand 1 was not" },
        watched, function() return of { math.huge, 1 } - of { math.huge, 1 } end)
    t.ok(pcall(watched, function()
        local mask = of { 0, -math.huge }
        local scores = of { 1, 2 } + mask
        scores:softmax(1)
        of { 1, 2 }:masked_fill(of { 0, 1 }:eq(1), -math.huge):softmax(1)
        g.where(of { 0, 1 }:eq(1), of { 1, 2 }, -math.huge)
        return of { 1, 2 } + -math.huge
    end), on "a mask of -inf is passed on")

    -- backward
    local msg = says(on "sqrt's derivative at 0", { "sqrt_dx made",
        "1 infinite of 2 elements (f32 2) in the backward of sqrt", file .. line() + 3 }, watched,
        function()
            local x = of { 0, 1 }:requires_grad_()
            x:sqrt():sum():backward()
        end)
    t.ok(not msg:find("gave", 1, true), on "and that is the first")

    -- modules
    local Net = nn.module "Net"
    function Net:init() self.first, self.last = nn.Linear(2, 2), nn.Linear(2, 1) end
    function Net:forward(x) return self.last(self.first(x):relu()) end
    local net = Net():to(dev)
    g.no_grad(function()
        net.first.weight:fill_(1) net.first.bias:fill_(0)
        net.last.weight:fill_(3e38) net.last.bias:fill_(0)
    end)
    says(on "a module's op", { "linear made 0 NaN and 1 infinite of 1 element (f32 1x1)",
        "Net.last" }, watched, function() net(of { { 1, 1 } }) end)
    says(on "a module's op in backward",
        { "in the backward of linear in Net.last" }, watched, function()
            local y = net(of { { 0, 0 } } * 1)
            y:backward(of { { 1e38 } })
        end)

    -- captured and fused functions
    local fused, captured = g.fuse(function(x) return (x - 1):log() * 2 end),
        g.capture(function(x) return (x - 1):log() * 2 end)
    for name, f in pairs { fuse = fused, capture = captured } do
        f(of { 2, 3 }) f(of { 2, 3 })
        says(on(name), { "log made 0 NaN and 1 infinite of 2 elements" }, watched,
            function() f(of { 1, 2 }) end)
    end

    local inside = g.capture(function(x) return watch(function() return x:log() end) end)
    says(on "inside a captured function", { "nan.watch" }, inside, of { 0 })

    -- regions
    local function log0() of { 0 }:log() g.synchronize() end
    t.ok(pcall(log0), on "off outside")
    do
        local _ <close> = watch()
        says(on "a block", { "log made" }, log0)
    end
    t.ok(pcall(log0), on "which ends with it")
    local w = watch()
    t.ok(tostring(w):find "on", on "it says that it is on")
    says(on "a switch", { "log made" }, log0)
    says(on "which stays on after an error", { "log made" }, log0)
    watch(false)
    t.ok(tostring(w):find "off", on "it says that it is off")
    t.ok(pcall(log0), on "which is off again")
    t.is({ watch(function(a, b) return b, a end, 1, 2 ) }, { 2, 1 }, on "results of the function")
end

-- An optimizer's parameters, which it writes as a list: 1 - 1e38 * 100 is below the least f32; and
-- a gradient that the script gives, which no op made.
for _, dev in ipairs { "cpu", "sim" } do
    local function step(make, factor, grad)
        local w = { g.ones(2, { device = dev }), g.ones(3, 4, { device = dev }) }
        for _, p in ipairs(w) do p:requires_grad_(true) end
        local opt = make(w)
        watch(function()
            (w[1] * 2):sum():backward();
            (w[2] * factor):sum():backward()
            w[1].grad = grad or w[1].grad
            opt:step()
            g.synchronize()
        end)
    end
    says(dev .. ": a parameter that overflows", { file,
        "nan.watch: sgd_step made 0 NaN and 12 infinite of 12 elements (f32 3x4)" }, step,
        function(w) return g.optim.SGD(w, { lr = 1e38 }) end, 100)
    says(dev .. ": a gradient that is none", { file,
        "nan.watch: sgd_step gave 1 NaN and 0 infinite of 2 elements (f32 2); operand 2 was not \z
        finite before" }, step, function(w) return g.optim.SGD(w, { lr = 1 }) end, 1,
        g.tensor({ 1, 0 / 0 }, { device = dev }))
    t.ok(pcall(step, function(w) return g.optim.Adam(w, { lr = 0.1 }) end, 1),
        dev .. ": a step of Adam's is fine")
    -- An option brings no infinity that is passed on; nor do a layer's weights that are none.
    for _, name in ipairs { "SGD", "Adam" } do
        says(("%s: an infinite rate of %s"):format(dev, name), { file,
            ("nan.watch: %s_step with lr = inf made 0 NaN and 2 infinite of 2 elements"):format(
                name:lower()) }, step, function(w)
            return g.optim[name](w, { lr = math.huge })
        end, 1)
    end
    for _, layer in ipairs { "LSTM", "GRU", "RNN" } do
        local rnn = nn[layer](3, 2, { device = dev })
        g.no_grad(function() rnn.weight_hh_l0[{ 2, 1 }] = 0 / 0 end)
        says(("%s: a weight of %s that is none"):format(dev, layer), { file, layer,
            " was given 1 NaN and 0 infinite of ", "they were in weights[2] before" }, watch,
            function() return rnn(g.ones(2, 1, 3, { device = dev })), g.synchronize() end)
    end
    local lstm, h = nn.LSTM(3, 2, { device = dev }), g.zeros(1, 1, 2, { device = dev })
    local none = h / 0
    says(dev .. ": a state that is none", { "lstm was given 2 NaN", "in hx[2] before" }, watch,
        function()
            return lstm(g.ones(2, 1, 3, { device = dev }), { h, none }), g.synchronize()
        end)
end

do -- no wait but that at its end
    local x = g.rand(64, 64, { device = "sim" }):requires_grad_()
    local n, within = #g.sync.events(), nil
    watch(function()
        for _ = 1, 5 do (x:matmul(x)):tanh():sum():backward() end
        within = #g.sync.events()
    end)
    t.is(within, n, "watching waits for nothing")
    t.ok(#g.sync.events() <= n + 1, "but once when it ends")
end

do -- what the last op made is raised by the watch, not by whatever waits later
    local x = g.tensor({ 1, 0 }, { dtype = "f32", device = "sim" })
    local LOG <const> = { "nan.watch: log made 0 NaN and 1 infinite of 2 elements (f32 2)", file }
    says("at the function's end", LOG, watch, function() return x:log() end)
    says("at a block's end", LOG, function()
        local _ <close> = watch()
        x:log()
    end)
    says("where it is turned off", LOG, function()
        local _ = watch()
        x:log()
        watch(false)
    end)
    says("an error of the function's own", { "its own" }, watch, function()
        x:log()
        error "its own"
    end)
    pcall(g.synchronize)
    t.is(g.ones(2, { device = "sim" }):sum():item(), 2.0, "and nothing is raised afterwards")
end

do -- nothing runs while it is off
    local function ops(fn)
        local prof = g.profile.run(fn)
        local n = 0
        for _, row in ipairs(prof:rows()) do
            if row.name == "check_finite" then n = n + row.count end
        end
        return n
    end
    local x = g.ones(4)
    local function step() return (x * 2):relu():exp():view(2, 2):t():contiguous():sum() end
    t.is(ops(step), 0, "unwatched ops are not checked")
    t.is(ops(function() watch(step) end), 3, "mul, exp and sum are; what moves or chooses is not")
    -- An optimizer's parameters are checked by one op for 64 of them.
    for _, dev in ipairs { "cpu", "sim" } do
        local w = {}
        for k = 1, 70 do
            w[k] = g.ones(k, { device = dev }):requires_grad_()
            w[k].grad = g.ones(k, { device = dev }) * (k > 68 and 1e38 or 1)
        end
        local opt = g.optim.SGD(w, { lr = 1 })
        t.is(ops(function() watch(opt.step, opt) end), 2, dev .. ": 70 parameters, two checks")
        says(dev .. ": the first one that overflows", { file,
            "nan.watch: sgd_step made 0 NaN and 69 infinite of 69 elements (f32 69)" }, function()
            local fast = g.optim.SGD(w, { lr = 1e30 })
            watch(fast.step, fast)
        end)
    end
end

t.error(function() watch(3) end,
    "nan.watch: argument #1: expected a function, got number", "a number")
t.error(function() g.check_finite(g.tensor { 1.0, 0 / 0 }) end,
    "check_finite: 1 NaN and 0 infinite of 2 elements %(f32 2%)",
    "check_finite by itself")
t.is(select("#", g.check_finite(g.ones(3))), 0, "which gives nothing")
t.error(function() g.check_finite(g.tensor { 1, 2 }) end, "check_finite: ", "and takes floats")
t.done()
