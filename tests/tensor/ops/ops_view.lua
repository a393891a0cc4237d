--!plain
-- Every VIEW row on cpu and sim, in every dtype and layout: against index arithmetic in plain Lua,
-- sharing memory where it must, and bad arguments.
local t = require "tap"
local g = require "gpush"
local A = require "arrays"
local build, get = A.build, A.get
local V = {}

-- A write through the view y must be seen in x (share) or not.
local function shares(c, x, y, share, what)
    local before = A.values(x)
    if #before == 0 or y:numel() == 0 then return end
    y:fill_(c.dtype == "bool" and 1 - A.values(y)[1] or 11)
    local after, same = A.values(x), true
    for i = 1, #before do same = same and before[i] == after[i] end
    if same == share then
        c.problem("%s %s memory with x", what, share and "does not share" or "shares")
    end
end

-- The bytes of other dtypes are in tests/tensor/ops/bitcast.lua.
function V.bitcast(c)
    local x, a = c.x {3, 4}
    c.check(x:bitcast(c.dtype), a)
    local signed = { u8 = "i8", i8 = "u8" }
    if signed[c.dtype] then c.check(x:bitcast(signed[c.dtype]):bitcast(c.dtype), a) end
    shares(c, x, x:bitcast(c.dtype), true, "bitcast")
    if c.dtype ~= "bool" then
        c.refuses(function() return x:bitcast "bool" end, "^bitcast: bytes of " .. c.dtype)
    end
end

function V.permute(c)
    local x, a = c.x {2, 3, 4}
    local y = x:permute(3, 1, -2)
    c.check(y, build({4, 2, 3}, function(i) return get(a, {i[2], i[3], i[1]}) end))
    shares(c, x, y, true, "permute")
    c.refuses(function() return x:permute(1, 2) end, "^permute: 2 dims given for a 3%-d tensor")
    c.refuses(function() return x:permute(1, 2, 2) end, "^permute: dim 2 is given twice")
    c.refuses(function() return x:permute(1, 2, 4) end, "^permute: dim 4 is out of range")
end

function V.transpose(c)
    local x, a = c.x {2, 3, 4}
    local y = x:transpose(1, -1)
    c.check(y, build({4, 3, 2}, function(i) return get(a, {i[3], i[2], i[1]}) end))
    shares(c, x, y, true, "transpose")
    c.refuses(function() return x:transpose(0, 1) end, "^transpose: dim 0 is out of range")
end

