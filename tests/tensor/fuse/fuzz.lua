--!plain
-- Random functions, fused and as they are: results and gradients must be the same bits, for first
-- calls and later ones, and for other sizes of the same broadcasting. FUSE_PROGRAMS is their
-- number, FUSE_SEED where it begins; GPUSH_FUSE_COMPILE=wait compiles them.
local t = require "tap"
local g = require "gpush"

local NUMBER = tonumber(os.getenv "FUSE_PROGRAMS" or 300)
local SEED = tonumber(os.getenv "FUSE_SEED" or 1)

local unary = { "neg", "abs", "sign", "square", "relu", "exp", "log1p", "sqrt", "rsqrt", "sin",
    "cos", "tanh", "erf", "atan", "sigmoid", "silu", "floor", "frac", "gelu", "gelu_tanh",
    "softsign", "hardswish", "relu6", "selu", "mish", "expm1", "reciprocal", "isnan",
    "logical_not", "round" }
local binary = { "add", "sub", "mul", "div", "maximum", "minimum", "atan2", "hypot", "pow", "xlogy",
    "squared_error", "lt", "ge", "eq", "logical_and", "fmod", "remainder", "floor_divide",
    "clamp_min" }
local dtypes = { "f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" }

local function pick(list) return list[math.random(#list)] end

-- ---- a random function: steps that each append a value ----

local kinds = {
    unary = function(v, s) return g[s.op](v[s.a]) end,
    binary = function(v, s) return g[s.op](v[s.a], v[s.b]) end,
    number = function(v, s)
        if s.left and s.op ~= "clamp_min" then return g[s.op](s.n, v[s.a]) end
        return g[s.op](v[s.a], s.n)
    end,
    leaky = function(v, s) return g.leaky_relu(v[s.a], s.n) end,
    clamp = function(v, s) return g.clamp(v[s.a], s.n, s.n + 1) end,
    softplus = function(v, s) return g.softplus(v[s.a], 1.5) end,
    where = function(v, s) return g.where(v[s.a]:gt(0), v[s.a], v[s.b]) end,
    pick = function(v, s) return g.where(v[s.a]:ne(0), s.n, v[s.b]) end,
    to = function(v, s) return v[s.a]:to(s.dtype) end,
    lerp = function(v, s) return g.lerp(v[s.a], v[s.b], s.n) end,
    addcmul = function(v, s) return g.addcmul(v[s.a], v[s.a], v[s.b], s.n) end,
    dropout = function(v, s) return g.dropout(v[s.a], 0.3) end,
    cumsum = function(v, s) return v[s.a]:cumsum(-1) end,
    view = function(v, s) return v[s.a]:unsqueeze(1):squeeze(1) end,
    sum = function(v, s) return v[s.a]:sum(-1, true) end,
    outside = function(v, s) return v[s.a] * s.tensor end,
    no_grad = function(v, s) return g.no_grad(g.tanh, v[s.a]) end,
}
local often = { "unary", "unary", "unary", "binary", "binary", "binary", "number", "number",
    "leaky", "clamp", "softplus", "where", "pick", "to", "lerp", "addcmul", "dropout", "cumsum",
    "view", "sum", "outside", "no_grad" }

local function random_steps(inputs, length)
    local steps = {}
    for i = 1, length do
        local have = inputs + i - 1
        local function operand() return math.random(10) > 4 and have or math.random(have) end
        local s = { kind = pick(often), a = operand(), b = operand() }
        s.op = s.kind == "unary" and pick(unary) or pick(binary)
        s.n = math.random(3) == 1 and math.random(-2, 3) or math.random() * 3 - 1
        s.left, s.dtype = math.random(4) == 1, pick(dtypes)
        if s.kind == "outside" then s.tensor = g.full({ 1 }, math.random() + 0.5) end
        steps[i] = s
    end
    return steps
end

local function run(steps, finish, ...)
    local v = { ... }
    for _, s in ipairs(steps) do v[#v + 1] = kinds[s.kind](v, s) end
    local y = v[#v]
    if finish.op == "both" then return y, v[finish.other] * 1 end
    if finish.op == "none" then return y end
    if finish.dim then return g[finish.op](y, finish.dim, finish.keep) end
    return g[finish.op](y)
end

local function random_function()
    local inputs = math.random(3)
    local steps = random_steps(inputs, math.random(10))
    local finish = { op = pick { "none", "none", "both", "sum", "mean", "amax", "any", "amin",
        "prod" } }
    finish.other = math.random(inputs + #steps)
    if math.random(2) == 1 then finish.dim, finish.keep = pick { 1, -1 }, math.random(2) == 1 end
    return inputs, steps, finish
end

-- ---- arguments ----

local forms = { "full", "full", "full", "row", "column", "one", "transposed", "strided" }

local function argument(form, dtype, m, n)
    local function make(...)
        local x = g.randn(...) -- {}: of no dims
        if dtype == "bool" then return x:gt(0) end
        if dtype:match "^[iu]" then return (x * 3):abs():to(dtype) end
        return x:to(dtype)
    end
    if form == "row" then return make(n) end
    if form == "column" then return make(m, 1) end
    if form == "one" then return make({}) end
    if form == "transposed" then return make(n, m):t() end
    if form == "strided" then return make(m, 2 * n)["..., 1:-1:2"] end
    return make(m, n)
end

-- ---- comparison ----

local function same(a, b)
    if a.dtype ~= b.dtype or #a.shape ~= #b.shape then return false end
    for i, n in ipairs(a.shape) do if b.shape[i] ~= n then return false end end
    if not a:isnan():equal(b:isnan()) then return false end
    return g.where(a:isnan(), 0, a):equal(g.where(b:isnan(), 0, b))
end

-- A bound for sums in another order; coarse for 16-bit floats, which round after each addition.
local function close(a, b)
    local bound = a.dtype:match "16" and 0.25 or 2e-2
    local x, y = a:to "f64", b:to "f64"
    local bad = g.where(x:eq(y) | (x:isnan() & y:isnan()), 0, (x - y):abs())
    local size = g.where(x:abs():lt(1e300), x:abs(), 0)
    return (bad:le(size * bound + bound * size:amax() + 1e-5)):all():item()
end

local function outcome(fn, steps, finish, args, seed)
    g.manual_seed(seed)
    local leaves = {}
    for i, x in ipairs(args) do
        leaves[i] = x:is_floating_point() and x:detach():requires_grad_() or x
    end
    local out = table.pack(pcall(fn, table.unpack(leaves)))
    if not out[1] then return { error = tostring(out[2]) } end
    local y, grads = out[2], {}
    if y.requires_grad then
        y:backward(g.ones_like(y))
        for i, x in ipairs(leaves) do grads[i] = x.grad or false end
    end
    return { y = y, z = out[3], grads = grads, drawn = g.get_rng_state().counter }
end

-- What differs, or nil. Sums of gradients over broadcast dims may be in another order.
local function difference(a, b, exact)
    if a.error or b.error then
        local function plain(text)
            return text and text:gsub("^.-: ", "", 1):gsub("^[%w_]+: ", "")
        end
        return plain(a.error) ~= plain(b.error) and ("%s / %s"):format(a.error, b.error) or nil
    end
    if not same(a.y, b.y) then return "result" end
    if a.z and not same(a.z, b.z) then return "second result" end
    if a.drawn ~= b.drawn then return "random numbers drawn" end
    for i, x in pairs(a.grads) do
        local y = b.grads[i]
        if (x == nil) ~= (y == nil) then return "whether there is gradient " .. i end
        local compare = exact and same or close
        if x and not compare(x, y) then return "gradient " .. i end
    end
end

local function describe(steps, finish, forms_used)
    local text = {}
    for _, s in ipairs(steps) do
        text[#text + 1] = table.concat({ s.kind, s.op, s.a, s.b, s.n, tostring(s.left), s.dtype },
            " ")
    end
    return ("%s; %s %s %s; %s"):format(table.concat(text, "; "), finish.op, finish.dim, finish.keep,
        table.concat(forms_used, " "))
end

local divides = { sum = true, cumsum = true, view = true, no_grad = true }
local failures, ran = 0, 0

local function try(number)
    math.randomseed(number)
    g.manual_seed(number)
    local inputs, steps, finish = random_function()
    local used, exact = {}, true
    for i = 1, inputs do
        local form, dtype = pick(forms), pick(dtypes)
        used[i] = form .. " " .. dtype
        exact = exact and form ~= "row" and form ~= "column" and form ~= "one"
    end
    -- What divides a function into several programs divides the sums of gradients, too.
    for _, step in ipairs(steps) do exact = exact and not divides[step.kind] end
    exact = exact and finish.op ~= "both"
    local function eager(...) return run(steps, finish, ...) end
    local fused = g.fuse(eager)
    local sizes = { { 3, 5 }, { 3, 5 }, { 4, 7 }, { math.random(2, 40), math.random(2, 600) } }
    if number % 50 == 0 then sizes[5] = { 300, 1500 } end
    for k, size in ipairs(sizes) do
        local args = {}
        for i = 1, inputs do
            args[i] = argument(used[i]:match "%w+", used[i]:match "%w+$", size[1], size[2])
        end
        local a = outcome(eager, steps, finish, args, number)
        if k == 2 and not a.error then ran = ran + 1 end
        local b = outcome(fused, steps, finish, args, number)
        local what = difference(a, b, exact)
        if what then
            return ("call %d, %dx%d: %s: %s"):format(k, size[1], size[2], what,
                describe(steps, finish, used))
        end
    end
end

for number = SEED, SEED + NUMBER - 1 do
    local text = try(number)
    if text then
        failures = failures + 1
        if failures <= 10 then t.ok(false, ("function %d: %s"):format(number, text)) end
    end
end
t.ok(ran > NUMBER / 3, ran .. " of them run without an error")
t.is(failures, 0, NUMBER .. " random functions give the same fused")
t.done()
