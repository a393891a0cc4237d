-- Training in 16 bits: parameters whose f32 copies the optimizer steps, and the gradient scaler,
-- whose decisions are the device's. References: the same steps on f32 parameters, rounded; and
-- PyTorch's rules for the scale, as plain arithmetic.
local t = require "tap"
local g = require "gpush"

local optim, amp = g.optim, g.amp
local DEVICES = { "cpu", "sim" }
local NAMES = { "SGD", "Adam", "AdamW", "RMSprop", "Adagrad" }
local COMPOSED = { "NAdam", "Rprop", "ASGD" } -- in which nothing is skipped on a device
local OPTIONS = {
    SGD = { lr = 1e-3, momentum = 0.9, weight_decay = 0.01, nesterov = true },
    Adam = { lr = 1e-3, amsgrad = true, weight_decay = 0.01 }, AdamW = { lr = 1e-3 },
    RMSprop = { lr = 1e-3, centered = true, momentum = 0.5 },
    Adagrad = { lr = 1e-3, lr_decay = 0.1 },
    NAdam = { lr = 1e-3, weight_decay = 0.01, decoupled_weight_decay = true },
    Rprop = { lr = 1e-3 }, ASGD = { lr = 1e-3, t0 = 3 },
}

-- ---- f32 copies of parameters ----

local function leaf(x, dtype, device)
    return x:clone():to(device, dtype):detach():requires_grad_()
end

local function compare(name, dtype, device)
    g.manual_seed(4)
    local what = ("%s of %s on %s"):format(name, dtype, device)
    local start, other = g.randn(3, 700):to(dtype), g.randn(5)
    local half, wide = leaf(start, dtype, device), leaf(start, "f32", device)
    local odd = leaf(g.randn(4, 6):to(dtype), dtype, device)
    local base = g.zeros(6, 4, { dtype = dtype, device = device })
    local column = base:transpose(1, 2):detach():requires_grad_() -- gaps in memory's order
    local plain, plain2 = leaf(other, "f32", device), leaf(other, "f32", device)
    local a = optim[name]({ half, odd, column, plain }, OPTIONS[name])
    local b = optim[name]({ wide, plain2 }, OPTIONS[name])
    for _ = 1, 20 do
        local d, e = (g.randn(3, 700) * 1e-2):to(dtype):to(device), g.randn(5):to(device)
        half.grad, wide.grad, plain.grad, plain2.grad = d, d:float(), e, e:clone()
        odd.grad = g.ones_like(odd)
        column.grad = g.ones_like(column)
        a:step()
        b:step()
    end
    local master = a.state[half].master_param
    t.ok(master.dtype == "f32" and g.equal(master, wide), what .. ": the copy is stepped in f32")
    t.ok(half.dtype == dtype and g.equal(half, wide:to(dtype)), "and rounded into the parameter")
    t.ok(g.equal(plain, plain2) and not a.state[plain].master_param, "f32 beside it needs no copy")
    t.ok(g.equal(odd, a.state[odd].master_param:to(dtype))
        and g.equal(column, a.state[column].master_param:to(dtype)),
        "nor does it depend on the layout")
end
for _, name in ipairs(NAMES) do
    compare(name, "bf16", "cpu")
    compare(name, "f16", "sim")
end
for _, name in ipairs(COMPOSED) do compare(name, "bf16", "sim") end

do -- steps below the parameter's precision add up
    local p = g.ones(3):bfloat16():requires_grad_()
    local opt = optim.SGD({ p }, { lr = 1e-3 })
    for _ = 1, 100 do
        p.grad = g.ones(3):bfloat16()
        opt:step()
    end
    t.close(p:float(), { 0.9, 0.9, 0.9 }, 2e-3, "100 steps of 0.001 from 1 come to 0.9 in bf16")
    g.no_grad(function() p:fill_(2) end)
    p.grad = g.ones(3):bfloat16()
    opt:step()
    t.close(opt.state[p].master_param, { 1.999, 1.999, 1.999 }, 1e-6,
        "a parameter that was written is where the next step begins")
    g.no_grad(function() p[1] = 5 end)
    p.grad = g.zeros(3):bfloat16()
    opt:step()
    t.close(opt.state[p].master_param, { 5, 1.999, 1.999 }, 1e-6,
        "elements that were not keep what they have beyond 16 bits")
end

