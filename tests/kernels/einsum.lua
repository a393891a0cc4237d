-- einsum and tensordot against plain loops over every label: all forms NumPy takes, dtypes,
-- layouts, sizes of 0 and 1.
local t = require "tap"
local g = require "gpush"
local A = require "arrays"

-- The sum over all labels, by definition. terms and out: strings of one letter for each dim; arrays
-- as in arrays.lua.
local function reference(terms, out, arrays)
    local size, labels = {}, {}
    for k, term in ipairs(terms) do
        for d = 1, #term do
            local l = term:sub(d, d)
            if not size[l] then labels[#labels + 1] = l end
            size[l] = math.max(size[l] or 0, arrays[k].shape[d])
            if arrays[k].shape[d] == 0 then size[l] = 0 end
        end
    end
    local shape, value, inner = {}, {}, {}
    for d = 1, #out do shape[d] = size[out:sub(d, d)] end
    for _, l in ipairs(labels) do
        if not out:find(l, 1, true) then inner[#inner + 1] = l end
    end
    local function at(k)
        local idx = {}
        for d = 1, #terms[k] do
            idx[d] = arrays[k].shape[d] == 1 and 1 or value[terms[k]:sub(d, d)]
        end
        return A.get(arrays[k], idx)
    end
    local function sum(n)
        if n > #inner then
            local p = 1
            for k = 1, #terms do p = p * at(k) end
            return p
        end
        local s = 0
        for i = 1, size[inner[n]] do
            value[inner[n]] = i
            s = s + sum(n + 1)
        end
        return s
    end
    return A.build(shape, function(idx)
        for d = 1, #out do value[out:sub(d, d)] = idx[d] end
        return sum(1)
    end)
end

-- equation, shapes, and where the equation does not show it plainly: terms, and the result's
-- labels.
local cases = {
    {"ij,jk->ik", {{3, 4}, {4, 5}}}, {"ij,jk", {{3, 4}, {4, 5}}, {"ij", "jk"}, "ik"},
    {"ij,kj->ki", {{3, 4}, {5, 4}}},
    {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}}, {"bij,bjk->ikb", {{2, 3, 4}, {2, 4, 5}}},
    {"bij,bjk->ik", {{2, 3, 4}, {2, 4, 5}}},
    {"i,i->", {{4}, {4}}}, {"i,i", {{4}, {4}}, {"i", "i"}, ""}, {"i,j->ij", {{3}, {4}}},
    {"i,j->ji", {{3}, {4}}},
    {"ij->ji", {{3, 4}}}, {"ij->", {{3, 4}}}, {"ij->j", {{3, 4}}}, {"ba", {{3, 4}}, {"ba"}, "ab"},
    {"aB", {{3, 4}}, {"aB"}, "Ba"},
    {"ii->i", {{4, 4}}}, {"ii", {{4, 4}}, {"ii"}, ""}, {"iij->j", {{3, 3, 2}}},
    {"ijij->ij", {{3, 2, 3, 2}}}, {"iii->i", {{3, 3, 3}}},
    {"ii,ij->j", {{3, 3}, {3, 4}}}, {"ij,ij->ij", {{3, 4}, {3, 4}}},
    {"ij,ij,ij->i", {{3, 4}, {3, 4}, {3, 4}}},
    {"ab,bc,cd,de->ae", {{2, 3}, {3, 4}, {4, 2}, {2, 5}}},
    {"ab,cb,ad->cd", {{2, 3}, {4, 3}, {2, 5}}}, {"a,b,c->cba", {{2}, {3}, {4}}},
    {"ij,j->i", {{1, 4}, {4}}}, {"ij,jk->ik", {{3, 1}, {4, 5}}}, {"ij,ij->i", {{3, 1}, {1, 4}}},
    {"ij,ij->ij", {{1, 4}, {3, 4}}},
    {"ij,jk->ik", {{3, 0}, {0, 5}}}, {"ij,jk->ik", {{0, 4}, {4, 5}}}, {"ij->i", {{3, 0}}},
    {"bij,bjk->bik", {{0, 3, 4}, {0, 4, 5}}},
    {"->", {{}}}, {",ij->ij", {{}, {3, 4}}}, {",", {{}, {}}, {"", ""}, ""}, {"i,->i", {{3}, {}}},
    {" i j , j k -> i k ", {{3, 4}, {4, 5}}, {"ij", "jk"}, "ik"},
    {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 5}}, {"zij", "zjk"}, "zik"},
    {"...ij,...jk", {{2, 3, 4}, {4, 5}}, {"zij", "jk"}, "zik"},
    {"...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 2}}, {"yzij", "zjk"}, "yzik"},
    {"...,...->...", {{2, 3}, {3}}, {"yz", "z"}, "yz"},
    {"...i->i...", {{2, 3, 4}}, {"yzi"}, "iyz"}, {"i...->...", {{2, 3, 4}}, {"iyz"}, "yz"},
    {"b...a", {{2, 3, 4}}, {"bya"}, "yab"},
    {"a...->a", {{2, 3, 4}}, {"ayz"}, "a"}, {"...", {{2, 3}}, {"yz"}, "yz"},
    {"...ii->...i", {{2, 3, 3}}, {"zii"}, "zi"},
    {"bnqd,bnkd->bnqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
    {"abcd,cdbe->ea", {{2, 3, 2, 4}, {2, 4, 3, 2}}},
}

math.randomseed(3)
local function operands(shapes, dtype, layout, dev)
    local xs, arrays = {}, {}
    for k, shape in ipairs(shapes) do
        arrays[k] = A.build(shape, function() return A.value(dtype) end)
        xs[k] = A.layouts[layout](arrays[k], dtype, dev)
    end
    return xs, arrays
end

local function split(equation)
    local left, out = equation:match "^(.*)%->(.*)$"
    local terms = {}
    for term in (left .. ","):gmatch "(.-)," do terms[#terms + 1] = term end
    return terms, out
end

local function same(y, want, tol)
    if A.text(y.shape) ~= A.text(want.shape) then return false, "shape " .. A.text(y.shape) end
    for i, v in ipairs(A.values(y)) do
        if not (math.abs(v - want.v[i]) <= tol * (1 + math.abs(want.v[i]))) then
            return false, "element " .. i
        end
    end
    return true
end

local tolerance = {f64 = 1e-13, f32 = 1e-5, i64 = 0, i32 = 0, f16 = 3e-2}
for _, case in ipairs(cases) do
    local equation, shapes, terms, out = table.unpack(case)
    if not terms then terms, out = split(equation) end
    local wrong
    for dtype, tol in pairs(tolerance) do
        for _, layout in ipairs {"contiguous", "transposed", "step 2"} do
            for _, dev in ipairs {"cpu", "sim"} do
                local xs, arrays = operands(shapes, dtype, layout, dev)
                local y = g.einsum(equation, table.unpack(xs))
                local ok, why = same(y, reference(terms, out, arrays), tol)
                if dtype == "i32" and #shapes > 1 and y.dtype ~= "i32" then
                    ok, why = false, "dtype " .. y.dtype
                end
                if not ok then wrong = table.concat({dtype, layout, dev, why}, " ") end
            end
        end
    end
    t.is(wrong, nil, equation)
end

local a, b, c = g.randn(3, 4, {dtype = "f64"}), g.randn(4, 5, {dtype = "f64"}),
    g.randn(5, {dtype = "f64"})
local want = a:matmul(b)
t.close(g.einsum("ij,jk", {a, b}), want:tolist(), 1e-13, "a list of operands")
t.close(g.einsum(a, {1, 2}, b, {2, 3}, {1, 3}), want:tolist(), 1e-13, "NumPy's lists of labels")
t.close(g.einsum(a, {1, 2}, b, {2, 3}), want:tolist(), 1e-13, "the same without the result's")
t.close(g.einsum(a, {"...", 2}, {2, "..."}), a:transpose(1, 2):tolist(), 0, "with '...'")
t.close(g.einsum(a, {1, 2}, {}), a:sum():item(), 1e-12, "a sum of all")
t.is(g.einsum("ij->ji", a:gt(0)):tolist(), a:gt(0):transpose(1, 2):tolist(), "bool: no sums")
t.is(g.einsum("i,j->ij", a[1]:gt(0), a[2]:gt(0)).dtype, "bool", "bool: a product")
t.close(g.einsum("ij,jk,k->i", a, b, c), want:matmul(c):tolist(), 1e-12, "three operands")

for _, bad in ipairs {
    {"ij,jk->ik", {a}, "einsum: 'ij,jk%->ik' is for 2 operands, 1 are given"},
    {"ijk->i", {a}, "einsum: operand 1 is f64 3x4"},
    {"i->i", {a}, "einsum: operand 1"}, {"ij,jk->ik", {a, a}, "einsum: label 'j' has size 3"},
    {"ii->i", {a}, "einsum: label 'i'"},
    {"ij->k", {a}, "einsum: label 'k'"}, {"ij->ii", {a}, "einsum: label 'i' is twice"},
    {"i$->i", {a}, "einsum: .*'%$'"},
    {"......->", {a}, "einsum: .*twice"}, {"ij->i->j", {a}, "einsum: "},
    {"ij,jk", {a, b:to {dtype = "f32"}}, "einsum: operand 1 is f64"},
    {"ij,jk", {a, b:to "sim"}, "different devices"},
    {"ij", {3}, "einsum: operand 1: expected a tensor"}, {"ij", {}, "einsum: expected"},
} do
    t.error(function() return g.einsum(bad[1], table.unpack(bad[2])) end, bad[3],
        "refused: " .. bad[1])
end
t.error(function() return g.einsum("ij,jk->ik", a:gt(0), b:gt(0)) end, "bool",
    "sums of products of bool")
t.error(function() return g.einsum(a, {1, 60}) end, "einsum: label 60", "a label too large")

-- ---- tensordot ----

local shapes = {{{3, 4, 5}, {4, 5, 2}, nil, {"abc", "bcd"}, "ad"},
    {{3, 4}, {4, 5}, 1, {"ab", "bc"}, "ac"}, {{3}, {2}, 0, {"a", "b"}, "ab"},
    {{3, 4, 5}, {5, 2, 3}, {{3, 1}, {1, 3}}, {"abc", "cda"}, "bd"},
    {{3, 4}, {3, 4}, {{-1}, {2}}, {"ab", "cb"}, "ac"},
    {{2, 0}, {0, 3}, 1, {"ab", "bc"}, "ac"}}
for i, case in ipairs(shapes) do
    for _, dtype in ipairs {"f64", "i32"} do
        local xs, arrays = operands({case[1], case[2]}, dtype, "transposed", "cpu")
        t.ok(same(g.tensordot(xs[1], xs[2], case[3]), reference(case[4], case[5], arrays), 1e-13),
            "tensordot " .. i .. " " .. dtype)
    end
end
t.error(function() return g.tensordot(a, b, 2) end, "tensordot: dim 1 of f64 3x4", "sizes differ")
t.error(function() return g.tensordot(a, b, 3) end, "tensordot: .* have no 3 dims", "too many dims")
t.error(function() return g.tensordot(a, a, {{1, 1}, {1, 1}}) end, "tensordot: dim 1 of",
    "a dim twice")
t.error(function() return g.tensordot(a, b, {{1}, {1, 2}}) end, "tensordot: 1 dims of a and 2 of b",
    "lists of two lengths")
t.error(function() return g.einsum("ij->i", a, nil, b) end,
    "einsum: operand 2: expected a tensor, got nil", "an operand after a gap")

t.done()
