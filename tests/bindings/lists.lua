-- The lists that gpush returns, of dims and of tensors: how they are read, what raises, and how
-- several names unpack one.
local t = require "tap"
local x = arange(1, 6):reshape(2, 3)
local mask = tensor { { false, true, false }, { true, false, true } }

-- Lists of dims
-- ------------------------------------------------------------------------------------------------

local parts = arange(1, 6):split(2)
t.is({ parts[tensor(2)]:tolist(), parts[tensor(-1)]:tolist(), x.shape[tensor(1)] },
    { { 3, 4 }, { 5, 6 }, x.shape[1] }, "a tensor of one element is its number, as in x[t]")
t.error(function() return parts[tensor { 1, 2 }] end, "expected a tensor with one element",
    "one of several is none")
t.error(function() return parts[tensor(4)] end, "index 4 is out of range", "and out of range")
for name, list in pairs { shape = x.shape, ["size()"] = x:size(), ["stride()"] = x:stride() } do
    t.error(function() return list[0] end, "counts from 1, so %[1%] is the first",
        "x." .. name .. "[0]")
    t.error(function() return list[3] end,
        "index 3 is out of range for a list of 2 %(expected 1 to 2, or %-2 to %-1%)",
            name .. " past its end")
    t.error(function() return list[-3] end, "index %-3 is out of range",
        name .. " before its beginning")
    t.error(function() return list.rows end, "a list of 2 has no field 'rows'",
        name .. " by a name")
    t.error(function() return list[1.5] end, "has no field '1.5'", name .. " between two")
    t.error(function() return list["1"] end, "has no field '1'", name .. " by a digit as text")
    t.is({ list[-1], list[-2] }, { list[2], list[1] }, name .. " from its end")
end
t.error(function() return tensor(1).shape[1] end, "index 1 is out of range for an empty list",
    "of a tensor without dims")

local seen = {}
for i, size in ipairs(x.shape) do seen[i] = size end
t.is(seen, { 2, 3 }, "ipairs")
seen = {}
for i, size in pairs(x.shape) do seen[i] = size end
t.is(seen, { 2, 3 }, "pairs")
t.is({ table.unpack(x.shape) }, { 2, 3 }, "table.unpack")
t.is({ table.unpack(x.shape, 1, 3) }, { 2, 3 }, "table.unpack past the end")
t.is({ #x.shape, next(x.shape), tostring(x.shape), "" .. x.shape, table.concat(x.shape, "x"),
    json.encode(x.shape) },
    { 2, 1, "{2, 3}", "{2, 3}", "2x3", "[2,3]" }, "length, next, as text, as JSON")
t.is({ x.shape == { 2, 3 }, x.shape ~= { 2, 3 }, x.shape == { 2, 4 }, x.shape == x:size() },
    { true, false, false, true }, "comparison")
t.is({ x.shape[1.0], rawget(x.shape, 5), select("#", table.unpack(x.shape)) }, { 2, nil, 2 },
    "a float that is an integer; rawget")
