-- unique_consecutive, unique and nonzero, which walk over elements and keep a bit for each
-- (kernels/cuda/index/mask.cuh), and searches of lines that blocks keep
-- (kernels/cuda/sort/searchsorted.cu), on the stand-in for CUDA: the CPU's results.
local t = require "tap"

manual_seed(9)
local function same(what, op, ...)
    local there = {}
    for i, v in ipairs { ... } do there[i] = v:to "cuda" end
    local got, want, all = { op(table.unpack(there)) }, { op(...) }, true
    for i, w in ipairs(want) do
        local g = got[i]:cpu()
        local shapes = table.concat(g.shape, "x") == table.concat(w.shape, "x")
        all = all and g.dtype == w.dtype and shapes and (g:eq(w) | (g:ne(g) & w:ne(w))):all():item()
    end
    t.ok(all and #got == #want, what)
end

-- both sides of what a thread, a warp and a block walk
for _, n in ipairs { 1, 2, 31, 33, 511, 513, 4095, 4096, 4097, 9000 } do
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8",
        "u8", "bool" } do
        local x = randint(0, n % 2 == 0 and 1 or 4, { n })
        if dtype == "bool" then x = x:gt(0) end
        x = x:to(dtype)
        if dtype:find "f" then x["1::5"] = 0 / 0 x["2::7"] = -0.0 end
        local name = ("%d of %s"):format(n, dtype)
        same("unique_consecutive, " .. name, function(v) return v:unique_consecutive() end, x)
        same("unique_consecutive and counts, " .. name, function(v)
            return v:unique_consecutive { return_counts = true }
        end, x)
        same("unique_consecutive, inverse and counts, " .. name, function(v)
            return v:unique_consecutive { return_inverse = true, return_counts = true }
        end, x)
        same("unique and counts, " .. name,
            function(v) return v:unique { return_counts = true } end,
            x)
        same("nonzero, " .. name, function(v) return v:nonzero() end, x)
    end
end
local x = randint(0, 1, { 30, 40, 7 }):to "f32"
same("nonzero of 3 dims", function(v) return v:nonzero() end, x)
same("nonzero of a part", function(v) return v["2:9, 3::2, 7"]:nonzero() end, x)
same("nonzero, transposed", function(v) return v:transpose(1, 3):nonzero() end, x)
same("unique_consecutive of a part",
    function(v) return v["3:20, 2::3, 4"]:unique_consecutive() end, x)
same("unique_consecutive of nothing", function(v) return v:unique_consecutive() end,
    zeros(0))

-- both sides of what a block keeps of a line, and of the values for which it does
local function search(line, v)
    return v:bucketize(line), v:bucketize(line, false, true), v:bucketize(line, true)
end
for _, dtype in ipairs { "f32", "bf16", "f64", "i64", "u8" } do
    for _, n in ipairs { 0, 1, 2, 3, 1000, 4096, 4097 } do
        local line = (rand(n) * 90):to(dtype):sort()
        for _, m in ipairs { 5, 1023, 1025, 20000 } do
            local v = (rand(m) * 100):to(dtype)
            if dtype:find "f" then v[1], v[2], v[3] = 0 / 0, math.huge, -0.0 end
            if n > 0 then v["4:5"] = line[n] end
            same(("bucketize of %d in %d %s"):format(m, n, dtype), search, line, v)
        end
    end
end
same("searchsorted of lines", function(a, v) return searchsorted(a, v) end, rand(3, 90):sort(2),
    rand(3, 2000))

t.done()