do -- saved and loaded
    local p = g.randn(4):half():requires_grad_()
    local opt = optim.Adam({ p }, { lr = 1e-3 })
    local function step(q, o, d)
        q.grad = d:half()
        o:step()
    end
    step(p, opt, g.ones(4))
    local q = p:detach():clone():requires_grad_()
    local again = optim.Adam({ q }, { lr = 1e-3 })
    again:load_state_dict(opt:state_dict())
    local d = g.randn(4)
    step(p, opt, d)
    step(q, again, d)
    t.ok(g.equal(again.state[q].master_param, opt.state[p].master_param)
        and again.state[q].exp_avg.dtype == "f32",
        "state_dict has the f32 copy, and it goes on from there")
    local dict = opt:state_dict()
    dict.state[1].master_param = g.zeros(5)
    t.error(function() again:load_state_dict(dict) end,
        "'master_param' of parameter 1 has shape 5, the parameter 4", "one of another shape raises")
    local f = p:detach():float():requires_grad_()
    local f32 = optim.Adam({ f }, { lr = 1e-3 })
    f32:load_state_dict(opt:state_dict())
    t.is(f32.state[f].master_param, nil, "an f32 parameter takes none over")
end

do -- an optimizer of one's own
    local Plain = optim.define { name = "Plain", help = "", sig = "float lr=0.5",
        slots = function() return {} end,
        launch = function(o, l)
            for i, p in ipairs(l.params) do p:sub_(l.grads[i] * o.lr) end
        end }
    local p = g.ones(2):bfloat16():requires_grad_()
    local opt = Plain({ p }, { lr = 2 ^ -10 })
    for _ = 1, 128 do
        p.grad = g.ones(2):bfloat16()
        opt:step()
    end
    t.is(p:float(), { 0.875, 0.875 }, "an optimizer of one's own steps the copy, too")
    local scaler = amp.GradScaler { init_scale = 4 }
    local w = g.ones(2):requires_grad_()
    opt = Plain({ w }, { lr = 0.5 })
    scaler:scale((w * 2):sum()):backward()
    scaler:step(opt)
    scaler:update()
    t.is(w:detach(), { 0, 0 }, "a scaler unscales its gradients")
    w.grad = nil
    scaler:scale((w * math.huge):sum()):backward()
    scaler:step(opt)
    scaler:update()
    t.is({ w:detach():tolist(), scaler:get_scale() }, { { 0, 0 }, 2.0 }, "and skips its steps")
end

-- ---- gradient scaling ----

local function run(name, device, dtype)
    g.manual_seed(5)
    local what = ("%s of %s on %s"):format(name, dtype, device)
    local start = g.randn(300):to(dtype)
    local p, want = leaf(start, dtype, device), leaf(start, "f32", device)
    local opt, ref = optim[name]({ p }, OPTIONS[name]), optim[name]({ want }, OPTIONS[name])
    local scaler = amp.GradScaler { init_scale = 1024, growth_interval = 3 }
    local scale, tracker = 1024, 0
    local bad = { [1] = math.huge, [4] = 0 / 0, [5] = -math.huge }
    local waits = 0
    for i = 1, 12 do
        local d = (g.randn(300) * 1e-3):to(dtype):to(device)
        local before = #g.sync.events()
        opt:zero_grad()
        scaler:scale((p * d):sum()):backward()
        if bad[i] then p.grad[17] = bad[i] end
        scaler:step(opt)
        scaler:update()
        waits = waits + #g.sync.events() - before
        if bad[i] then scale, tracker = scale / 2, 0
        else
            want.grad = d:float()
            ref:step()
            tracker = tracker + 1
            if tracker == 3 then scale, tracker = scale * 2, 0 end
        end
    end
    t.is(waits, 0, what .. ": nothing waits")
    t.is(scaler:get_scale(), scale + 0.0, "the scale is PyTorch's")
    local master = p
    if dtype == "f16" then master = opt.state[p].master_param end
    t.close(master:detach():float():cpu(), want:detach():cpu():tolist(),
        dtype == "f16" and 1e-4 or 1e-6, "skipped steps leave everything, and the others count")
    t.is(opt.state[p].step:item(), 9, "as many steps as were taken")
    local copy = p:detach():clone():requires_grad_()
    local loaded = optim[name]({ copy }, OPTIONS[name])
    loaded:load_state_dict(opt:state_dict())
    t.is(loaded.state[copy].step, 9, "which load_state_dict reads")
end
for _, device in ipairs(DEVICES) do
    for _, name in ipairs(NAMES) do
        run(name, device, "f32")
        run(name, device, "f16")
    end
end

