--!plain
-- Random ops on random shapes, dtypes and layouts, on both cpu and sim: results agree bit for bit
-- (on CUDA except for the last), and so do errors.
local t = require "tap"
local g = require "gpush"

local seed = tonumber(os.getenv "FUZZ_SEED") or 20261120
local steps = tonumber(os.getenv "FUZZ_STEPS") or 4000
math.randomseed(seed)

local ops, names = g.ops(), {}
-- to does the comparing; empty has no values, nor distinct after those it found; LAPACK's last bits
-- differ
local leave = {to = true, empty = true, distinct = true, linalg_svd = true, linalg_svdvals = true}
for name, op in pairs(ops) do
    if not leave[name] and not op.random then names[#names + 1] = name end
end
table.sort(names)

local dtypes = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"}
local function pick(list) return list[math.random(#list)] end
local function shape()
    local s = {}
    for d = 1, math.random(0, 4) do s[d] = pick {0, 1, 1, 2, 3, 3, 4, 5, 17} end
    return s
end

-- Pairs {cpu tensor, sim tensor} with equal contents.
local function fresh()
    local s, dtype = shape(), pick(dtypes)
    local n = 1
    for _, d in ipairs(s) do n = n * d end
    local v = {}
    for i = 1, n do
        if dtype == "bool" then v[i] = math.random(2) == 1
        else v[i] = dtype:find "f" and math.random(-16, 16) / 4
            or math.random(dtype == "u8" and 0 or -6, 9) end
    end
    if dtype:find "f" and n > 2 and math.random(4) == 1 then v[1], v[2] = 0 / 0, math.huge end
    local x = g.tensor(v, {dtype = dtype})
    x = #s == 0 and x[1] or x:view(s)
    return {x, x:to "sim"}
end

local pool = {}
for i = 1, 24 do pool[i] = fresh() end

local function params(sig)
    local list = {}
    for type, mark, name, default in sig:gmatch "(%a+)([?!]*) ([%w_]+)(=?)" do
        list[#list + 1] = {type = type, mark = mark,
            optional = mark:find "?" ~= nil or default == "="}
    end
    return list
end

-- A random argument as {for cpu, for sim}; tensors are mostly of the first one's shape.
local function argument(p, first)
    local kind = p.type
    if kind == "operand" and math.random(3) == 1 then kind = "number" end
    if kind == "tensor" or kind == "operand" then
        if first and math.random(2) == 1 then return first end
        return pick(pool)
    end
    if kind == "tensors" then
        local a, b = first or pick(pool), pick(pool)
        return {{a[1], b[1]}, {a[2], b[2]}}
    end
    local v
    if kind == "number" or kind == "float" then v = pick {0, 1, 2, -1, 0.5, 3, -2.5}
    elseif kind == "int" then v = pick {1, 2, 3, -1, 0, 1}
    elseif kind == "dim" then v = pick {1, 2, -1, 3, -2, 1}
    elseif kind == "bool" then v = math.random(2) == 1
    elseif kind == "dtype" then v = pick(dtypes)
    elseif kind == "device" then return {[1] = "cpu", [2] = "sim"}
    elseif kind == "dims"
        or kind == "ints" then v = pick {{1}, {2}, {-1}, {1, 2}, {2, 1}, {1, 2, 3}, {3, 1, 2}}
    elseif kind ==
        "shape" then v = pick {{-1}, {2, -1}, {1, 3}, {3, 1}, {4, 3, 2}, shape(), shape()}
    else v = pick {0, 1, "same"} end
    return {v, v}
end

local one = g.ones(1, {device = "sim"})
local function call(name, in_place, side, args, n)
    local list = {}
    for i = 1, n do
        local a = args[i]
        if a ~= nil then list[i] = a[side] end
    end
    local fn = g[name]
    if in_place then fn = list[1][name .. "_"] end
    local out = table.pack(pcall(fn, table.unpack(list, 1, n)))
    -- a kernel's error comes with the next wait
    if side == 2 and out[1] then
        local ok, msg = pcall(function() return (one + 1):item() end)
        if not ok then return {false, msg, n = 2} end
    end
    return out
end

local function text(msg)
    msg = tostring(msg):gsub("^[^:]*:%d+: ", ""):gsub(" %(queued at [^)]*%)",
        ""):gsub(" %(on [^)]*%)", "")
    -- of several errors any may be reported
    if os.getenv "GPUSH_TEST_DEVICE" == "cuda" then
        msg = msg:gsub("(%a+) %-?%d+ is out of range.*", "%1 out of range")
    end
    return (msg:gsub("sim:0", "cpu"))
end

-- CUDA has its own functions and order of sums: its results may differ in the last bits.
local last_bits = os.getenv "GPUSH_TEST_DEVICE" == "cuda"
    and {f64 = 1e-12, f32 = 1e-5, f16 = 4e-3, bf16 = 3e-2} or {}
local function same(a, b, eps)
    if type(a) ~= "table" then
        return a == b or (a ~= a and b ~= b) or eps and a - a == 0 and b - b == 0
            and math.abs(a - b) <= eps * math.max(1, math.abs(a), math.abs(b))
    end
    if #a ~= #b then return false end
    for i = 1, #a do if not same(a[i], b[i], eps) then return false end end
    return true
end

local function equal(x, y)
    return x.dtype == y.dtype and table.concat(x.shape, "x") == table.concat(y.shape, "x")
        and same(x:tolist(), y:tolist(), last_bits[x.dtype])
end

local problems, ran, failed = {}, 0, 0
local function problem(fmt, ...) problems[#problems + 1] = fmt:format(...) end

local function describe(name, args, n)
    local list = {}
    for i = 1, n do
        local a = args[i] and args[i][1]
        list[i] = type(a) == "userdata" and a.dtype .. " " .. table.concat(a.shape, "x")
            or type(a) == "table" and "{" .. tostring(a[1]) .. " …}" or tostring(a)
    end
    return name .. "(" .. table.concat(list, ", ") .. ")"
end

-- The results of a call: those in a list, one by one.
local function results(r)
    return type(r[2]) == "table" and table.pack(true, table.unpack(r[2])) or r
end

local function step()
    local name = pick(names)
    local list, args, first = params(ops[name].sig), {}, nil
    local n = #list
    while n > 0 and list[n].optional and math.random(3) > 1 do n = n - 1 end
    for i = 1, n do
        if not (list[i].optional and math.random(2) == 1) then
            args[i] = argument(list[i], first)
        end
        if i == 1 and args[1] and type(args[1][1]) == "userdata" then first = args[1] end
    end
    local in_place = n > 0 and list[1].mark == "!" and first and math.random(4) == 1
    local what = describe(name .. (in_place and "_" or ""), args, n)
    local a, b = call(name, in_place, 1, args, n), call(name, in_place, 2, args, n)
    if a[1] ~= b[1] then
        return problem("%s: cpu %s, sim %s", what, tostring(a[2]), tostring(b[2]))
    end
    if not a[1] then
        failed = failed + 1
        if text(a[2]) ~= text(b[2]) then
            problem("%s: cpu: %s\n#     sim: %s", what, text(a[2]), text(b[2]))
        end
        -- what sim's kernel may have left in a tensor, a later read would report again
        for i = 1, in_place and #pool or 0 do if pool[i] == first then pool[i] = fresh() end end
        return
    end
    ran = ran + 1
    a, b = results(a), results(b)
    for i = 2, a.n do
        if not equal(a[i], b[i]) then problem("%s: result %d differs", what, i - 1) end
        -- or the last bits affect large values; not where it was expanded
        if last_bits[a[i].dtype] then pcall(b[i].copy_, b[i], a[i]) end
        -- made without a tensor it is on the default device
        if a[i]:numel() < 5000 then pool[math.random(#pool)] = {a[i], b[i]:to "sim"} end
    end
    pool[math.random(#pool)] = fresh()
end

for _ = 1, steps do step() end
if not t.ok(#problems == 0,
    ("%d calls agree, %d were refused alike (seed %d)"):format(ran, failed, seed)) then
    for i = 1, math.min(12, #problems) do io.stderr:write("#   ", problems[i], "\n") end
end
t.ok(ran > steps / 10, "enough of them ran")
t.done()