function V.view(c)
    local x, a = c.x {2, 6}
    local plain = x:contiguous()
    c.check(plain:view(3, -1), {shape = {3, 4}, v = a.v})
    c.check(plain:view(12), {shape = {12}, v = a.v})
    c.check(plain:view(2, 1, 3, 2), {shape = {2, 1, 3, 2}, v = a.v})
    c.check(x:view(2, 1, 6), {shape = {2, 1, 6}, v = a.v})
    shares(c, x, x:view(1, 2, 6), true, "view")
    if c.layout == "transposed" then
        c.refuses(function() return x:view(12) end, "^view: .*reshape")
    end
    c.refuses(function() return plain:view(5, -1) end,
        "^view: 12 elements of shape 2x6 do not fill shape 5x%-1 \z
            %(expected a multiple of 5 elements%)")
    c.refuses(function() return plain:view(-1, -1) end, "^view: dim 2 has size %-1")
    c.refuses(function() return plain:view(13) end, "^view: 12 elements")
    c.refuses(function() return plain:view(1 << 40, 1 << 40) end, "^view: ")
    c.refuses(function() return g.zeros(0, {dtype = c.dtype, device = c.dev}):view(0, -1) end,
        "^view: ")
end

function V.reshape(c)
    local x, a = c.x {2, 6}
    c.check(x:reshape(3, 4), {shape = {3, 4}, v = a.v})
    c.check(x:reshape(-1), {shape = {12}, v = a.v})
    c.check(x:reshape {4, -1, 1}, {shape = {4, 3, 1}, v = a.v})
    shares(c, x, x:reshape(12), c.layout ~= "transposed", "reshape")
    c.refuses(function() return x:reshape(7) end,
        "^reshape: 12 elements of shape 2x6 do not fill shape 7 %(expected 7 elements%)")
end

function V.flatten(c)
    local x, a = c.x {2, 3, 4}
    c.check(x:flatten(), {shape = {24}, v = a.v})
    c.check(x:flatten(2), {shape = {2, 12}, v = a.v})
    c.check(x:flatten(1, 2), {shape = {6, 4}, v = a.v})
    c.check(x:flatten(2, 2), {shape = {2, 3, 4}, v = a.v})
    c.check(c.put({shape = {}, v = {1}}):flatten(), {shape = {1}, v = {1}})
    c.refuses(function() return x:flatten(3, 1) end, "^flatten: first dim 3 is after last dim 1")
end

function V.expand(c)
    local x, a = c.x {3, 1}
    local y = x:expand(2, -1, 4)
    c.check(y, build({2, 3, 4}, function(i) return get(a, {i[2], 1}) end))
    c.check(x:expand(3, 0), {shape = {3, 0}, v = {}})
    c.refuses(function() return y:fill_(1) end, "^fill_: .*clone")
    c.refuses(function() return x:expand(4, 4) end, "^expand: dim 1 has size 3 and cannot become 4")
    c.refuses(function() return x:expand(3) end, "^expand: 1 dims given for a 2%-d tensor")
    c.refuses(function() return x:expand(-1, 3, 4) end, "^expand: ")
    c.refuses(function() return x:expand(1 << 40, 3, 1 << 40) end, "^expand: ",
        "more than 2%^%d+ elements")
end

function V.squeeze(c)
    local x, a = c.x {1, 3, 1, 2}
    c.check(x:squeeze(), {shape = {3, 2}, v = a.v})
    c.check(x:squeeze(1), {shape = {3, 1, 2}, v = a.v})
    c.check(x:squeeze(2), {shape = {1, 3, 1, 2}, v = a.v})
    c.check(x:squeeze {1, -2}, {shape = {3, 2}, v = a.v})
    shares(c, x, x:squeeze(), true, "squeeze")
    c.refuses(function() return x:squeeze(5) end, "^squeeze: dim 5 is out of range")
end

function V.unsqueeze(c)
    local x, a = c.x {3, 2}
    c.check(x:unsqueeze(1), {shape = {1, 3, 2}, v = a.v})
    c.check(x:unsqueeze(3), {shape = {3, 2, 1}, v = a.v})
    c.check(x:unsqueeze(-1), {shape = {3, 2, 1}, v = a.v})
    c.check(x:unsqueeze(-3), {shape = {1, 3, 2}, v = a.v})
    shares(c, x, x:unsqueeze(2), true, "unsqueeze")
    c.refuses(function() return x:unsqueeze(4) end, "^unsqueeze: dim 4 is out of range")
end

function V.narrow(c)
    local x, a = c.x {4, 5}
    local y = x:narrow(2, 2, 3)
    c.check(y, build({4, 3}, function(i) return get(a, {i[1], i[2] + 1}) end))
    c.check(x:narrow(1, -2, 2), build({2, 5}, function(i) return get(a, {i[1] + 2, i[2]}) end))
    c.check(x:narrow(1, 4, 0), {shape = {0, 5}, v = {}})
    shares(c, x, y, true, "narrow")
    c.refuses(function() return x:narrow(1, 3, 3) end,
        "^narrow: start 3 and length 3 do not lie in dim 1 of size 4")
    c.refuses(function() return x:narrow(1, 2, math.maxinteger) end, "^narrow: ")
    c.refuses(function() return x:narrow(1, math.mininteger, 1) end, "^narrow: ")
    c.refuses(function() return x:narrow(1, 0, 1) end, "^narrow: ")
    c.refuses(function() return x:narrow(1, 1, -1) end, "^narrow: ")
end

function V.select(c)
    local x, a = c.x {4, 5}
    local y = x:select(2, -1)
    c.check(y, build({4}, function(i) return get(a, {i[1], 5}) end))
    c.check(y:select(1, 3), {shape = {}, v = {get(a, {3, 5})}})
    shares(c, x, y, true, "select")
    c.refuses(function() return x:select(1, 5) end,
        "^select: index 5 is out of range for a dim of size 4")
    c.refuses(function() return x:select(1, 0) end, "^select: index 0 is out of range")
    c.refuses(function() return x:select(1, -5) end, "^select: index %-5 is out of range")
    c.refuses(function() return y[1]:select(1, 1) end, "^select: a 0%-d tensor")
end

function V.slice(c)
    local x, a = c.x {4, 5}
    local y = x:slice(2, 2, -1, 2)
    c.check(y, build({4, 2}, function(i) return get(a, {i[1], 2 * i[2]}) end))
    c.check(x:slice(1, -2, 99), build({2, 5}, function(i) return get(a, {i[1] + 2, i[2]}) end))
    c.check(x:slice(1, 3, 2), {shape = {0, 5}, v = {}})
    c.check(x:slice(1, 9, 12), {shape = {0, 5}, v = {}})
    c.check(x:slice(1, -99, 1), build({1, 5}, function(i) return get(a, i) end))
    c.check(x:slice(1, 2, 4, math.maxinteger),
        build({1, 5}, function(i) return get(a, {2, i[2]}) end))
    c.check(x:slice(1, math.mininteger, math.maxinteger), a)
    shares(c, x, y, true, "slice")
    c.refuses(function() return x:slice(1, 1, 2, 0) end, "^slice: step 0")
    c.refuses(function() return x:slice(1, 0, 2) end, "^slice: bound 0")
end

function V.diagonal(c)
    local x, a = c.x {3, 4, 2}
    c.check(x:diagonal(), build({2, 3}, function(i) return get(a, {i[2], i[2], i[1]}) end))
    c.check(x:diagonal(1), build({2, 3}, function(i) return get(a, {i[2], i[2] + 1, i[1]}) end))
    c.check(x:diagonal(-1, 2, 3),
        build({3, 2}, function(i) return get(a, {i[1], i[2] + 1, i[2]}) end))
    c.check(x:diagonal(9), {shape = {2, 0}, v = {}})
    c.check(x:diagonal(math.mininteger), {shape = {2, 0}, v = {}})
    shares(c, x, x:diagonal(), true, "diagonal")
    c.refuses(function() return x:diagonal(0, 1, 1) end, "^diagonal: dim1 and dim2 are both 1")
    c.refuses(function() return x[1][1]:diagonal() end,
        "^diagonal: expected at least 2 dims, got 1")
end

function V.as_strided(c)
    local x, a = c.x {3, 4}
    local plain = x:contiguous():clone()
    c.check(plain:as_strided({2, 2}, {4, 1}, 2),
        build({2, 2}, function(i) return get(a, {i[1], i[2] + 1}) end))
    c.check(plain:as_strided({3}, {5}), build({3}, function(i) return get(a, {i[1], i[1]}) end))
    c.check(plain:as_strided({2, 4}, {0, 1}, 9),
        build({2, 4}, function(i) return get(a, {3, i[2]}) end))
    c.check(plain[2]:as_strided({2, 4}, {4, 1}),
        build({2, 4}, function(i) return get(a, {i[1] + 1, i[2]}) end))
    shares(c, plain, plain:as_strided({2}, {4}), true, "as_strided")
    c.refuses(function() return plain[2]:as_strided({3, 4}, {4, 1}) end,
        "^as_strided: .* beyond the tensor's memory")
    c.refuses(function() return plain:as_strided({4, 4}, {4, 1}) end,
        "^as_strided: .* beyond the tensor's memory")
    c.refuses(function() return plain:as_strided({1}, {1}, 0) end,
        "^as_strided: .* beyond the tensor's memory")
    c.refuses(function() return plain:as_strided({2}, {4, 1}) end,
        "^as_strided: 2 strides for 1 dims")
    c.refuses(function() return plain:as_strided({2}, {-1}) end,
        "^as_strided: stride %-1 is negative")
end

function V.unfold(c)
    local x, a = c.x {2, 7}
    c.check(x:unfold(2, 3, 2),
        build({2, 3, 3}, function(i) return get(a, {i[1], (i[2] - 1) * 2 + i[3]}) end))
    c.check(x:unfold(2, 3, 3),
        build({2, 2, 3}, function(i) return get(a, {i[1], (i[2] - 1) * 3 + i[3]}) end))
    c.check(x:unfold(1, 2, 1), build({1, 7, 2}, function(i) return get(a, {i[3], i[2]}) end))
    c.check(x:unfold(2, 7, math.maxinteger),
        build({2, 1, 7}, function(i) return get(a, {i[1], i[3]}) end))
    c.refuses(function() return x:unfold(2, 8, 1) end, "^unfold: windows of 8")
    c.refuses(function() return x:unfold(2, 2, 0) end, "^unfold: windows of 2, 0 apart")
    c.refuses(function() return x:unfold(2, 3, 1):fill_(0) end, "^fill_: .*unfolded")
end

function V.t(c)
    local x, a = c.x {2, 3}
    c.check(x:t(), build({3, 2}, function(i) return get(a, {i[2], i[1]}) end))
    shares(c, x, x:t(), true, "t")
    local y, b = c.x {4}
    c.check(y:t(), b)
    c.check(y[2]:t(), {shape = {}, v = {b.v[2]}})
    c.refuses(function() return c.x({2, 1, 2}):t() end, "^t: expected at most 2 dims, got 3")
end

function V.movedim(c)
    local x, a = c.x {2, 3, 4}
    local y = x:movedim(1, -1)
    c.check(y, build({3, 4, 2}, function(i) return get(a, {i[3], i[1], i[2]}) end))
    shares(c, x, y, true, "movedim")
    x, a = c.x {2, 3, 4}
    c.check(x:movedim({1, 3}, {2, 1}),
        build({4, 2, 3}, function(i) return get(a, {i[2], i[3], i[1]}) end))
    c.check(x:movedim({}, {}), a)
    c.check(g.movedim(x[1][1][1], 1, -1), {shape = {}, v = {a.v[1]}})
    c.refuses(function() return x:movedim({1, 2}, 1) end, "^movedim: 2 dims of source, but 1")
    c.refuses(function() return x:movedim({1, -3}, {1, 2}) end, "^movedim: dim %-3 is given twice")
    c.refuses(function() return x:movedim(1, 4) end, "^movedim: dim 4 is out of range")
end

function V.broadcast_to(c)
    local x, a = c.x {3, 1}
    c.check(x:broadcast_to(2, 3, 4), build({2, 3, 4}, function(i) return get(a, {i[2], 1}) end))
    c.check(x:broadcast_to {3, 1}, a)
    shares(c, x, x:broadcast_to(3, 1), true, "broadcast_to")
    c.refuses(function() return x:broadcast_to(4, 4) end,
        "^broadcast_to: dim 1 has size 3 and cannot become 4")
end

function V.unflatten(c)
    local x, a = c.x {2, 12, 3}
    local function want()
        return build({2, 3, 4, 3},
            function(i) return get(a, {i[1], (i[2] - 1) * 4 + i[3], i[4]}) end)
    end
    c.check(x:unflatten(2, 3, -1), want())
    c.check(x:unflatten(-2, {3, 4}), want())
    c.check(x:unflatten(3, 1, 3, 1), {shape = {2, 12, 1, 3, 1}, v = a.v})
    c.check(c.put({shape = {0, 2}, v = {}}):unflatten(1, 4, 0), {shape = {4, 0, 2}, v = {}})
    shares(c, x, x:unflatten(2, 3, 4), true, "unflatten")
    c.refuses(function() return x:unflatten(2, 5, -1) end,
        "^unflatten: the product of the sizes is 5, but dim 2 has size 12 %(expected ")
    c.refuses(function() return x:unflatten(2, -1, -1) end, "^unflatten: size 2 is %-1")
    c.refuses(function() return x:unflatten(4, 3) end, "^unflatten: dim 4 is out of range")
    c.refuses(function() return x:unflatten(1, {}) end, "^unflatten: 0 sizes")
end

function V.to(c)
    local x, a = c.x {3, 4}
    local other = c.dev == "cpu" and "sim" or "cpu"
    local y = x:to(other)
    if y.device == x.device then c.problem("to %s did not move it", other) end
    c.check(y:to(c.dev), a)
    shares(c, x, x:to(c.dev), true, "to the same device")
    shares(c, x, y, false, "to another device")
    c.refuses(function() return x:to("tpu") end, "tpu")
    local z, b = c.x {3, 4}
    for _, dtype in ipairs(A.dtypes) do
        local want = build({3, 4}, function(i)
            local v = get(b, i)
            if dtype == "bool" then return v ~= 0 and 1 or 0 end
            if A.floats[dtype] then return v end
            v = v < 0 and math.ceil(v) or math.floor(v)
            return dtype == "u8" and v & 255 or v
        end)
        c.check(z:to(dtype), want, dtype, nil, "as " .. dtype)
        c.check(z:to(other, dtype):to(c.dev), want, dtype, nil, "there as " .. dtype)
    end
end

function V.contiguous(c)
    local x, a = c.x {3, 4}
    c.check(x:contiguous(), a)
    shares(c, x, x:contiguous(), c.layout == "contiguous" or c.layout == "misaligned", "contiguous")
end

function V.detach(c)
    local x, a = c.x {3, 4}
    c.check(x:detach(), a)
    shares(c, x, x:detach(), true, "detach")
end

A.run(V, function(op) return op.kind == "view" end)
-- Transposed copies of every size of element: squares of 4 to 16 are transposed in registers, edges
-- one by one, from 16 MB on past the caches; lines a power of two apart go through a tile. Element
-- (i, j) of the transposed is j * width + i.
for _, dtype in ipairs { "u8", "i16", "f32", "f64" } do
    local wrong
    for _, size in ipairs { { 8, 8 }, { 9, 17 }, { 64, 15 }, { 130, 67 }, { 129, 260 },
        { 3, 33, 21 }, { 1024, 37 }, { 256, 150 } }
    do
        local n, width = 1, size[#size]
        for _, s in ipairs(size) do n = n * s end
        local x = gpush.arange(0, n - 1, { dtype = "i64" }):remainder(251):to(dtype):view(size)
        local got = x:transpose(-1, -2):contiguous():flatten():tolist()
        local height, at = size[#size - 1], 0
        for b = 0, n // (width * height) - 1 do
            for i = 0, width - 1 do
                for j = 0, height - 1 do
                    at = at + 1
                    if got[at] ~= (b * width * height + j * width + i) % 251 then
                        wrong = wrong or ("%s: element %d"):format(table.concat(size, "x"), at)
                    end
                end
            end
        end
    end
    t.is(wrong, nil, "transposed copies, " .. dtype)
    local height, width = 4103, dtype == "u8" and 4203 or 2107
    local rows = gpush.arange(0, height - 1, { dtype = "i64" })
    local cols = gpush.arange(0, width - 1, { dtype = "i64" }):view(-1, 1)
    local x = gpush.arange(0, height * width - 1, { dtype = "i64" }):remainder(251):to(dtype):view(
        height, width)
    local want = (rows * width + cols):remainder(251):to(dtype)
    t.ok(x:t():contiguous():eq(want):all():item(), "a large transposed copy, " .. dtype)
end

t.done()
