--!plain
-- Composites: sums of products in Einstein's notation, and tensordot. Operands are contracted two
-- at a time by matmul of batches; labels of dims are strings.
local require = ...
local define, raise = require "ops".define, require "fail"

local function fail(format, ...) raise(("einsum: " .. format):format(...)) end

local function text(x) return x.dtype .. " " .. table.concat(x.shape, "x") end

local function find(list, label)
    for i, l in ipairs(list) do if l == label then return i end end
end

-- An operand in progress: x, and the label of each of its dims.
local function permuted(t, order)
    local dims, same = {}, true
    for i, label in ipairs(order) do
        dims[i] = find(t.labels, label)
        same = same and dims[i] == i
    end
    return same and t.x or t.x:permute(dims)
end

-- ---- parsing the equation ----

-- The labels of one operand's text, "..." among them.
local function parse(part, equation)
    local labels, i, dots = {}, 1, false
    while i <= #part do
        if part:sub(i, i + 2) == "..." then
            if dots then fail("'%s' has '...' twice in '%s'", equation, part) end
            labels[#labels + 1], i, dots = "...", i + 3, true
        elseif part:find("^%a", i) then
            labels[#labels + 1], i = part:sub(i, i), i + 1
        else
            fail("'%s' has a '%s' (expected letters, '...', ',' and one '->')", equation,
                part:sub(i, i))
        end
    end
    return labels, dots
end

-- "..." becomes the labels "…1" to "…most", of which an operand with fewer such dims has the last
-- ones.
local function spell(labels, most, count)
    local out = {}
    for _, label in ipairs(labels) do
        if label ~= "..." then out[#out + 1] = label
        else for d = most - count + 1, most do out[#out + 1] = "…" .. d end end
    end
    return out
end

-- Without "->": the dims of "...", then the labels that occur once, in alphabetical order.
local function implicit(inputs, most)
    local seen, out = {}, {}
    for _, labels in ipairs(inputs) do
        for _, label in ipairs(labels) do
            if label ~= "..." then seen[label] = (seen[label] or 0) + 1 end
        end
    end
    for label, n in pairs(seen) do if n == 1 then out[#out + 1] = label end end
    table.sort(out)
    return table.move(out, 1, #out, most + 1, spell({ "..." }, most, most))
end

local function explicit(part, equation, inputs, most)
    local labels = parse(part, equation)
    for i, label in ipairs(labels) do
        local known = label == "..."
        for _, input in ipairs(inputs) do known = known or find(input, label) end
        if not known then
            fail("label '%s' of the result in '%s' is in no operand", label, equation)
        end
        if find(labels, label) < i then
            fail("label '%s' is twice in the result of '%s'", label, equation)
        end
    end
    return spell(labels, most, most)
end

-- Operands with their labels, and the result's labels.
local function read(equation, xs)
    local plain = equation:gsub("%s", "")
    local left, right = plain:match "^(.-)%->(.*)$"
    local inputs, terms, most = {}, {}, 0
    for part in ((left or plain) .. ","):gmatch "(.-)," do inputs[#inputs + 1] = part end
    if #inputs ~= #xs then fail("'%s' is for %d operands, %d are given", equation, #inputs, #xs) end
    for i, part in ipairs(inputs) do
        local labels, dots = parse(part, equation)
        local count = #xs[i].shape - (#labels - (dots and 1 or 0))
        if count < 0 or count > 0 and not dots then
            fail("operand %d is %s, but '%s' has %d labels for it", i, text(xs[i]), equation,
                #labels)
        end
        inputs[i], terms[i], most = labels, { x = xs[i], count = count }, math.max(most, count)
    end
    for i, term in ipairs(terms) do term.labels = spell(inputs[i], most, term.count) end
    return terms, right and explicit(right, equation, inputs, most) or implicit(inputs, most)
end

-- ---- one operand ----

-- For labels that an operand has twice: the diagonal of their dims.
local function diagonals(t, i)
    local p = 1
    while p <= #t.labels do
        local label, q = t.labels[p], nil
        for k = p + 1, #t.labels do q = q or t.labels[k] == label and k end
        if q then
            if t.x.shape[p] ~= t.x.shape[q] then
                fail("label '%s' is for sizes %d and %d of operand %d, %s", label, t.x.shape[p],
                    t.x.shape[q], i, text(t.x))
            end
            t.x = t.x:diagonal(0, p, q)
            table.remove(t.labels, q)
            table.remove(t.labels, p)
            t.labels[#t.labels + 1] = label
        else
            p = p + 1
        end
    end
end

-- Sizes of all labels; a size of 1 matches any.
local function sizes(terms)
    local size = {}
    for i, t in ipairs(terms) do
        for d, label in ipairs(t.labels) do
            local n, have = t.x.shape[d], size[label]
            if have and have ~= n and have ~= 1 and n ~= 1 then
                fail("label '%s' has size %d in operand %d, but %d before", label, n, i, have)
            end
            if not have or have == 1 then size[label] = n end
        end
    end
    return size
end

-- Sums over the labels that are not wanted. `dtype`: of the sums; nil: sum's own.
local function sum_out(t, wanted, dtype)
    local dims, labels = {}, {}
    for d, label in ipairs(t.labels) do
        if wanted(label) then labels[#labels + 1] = label else dims[#dims + 1] = d end
    end
    if #dims > 0 then t.x, t.labels = t.x:sum(dims, false, dtype), labels end
end

-- Dims of size 1 whose label has another size in the other operand.
local function drop_ones(t, other)
    for d = #t.labels, 1, -1 do
        local o = find(other.labels, t.labels[d])
        if o and t.x.shape[d] == 1 and other.x.shape[o] ~= 1 then
            t.x = t.x:select(d, 1)
            table.remove(t.labels, d)
        end
    end
end

-- ---- two operands ----

local function join(...)
    local out = {}
    for _, list in ipairs { ... } do table.move(list, 1, #list, #out + 1, out) end
    return out
end

local function shape_of(t, labels)
    local shape, n = {}, 1
    for i, label in ipairs(labels) do
        shape[i] = t.x.shape[find(t.labels, label)]
        n = n * shape[i]
    end
    return shape, n
end

-- No label is summed: an elementwise product, which is also right for bool.
local function multiply(a, b, shared, left, right)
    local x, y = permuted(a, join(shared, left)), permuted(b, join(shared, right))
    for _ = 1, #right do x = x:unsqueeze(-1) end
    for _ = 1, #left do y = y:unsqueeze(#shared + 1) end
    return { x = x * y, labels = join(shared, left, right) }
end

-- The product of a and b, summed over the labels of both that are not kept.
local function contract(a, b, kept)
    a, b = { x = a.x, labels = join(a.labels) }, { x = b.x, labels = join(b.labels) }
    drop_ones(a, b)
    drop_ones(b, a)
    local dtype = a.x.dtype
    sum_out(a, function(l) return kept[l] or find(b.labels, l) end, dtype)
    sum_out(b, function(l) return kept[l] or find(a.labels, l) end, dtype)
    local shared, summed, left, right = {}, {}, {}, {}
    for _, l in ipairs(a.labels) do
        local list = not find(b.labels, l) and left or kept[l] and shared or summed
        list[#list + 1] = l
    end
    for _, l in ipairs(b.labels) do
        if not find(a.labels, l) then right[#right + 1] = l end
    end
    if #summed == 0 then return multiply(a, b, shared, left, right) end
    local batch, count = shape_of(a, shared)
    local _, k = shape_of(a, summed)
    local rows, m = shape_of(a, left)
    local cols, n = shape_of(b, right)
    local x = permuted(a, join(shared, left, summed)):reshape(
        #shared > 0 and { count, m, k } or { m, k })
    local y = permuted(b, join(shared, summed, right)):reshape(
        #shared > 0 and { count, k, n } or { k, n })
    return { x = x:matmul(y):reshape(join(batch, rows, cols)), labels = join(shared, left, right) }
end

-- Labels that the result or an operand but i and j needs.
local function needed(terms, out, i, j)
    local kept = {}
    for _, label in ipairs(out) do kept[label] = true end
    for k, t in ipairs(terms) do
        if k ~= i and k ~= j then
            for _, label in ipairs(t.labels) do kept[label] = true end
        end
    end
    return kept
end

-- Elements of the product of a and b, minus those of a and b: the quantity that a greedy path
-- minimises.
local function growth(a, b, kept, size)
    local result, seen = 1, {}
    for _, label in ipairs(join(a.labels, b.labels)) do
        if kept[label] and not seen[label] then
            seen[label] = true
            result = result * size[label]
        end
    end
    return result - a.x:numel() - b.x:numel()
end

local function best_pair(terms, out, size)
    local best, p, q = math.huge, 1, 2
    for i = 1, #terms - 1 do
        for j = i + 1, #terms do
            local g = growth(terms[i], terms[j], needed(terms, out, i, j), size)
            if g < best then best, p, q = g, i, j end
        end
    end
    return p, q
end

-- Whether there are several steps after which a 16-bit result would be rounded: more than one
-- product, or a sum before it.
local function steps(terms, out)
    local in_terms, n = {}, #terms
    for _, t in ipairs(terms) do
        for _, label in ipairs(t.labels) do in_terms[label] = (in_terms[label] or 0) + 1 end
    end
    for label, count in pairs(in_terms) do
        if n > 1 and count == 1 and not find(out, label) then return true end
    end
    return n > 2
end

local HALF = { f16 = true, bf16 = true }
local function evaluate(terms, out)
    for i, t in ipairs(terms) do diagonals(t, i) end
    local dtype = terms[1].x.dtype
    local wide = HALF[dtype] and steps(terms, out)
    for _, t in ipairs(wide and terms or {}) do t.x = t.x:to "f32" end
    local size, several = sizes(terms), #terms > 1
    while #terms > 1 do
        local i, j = 1, 2
        if #terms > 2 then i, j = best_pair(terms, out, size) end
        local c = contract(terms[i], terms[j], needed(terms, out, i, j))
        table.remove(terms, j)
        terms[i] = c
    end
    local t = terms[1]
    local wanted = {}
    for _, label in ipairs(out) do wanted[label] = true end
    sum_out(t, function(l) return wanted[l] end, several and t.x.dtype or nil)
    return wide and permuted(t, out):to(dtype) or permuted(t, out)
end

-- ---- the functions ----

-- NumPy's other form, einsum(a, {1, 2}, b, {2, 3}, {1, 3}), as an equation and operands. Label 1 is
-- "A".
local function from_lists(args)
    local function word(list)
        local s = {}
        for i, l in ipairs(list) do
            if l ~= "..." and (math.type(l) ~= "integer" or l < 1 or l > 52) then
                fail("label %s (expected an integer from 1 to 52, or '...')", tostring(l))
            end
            s[i] = l == "..." and l or string.char(l <= 26 and 64 + l or 70 + l)
        end
        return table.concat(s)
    end
    local parts, xs, i = {}, {}, 1
    while args[i + 1] ~= nil do
        if type(args[i + 1]) ~= "table" then
            fail("argument #%d: expected a list of labels", i + 1)
        end
        xs[#xs + 1], parts[#parts + 1], i = args[i], word(args[i + 1]), i + 2
    end
    return table.concat(parts, ",") .. (args[i] and "->" .. word(args[i]) or ""), xs
end

local function is_tensor(x) return type(x) == "userdata" and x.shape ~= nil and x.dtype ~= nil end

local function einsum(equation, ...)
    local xs = { ... }
    local n = 0 -- operands before the first missing one
    while xs[n + 1] ~= nil do n = n + 1 end
    for i = n + 2, select("#", ...) do
        if xs[i] ~= nil then fail("operand %d: expected a tensor, got nil", n + 1) end
    end
    if type(equation) ~= "string" then equation, xs = from_lists { equation, ... }
    elseif #xs == 1 and type(xs[1]) == "table" then xs = table.move(xs[1], 1, #xs[1], 1, {}) end
    if #xs == 0 then fail("expected at least one operand") end
    for i, x in ipairs(xs) do
        if not is_tensor(x) then fail("operand %d: expected a tensor, got %s", i, type(x)) end
    end
    for i, x in ipairs(xs) do
        if x.dtype ~= xs[1].dtype then
            fail("operand 1 is %s and operand %d %s (expected the same dtype; convert one with \z
                :to)", xs[1].dtype, i, x.dtype)
        end
        if x.device ~= xs[1].device then
            fail("tensors are on different devices: %s and %s (operand %d)", xs[1].device, x.device,
                i)
        end
    end
    return evaluate(read(equation, xs))
end

define { "einsum",
    sig = "value equation, value? a, value? b, value? c, value? d, value? e, value? f, value? g, \z
        value? h, value? i, value? j, value? k, value? l, value? m",
    help = "sum of products in Einstein's notation: einsum('bij,bjk->bik', a, b). '...', repeated \z
        labels, no '->', a list of operands, and NumPy's form einsum(a, {1, 2}, b, {2, 3}, {1, 3})",
    dtypes = "numbers", autocast = "low", fn = einsum }

-- dims: the number of last dims of a and first ones of b, or a list for each.
define { "tensordot", sig = "tensor a, tensor b, any? dims",
    help = "sums of products over dims of a and b: the last n of a with the first n of b (n = 2 \z
        if not given), or lists {dims of a, dims of b}",
    dtypes = "numbers", autocast = "promote", fn = function(a, b, dims)
        local function bad(format, ...) raise("tensordot: " .. format, ...) end
        dims = dims == nil and 2
            or gpush.is_tensor(dims) and dims:numel() == 1 and dims:item() or dims
        local of_a, of_b, n, m = {}, {}, #a.shape, #b.shape
        if math.type(dims) == "integer" then
            if dims < 0 or dims > n or dims > m then
                bad("%s and %s have no %d dims to sum over", text(a), text(b), dims)
            end
            for i = 1, dims do of_a[i], of_b[i] = n - dims + i, i end
        elseif type(dims) == "table" and type(dims[1]) == "table" and type(dims[2]) == "table" then
            of_a, of_b = dims[1], dims[2]
        else
            bad("argument 'dims': expected an integer or two lists of dims")
        end
        if #of_a ~= #of_b then
            bad("%d dims of a and %d of b (expected the same number)", #of_a, #of_b)
        end
        local left, right, out = {}, {}, {}
        for i = 1, #of_a do
            local p, q = of_a[i] < 0 and of_a[i] + n + 1 or of_a[i], of_b[i] < 0 and of_b[i] + m + 1
                or of_b[i]
            if not rawget(a.shape, p) or not rawget(b.shape, q) then
                bad("no dims %d of %s and %d of %s", of_a[i], text(a), of_b[i], text(b))
            end
            if left[p] or right[q] then
                bad("dim %d of a or %d of b is given twice", of_a[i], of_b[i])
            end
            if a.shape[p] ~= b.shape[q] then
                bad("dim %d of %s has size %d, dim %d of %s size %d (expected the same)", p,
                    text(a), a.shape[p], q, text(b), b.shape[q])
            end
            left[p], right[q] = "s" .. i, "s" .. i
        end
        for d = 1, n do if not left[d] then left[d] = "a" .. d out[#out + 1] = left[d] end end
        for d = 1, m do if not right[d] then right[d] = "b" .. d out[#out + 1] = right[d] end end
        if a.dtype ~= b.dtype then
            bad("argument 'a' is %s and argument 'b' %s (expected the same dtype)", a.dtype,
                b.dtype)
        end
        return evaluate({ { x = a, labels = left }, { x = b, labels = right } }, out)
    end }
