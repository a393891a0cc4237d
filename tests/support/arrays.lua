--!plain
-- Arrays in plain Lua for tests of ops: {shape = {…}, v = {…}} row-major, and tensors of every
-- layout made from them.
local t = require "tap"
local g = require "gpush"
local A = {}

A.dtypes = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"}
A.floats = {f64 = true, f32 = true, f16 = true, bf16 = true}

local function numel(shape)
    local n = 1
    for _, d in ipairs(shape) do n = n * d end
    return n
end
A.numel = numel

-- Calls f with each index tuple of shape (1-based, one table that is reused), in row-major order.
local function each(shape, f)
    local n, idx = #shape, {}
    if numel(shape) == 0 then return end
    for d = 1, n do idx[d] = 1 end
    while true do
        f(idx)
        local d = n
        while d >= 1 and idx[d] == shape[d] do idx[d], d = 1, d - 1 end
        if d < 1 then return end
        idx[d] = idx[d] + 1
    end
end
A.each = each

-- The array whose element at idx is f(idx).
function A.build(shape, f)
    local v = {}
    each(shape, function(idx) v[#v + 1] = f(idx) end)
    return {shape = shape, v = v}
end

local function place(shape, idx)
    local at = 0
    for d = 1, #shape do at = at * shape[d] + idx[d] - 1 end
    return at + 1
end

-- Element idx; a dim of size 1 is broadcast.
function A.get(a, idx) return a.v[place(a.shape, idx)] end
function A.set(a, idx, value) a.v[place(a.shape, idx)] = value end

function A.copy(list) return table.move(list, 1, #list, 1, {}) end

-- idx with dim d set to i (or, with i nil, left out).
function A.with(idx, d, i)
    local out = A.copy(idx)
    if i then out[d] = i else table.remove(out, d) end
    return out
end

-- The elements of a tensor, row-major, with 1 and 0 for true and false.
function A.values(x)
    local out = {}
    local function walk(v)
        if type(v) == "table" then
            for i = 1, #v do walk(v[i]) end
        else
            out[#out + 1] = v == true and 1 or v == false and 0 or v
        end
    end
    walk(x:tolist())
    return out
end

-- v as a tensor of the dtype holds it.
function A.as(dtype, v)
    if dtype == "bool" then return v ~= 0 and 1 or 0 end
    if A.floats[dtype] then return v end
    v = v < 0 and math.ceil(v) or math.floor(v)
    return dtype == "u8" and v & 255 or dtype == "i8" and (v + 128 & 255) - 128 or v
end

-- A small value that every dtype holds exactly.
function A.value(dtype)
    if dtype == "bool" then return math.random(0, 1) end
    if dtype == "u8" then return math.random(0, 9) end
    if A.floats[dtype] then return math.random(-20, 20) / 4 end
    return math.random(-9, 9)
end

local function flat(v, dtype, dev) return g.tensor(v, {dtype = dtype}):to(dev) end
local function reversed(shape)
    local out = {}
    for d = #shape, 1, -1 do out[#out + 1] = shape[d] end
    return out
end

-- Layouts: each makes a tensor with the values of a on dev.
A.layouts = {
    contiguous = function(a, dtype, dev) return flat(a.v, dtype, dev):view(a.shape) end,
    ["step 2"] = function(a, dtype, dev)
        local n, v = #a.shape, {}
        for i = 1, #a.v do v[2 * i - 1], v[2 * i] = a.v[i], a.v[#a.v + 1 - i] end
        if n == 0 then return flat(v, dtype, dev)[1] end
        local shape = A.copy(a.shape)
        shape[n] = 2 * shape[n]
        return flat(v, dtype, dev):view(shape):slice(n, 1, -1, 2)
    end,
    transposed = function(a, dtype, dev)
        local shape, dims = reversed(a.shape), {}
        for d = 1, #shape do dims[d] = #shape + 1 - d end
        local b = A.build(shape, function(idx) return A.get(a, reversed(idx)) end)
        return flat(b.v, dtype, dev):view(shape):permute(dims)
    end,
    misaligned = function(a, dtype, dev)
        local v = {1, table.unpack(a.v)}
        v[#v + 1] = 1
        return flat(v, dtype, dev):narrow(1, 2, #a.v):view(a.shape)
    end,
}

function A.text(list) return "{" .. table.concat(list, ", ") .. "}" end

-- A context for one run of an op's test: how a case makes arguments and judges results. Nothing is
-- reported before done().
function A.context(op, dtype, dev, layout)
    local c = {dtype = dtype, dev = dev, layout = layout, float = A.floats[dtype],
        name = ("%s %s on %s, %s"):format(op, dtype, dev, layout)}
    local problems = {}
    function c.problem(fmt, ...) problems[#problems + 1] = fmt:format(...) end
    -- A tensor of shape, and its array; f(idx) gives the values (default: random).
    function c.x(shape, f, as)
        local a = A.build(shape, f or function() return A.value(as or dtype) end)
        return A.layouts[layout](a, as or dtype, dev), a
    end
    function c.put(a, as) return A.layouts[layout](a, as or dtype, dev) end
    -- 1-based positions, i64
    function c.index(shape, most)
        return c.x(shape, function() return math.random(1, most) end, "i64")
    end
    -- y must have a's shape and values (within tol, relative and absolute; default exact) and dtype
    -- `as` (default the context's).
    function c.check(y, a, as, tol, what)
        what = what or "result"
        if y.dtype ~= (as or dtype) then
            c.problem("%s: dtype %s, expected %s", what, y.dtype, as or dtype)
        end
        if y.device ~= g.zeros(1, {device = dev}).device then
            c.problem("%s: on %s", what, tostring(y.device))
        end
        if A.text(y.shape) ~= A.text(a.shape) then
            return c.problem("%s: shape %s, expected %s", what, A.text(y.shape), A.text(a.shape))
        end
        local got = A.values(y)
        for i = 1, #a.v do
            local p, q = got[i], a.v[i]
            if not (p == q or (p ~= p and q ~= q)
                or (tol and math.abs(p - q) <= tol * (1 + math.abs(q)))) then
                return c.problem("%s: element %d is %s, expected %s", what, i, tostring(p),
                    tostring(q))
            end
        end
    end
    -- f() must raise a message that begins with the op's name (as the user calls it) and contains
    -- each of the patterns.
    function c.refuses(f, ...)
        local ok, msg = pcall(f)
        if ok then return c.problem("no error; expected one with %s", table.concat({...}, ", ")) end
        msg = tostring(msg):gsub("^[^:]*:%d+: ", "")
        for _, p in ipairs {...} do
            if not msg:find(p) then c.problem("the message has no %s: %s", p, msg) end
        end
    end
    function c.done() return problems end
    return c
end

-- tests/cuda/ tests the stand-in for CUDA in place of the other two.
local devices = os.getenv "GPUSH_TEST_DEVICE" and {os.getenv "GPUSH_TEST_DEVICE"} or {"cpu", "sim"}

-- Runs cases[op](context) for every op of the kinds, on all devices, in every dtype and layout; an
-- op without a case fails. A case is a function, or {types = {dtype = true, …}, run = function}; in
-- other dtypes its run must raise a message that names the dtype.
function A.run(cases, wanted)
    local names = {}
    for name, op in pairs(g.ops()) do if wanted(op) then names[#names + 1] = name end end
    table.sort(names)
    local layouts = {} -- in a fixed order, so that a seed determines the values
    for layout in pairs(A.layouts) do layouts[#layouts + 1] = layout end
    table.sort(layouts)
    -- TSan's own memory grows with the calls, to 4.3 GiB for all four, and threads do not share
    -- layouts.
    if (os.getenv "GPUSH_SAN" or ""):find "thread" then
        layouts = { "contiguous", "step 2", "transposed" }
        t.skip(1, "the misaligned layout of each row: TSan's memory grows with the calls")
    end
    for _, name in ipairs(names) do
        local case = cases[name]
        if t.ok(case, name .. " has a case here") then
            local run, types = case, nil
            if type(case) == "table" then run, types = case.run, case.types end
            for _, dev in ipairs(devices) do
                local problems = {}
                local function one(dtype, layout)
                    local c = A.context(name, dtype, dev, layout)
                    local ok, msg = pcall(run, c)
                    if types and not types[dtype] then
                        if ok then c.problem("dtype %s was taken", dtype)
                        elseif not tostring(msg):find(dtype, 1,
                            true) then c.problem("the message does not name %s: %s", dtype, msg) end
                    elseif not ok then
                        c.problem("%s", msg)
                    end
                    for _, p in ipairs(c.done()) do
                        problems[#problems + 1] = c.name .. ": " .. p
                    end
                end
                for _, dtype in ipairs(A.dtypes) do
                    for _, layout in ipairs(layouts) do one(dtype, layout) end
                end
                if not t.ok(#problems == 0, name .. " on " .. dev) then
                    for i = 1, math.min(#problems, 5) do
                        io.stderr:write("#   ", problems[i], "\n")
                    end
                end
            end
        end
    end
end

return A