for _, device in ipairs(DEVICES) do
    local p = g.ones(4, { device = device }):requires_grad_()
    local q = g.ones(2, { device = device }):requires_grad_()
    local opt = optim.SGD({ p }, { lr = 1, momentum = 0.5, dampening = 0.25 })
    local other = optim.SGD({ q }, { lr = 1 })
    local scaler = amp.GradScaler { init_scale = 8 }
    local function backward(x, y)
        opt:zero_grad()
        other:zero_grad()
        for _, loss in ipairs(scaler:scale { (p * x):sum(), (q * y):sum() }) do loss:backward() end
    end
    backward(math.huge, 0.5) -- the first step of momentum is skipped
    scaler:step(opt)
    scaler:step(other)
    scaler:update()
    t.is({ p:detach():tolist(), q:detach():tolist(), scaler:get_scale() },
        { { 1, 1, 1, 1 }, { 0.5, 0.5 }, 4.0 },
        "each optimizer is judged by its own gradients on " .. device)
    backward(0.25, 0)
    scaler:unscale_(opt)
    t.is(p.grad:tolist(), { 0.25, 0.25, 0.25, 0.25 }, "unscale_ divides in place")
    optim.clip_grad_value_({ p }, 0.125)
    scaler:step(opt)
    t.is(p:detach():tolist(), { 0.875, 0.875, 0.875, 0.875 },
        "step takes what it left, and momentum begins with it, whatever dampening says")
    t.error(function() scaler:step(opt) end, "step: was already called", "a second step raises")
    t.error(function() scaler:unscale_(opt) end, "step was already called",
        "so does unscale_ after it")
    scaler:update(32)
    t.is(scaler:get_scale(), 32.0, "update takes a scale")
    t.error(function() scaler:update() end, "no optimizer was stepped", "without a step it raises")
end

do
    local p = g.ones(2):half():requires_grad_()
    local opt = optim.SGD { p }
    local scaler = amp.GradScaler()
    t.error(function() scaler:step(opt) end, "call it after scale", "step before scale raises")
    scaler:scale(p:sum()):backward()
    t.error(function() scaler:unscale_(opt) end,
        "gradient 1 is f16.*leave it to the optimizer's step",
        "gradients of f16 are not unscaled in place")
    t.error(function() scaler:step(opt, function() end) end, "a closure", "closures are refused")
    local off = amp.GradScaler { enabled = false }
    local loss = p:float():sum()
    t.ok(rawequal(off:scale(loss), loss) and off:get_scale() == 1 and next(off:state_dict()) == nil,
        "a scaler that is off does nothing")
    p.grad = g.ones(2):half()
    off:step(opt)
    off:update()
    t.close(p:float(), { 0.999, 0.999 }, 1e-3, "and steps")
    scaler:update(128)
    local again = amp.GradScaler()
    again:load_state_dict(scaler:state_dict())
    t.is(again:get_scale(), 128.0, "state_dict and load_state_dict")
    t.error(function() again:load_state_dict {} end, "'scale' is nil",
        "one that was off is refused")
    t.error(function() amp.GradScaler { growth_factor = 1 } end, "'growth_factor' is 1")
    t.error(function() amp.GradScaler { backoff_factor = 2 } end, "'backoff_factor' is 2")
    t.error(function() scaler:scale(3) end, "expected a tensor or a list")
    t.error(function() scaler:update "x" end, "expected a number above 0 or a tensor, got string")
    local tiny = amp.GradScaler { init_scale = 2 ^ 127, growth_interval = 1 }
    local w = g.zeros(1):requires_grad_()
    local sgd = optim.SGD { w }
    tiny:scale((w * 0):sum()):backward()
    tiny:step(sgd)
    tiny:update()
    t.is(tiny:get_scale(), 2.0 ^ 127, "a scale that would become infinite does not grow")
end

do -- what GradScaler is for: gradients below f16's smallest number
    local function train(scaler)
        local w = g.ones(1):requires_grad_()
        local opt = optim.SGD({ w }, { lr = 1e6 })
        local loss = g.autocast("f16", function()
            return g.ones(1, 1):linear(w:view(1, 1)):float():sum() * 1e-9
        end)
        loss = scaler:scale(loss)
        loss:backward()
        scaler:step(opt)
        scaler:update()
        return w:item()
    end
    t.is(train(amp.GradScaler { enabled = false }), 1.0, "without a scale the gradient is 0")
    t.close(train(amp.GradScaler()), 0.999, 1e-5, "with it the step is right")
end
t.done()
