--!plain
-- Captured training steps against the steps themselves: every optimizer, 16 bits, autocast, a
-- gradient scaler that skips a step, schedules, gradients that accumulate. The same bits.
local t = require "tap"
local g = require "gpush"

local kinds = {
    sgd = function(m) return g.optim.SGD(m, { lr = 0.1 }) end,
    momentum = function(m)
        return g.optim.SGD(m, { lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.01 })
    end,
    adam = function(m) return g.optim.Adam(m, { lr = 0.01 }) end,
    adamw = function(m) return g.optim.AdamW(m, { lr = 0.01, amsgrad = true }) end,
    rmsprop = function(m)
        return g.optim.RMSprop(m, { lr = 0.01, momentum = 0.5, centered = true })
    end,
    adagrad = function(m) return g.optim.Adagrad(m, { lr = 0.05, lr_decay = 0.1 }) end,
}
-- A few as they are, one that is captured, replays: of these one that the scaler skips.
local CALLS <const> = 6

local function build(case, dev)
    g.manual_seed(7)
    local nn = g.nn
    local m = nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(8, 5)):to(dev)
    if case.dtype == "bf16" then m:bfloat16() elseif case.dtype == "f16" then m:half() end
    return m, kinds[case.kind](m)
end

-- The step of a case; the scaler is nil without one.
local function step_of(case, m, optimizer, scaler)
    local low = case.mode == "scaler" and "f16" or "bf16"
    return function(x, y)
        if not case.accumulate then optimizer:zero_grad() end
        local loss
        if case.mode == "plain" then loss = m(x):float():cross_entropy(y)
        else
            local _ <close> = g.autocast(low)
            loss = m(x):cross_entropy(y)
        end
        if not scaler then
            loss:backward()
            optimizer:step()
            return loss
        end
        scaler:scale(loss):backward()
        scaler:step(optimizer)
        scaler:update()
        return loss
    end
end

local function train(case, dev, captured)
    local m, optimizer = build(case, dev)
    local scaler = case.mode == "scaler" and
        g.amp.GradScaler { init_scale = 1024, growth_interval = 3 } or nil
    local schedule = g.optim.lr.StepLR(optimizer, { step_size = 2, gamma = 0.7 })
    local step, losses = step_of(case, m, optimizer, scaler), {}
    if captured then step = g.capture(step) end
    g.manual_seed(11)
    for i = 1, CALLS do
        local x, y = g.randn(9, 12):to(dev), g.randint(1, 5, { 9 }):to(dev)
        if case.dtype ~= "f32" then x = x:to(case.dtype) end
        if i == 5 and scaler then x = x * 1e30 end
        losses[i] = step(x, y):detach()
        schedule:step()
    end
    local values = {}
    for i = 1, CALLS do values[i] = losses[i]:item() end
    for _, p in ipairs(m:parameters()) do
        table.move(p:float():reshape(-1):tolist(), 1, p:numel(), #values + 1, values)
    end
    if scaler then values[#values + 1] = scaler:get_scale() end
    return values
end

local function same(a, b)
    for i = 1, math.max(#a, #b) do
        if a[i] ~= b[i] and (a[i] == a[i] or b[i] == b[i]) then return false end
    end
    return true
end

for _, dev in ipairs { "cpu", "sim" } do
    for _, kind in ipairs { "sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad" } do
        local bad = {}
        for _, dtype in ipairs { "f32", "bf16", "f16" } do
            for _, mode in ipairs { "plain", "autocast", "scaler" } do
                for _, accumulate in ipairs { false, true } do
                    local case = { kind = kind, dtype = dtype, mode = mode,
                        accumulate = accumulate }
                    if not same(train(case, dev, false), train(case, dev, true)) then
                        bad[#bad + 1] = dtype .. " " .. mode .. " " .. tostring(accumulate)
                    end
                end
            end
        end
        t.is(bad, {}, ("18 trainings by %s on %s"):format(kind, dev))
    end
end
t.done()