local longer = x.shape
table.insert(longer, 4)
t.is({ longer, table.remove(longer), #longer }, { { 2, 3 }, 4, 2 }, "table.insert and remove")
t.is(zeros(x.shape).shape, { 2, 3 }, "as an argument")

-- Several names for one list
-- ------------------------------------------------------------------------------------------------

local n, d = x.shape
t.is({ n, d }, { 2, 3 }, "n, d = x.shape")
n, d = x:size()
t.is({ n, d }, { 2, 3 }, "n, d = x:size()")
local first, rows, columns = "first", (x + 1).shape
t.is({ first, rows, columns }, { "first", 2, 3 }, "after another value")
t.error(function() local a, b, c = x.shape return c end,
    "a list of 2 cannot be unpacked into 3 variables", "too many names")
t.error(function() local a, b = zeros(1, 2, 3).shape return b end,
    "a list of 3 cannot be unpacked into 2", "too few")
local left, right = x:chunk(2)
t.is({ left:tolist(), right:tolist() }, { { { 1, 2, 3 } }, { { 4, 5, 6 } } }, "a, b = x:chunk(2)")
local q, k, v = x:unbind(2)
t.is({ q:tolist(), k:tolist(), v:tolist() }, { { 1, 4 }, { 2, 5 }, { 3, 6 } },
    "q, k, v = x:unbind(2)")
local parts = { shape = { 7, 8 } }
local plain, rest = parts.shape
t.is({ plain, rest }, { { 7, 8 }, nil }, "a table of the program's own stays one value")
local one, two = (function() return 1, 2 end)()
t.is({ one, two }, { 1, 2 }, "a call gives all its values")
local same, none = x
t.is({ rawequal(same, x), none }, { true, nil }, "and a tensor is one value")

-- Indices of true elements
-- ------------------------------------------------------------------------------------------------

for name, indices in pairs { nonzero = nonzero(mask, { as_tuple = true }),
    method = mask:nonzero { as_tuple = true }, where = where(mask) }
do
    local copy = x:clone()
    t.is(#indices, 2, name .. ": one tensor a dim")
    t.is(x[indices], { 2, 4, 6 }, name .. ": reads the elements that are true")
    copy[indices] = -1
    t.is(copy, { { 1, -1, 3 }, { -1, 5, -1 } }, name .. ": writes these and no rows")
    t.error(function() return indices:sum() end, "a list of 2 has no field 'sum'",
        name .. ": is no tensor")
    t.error(function() return indices[0] end, "counts from 1", name .. ": counts from 1")
end
local r, c = nonzero(mask, { as_tuple = true })
t.is({ r:tolist(), c:tolist() }, { { 1, 2, 2 }, { 2, 1, 3 } }, "r, c = nonzero(…)")
r, c = where(mask)
t.is({ r:tolist(), c:tolist() }, { { 1, 2, 2 }, { 2, 1, 3 } }, "r, c = where(…)")
t.is(where(tensor { 0, 3, 4 })[1], { 2, 3 }, "where(…)[1] is the first dim's")
t.is(x[{ r, c }], { 2, 4, 6 }, "a list of the program's own is an index, too")
local down, across = meshgrid { tensor { 1, 2 }, tensor { 3, 4, 5 } }
t.is({ down:tolist(), across:tolist() },
    { { { 1, 1, 1 }, { 2, 2, 2 } }, { { 3, 4, 5 }, { 3, 4, 5 } } }, "a, b = meshgrid{…}")
t.is(stack(meshgrid { tensor { 1, 2 }, tensor { 3, 4 } }, -1)[2][1], { 2, 3 }, "stack(meshgrid{…})")

-- In a data loader's workers, which get copies
-- -------------------------------------------------------------------------

local sizes, chunks = x.shape, x:chunk(2)
local set = { size = 1, get = function()
    local a, b = sizes
    local c, e = chunks[1].shape
    return tensor { a, b, sizes[-1], c, e, #chunks },
    tensor((pcall(function() return chunks[3] end)))
end }
for _, v, ok in data.Loader { set, batch = 1, workers = 1 } () do
    t.is({ v:tolist(), ok:tolist() }, { { { 2, 3, 3, 1, 3, 2 } }, { false } },
        "lists are lists there, too")
end

-- A table of tensors is read as far as its entries go: what __len says costs nothing
-- ------------------------------------------------------------------------------------------------

local function forged(n, entry)
    return setmetatable({}, { __len = function() return n end, __index = function(_, i)
        if i > 1000 then error "no more" end
        return entry
    end })
end
local bytes = collectgarbage "count"
t.error(function() return cat(forged(1 << 30, x), 1) end, "no more", "2^30 entries")
t.ok(collectgarbage "count" - bytes < 1000, "of which a thousand are kept, in less than 1 MB")
t.error(function() return cat(forged(-1, x), 1) end, "cat: argument 'xs' cannot have %-1 entries",
    "a negative number of them")
t.error(function() return cat(forged(1 << 40, x), 1) end, "cannot have 1099511627776 entries",
    "more than any table has")
t.is(cat(forged(700, x), 1).shape[1], 1400, "several hundred entries")
t.done()
