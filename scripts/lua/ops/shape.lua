--!plain
-- Composites: views and copies in another shape. See define in init.lua.
local require = ...
local gpush, define, fail = require "gpush", require "ops".define, require "fail"


-- dim as 1 … ndim; a 0-d tensor counts as one dim here.
local function wrap(op, dim, ndim)
    local n = math.max(ndim, 1)
    if dim == 0 or dim > n or dim < -n then
        fail("%s: dim %d is out of range for a %d-d tensor (%s)", op, dim, ndim,
            n == 1 and "expected 1 or -1" or ("expected 1 to %d, or -%d to -1"):format(n, n))
    end
    return dim > 0 and dim or dim + n + 1
end

local function same_device(op, a, b)
    if a.device ~= b.device then
        fail("%s: tensors are on different devices: %s and %s", op, a.device, b.device)
    end
end

-- The size of dim, which must exist.
local function sized(op, x, dim)
    if x.ndim == 0 then fail("%s: a 0-d tensor has no dim to split", op) end
    dim = wrap(op, dim, x.ndim)
    return x.shape[dim], dim
end

-- ---- pieces: one table of views, since their number varies ----

local function pieces(x, dim, sizes)
    local list, at = {}, 1
    for i, n in ipairs(sizes) do
        list[i] = x:narrow(dim, at, n)
        at = at + n
    end
    return list
end

-- `length` elements each, the last piece what is left; one empty piece of an empty dim.
local function even(length, size)
    local sizes = {}
    for at = 0, size - 1, length do sizes[#sizes + 1] = math.min(length, size - at) end
    if #sizes == 0 then sizes[1] = 0 end
    return sizes
end

-- A number without a fraction as an integer, else nil.
local function whole(v) return type(v) == "number" and math.tointeger(v) or nil end

define { "split", sig = "tensor x, numbers size, dim dim=1",
    help = "a table of views of dim, each with `size` elements (the last one may have fewer), \z
        or with the sizes in a table",
    dtypes = "all", fn = function(x, size, dim)
        local n
        n, dim = sized("split", x, dim)
        size = whole(size) or size
        if math.type(size) == "integer" then
            if size < 0 or (size == 0 and n > 0) then
                fail("split: argument 'size': expected an integer above 0, got %d", size)
            end
            return pieces(x, dim, size == 0 and { 0 } or even(size, n))
        end
        if type(size) ~= "table" then
            fail("split: argument 'size': expected an integer or a table of integers, got %s",
                type(size))
        end
        local sum, sizes = 0, {}
        for i, s in ipairs(size) do
            sizes[i] = whole(s)
            if not sizes[i] or s < 0 then
                fail("split: size %d is %s (expected an integer, not negative)", i, s)
            end
            if s > n then fail("split: size %d is %d, but dim %d has size %d", i, s, dim, n) end
            sum = sum + sizes[i]
        end
        if sum ~= n then
            fail("split: the sizes add up to %d, but dim %d has size %d", sum, dim, n)
        end
        return pieces(x, dim, sizes)
    end }

-- A table of more views than this is a mistake.
local MOST_PIECES = 1 << 24
local function check_pieces(op, name, n)
    if n > MOST_PIECES then
        fail("%s: argument '%s' is %d (expected at most %d)", op, name, n, MOST_PIECES)
    end
end

define { "chunk", sig = "tensor x, int chunks, dim dim=1",
    help = "a table of views: dim in at most `chunks` pieces of equal size; the last one may be \z
        smaller",
    dtypes = "all", fn = function(x, chunks, dim)
        local n
        n, dim = sized("chunk", x, dim)
        if chunks < 1 then
            fail("chunk: argument 'chunks': expected an integer above 0, got %d", chunks)
        end
        if n > 0 then chunks = math.min(chunks, n) end
        check_pieces("chunk", "chunks", chunks)
        if n == 0 then
            local list = {}
            for i = 1, chunks do list[i] = x:narrow(dim, 1, 0) end
            return list
        end
        return pieces(x, dim, even((n + chunks - 1) // chunks, n))
    end }

-- dim in exactly that many pieces, or ending at the indices in a table.
local function sections_of(op, x, sections, dim)
    local sizes, at, n = {}, 0
    n, dim = sized(op, x, dim)
    if type(sections) == "table" then
        local list = {}
        for i, e in ipairs(sections) do
            e = whole(e) or fail("%s: index %d is %s (expected an integer)", op, i, e)
            e = math.max(0, math.min(n, e < 0 and n + e or e))
            list[i] = x:narrow(dim, at + 1, math.max(0, e - at))
            at = e
        end
        list[#list + 1] = x:narrow(dim, at + 1, n - at)
        return list
    end
    sections = whole(sections) or sections
    if math.type(sections) ~= "integer" or sections < 1 then
        fail("%s: argument 'sections': expected an integer above 0 or a table, got %s", op,
            tostring(sections))
    end
    check_pieces(op, "sections", sections)
    for i = 1, sections do sizes[i] = n // sections + (i <= n % sections and 1 or 0) end
    return pieces(x, dim, sizes)
end

define { "tensor_split", sig = "tensor x, numbers sections, dim dim=1",
    help = "a table of views: dim in exactly that many pieces, the first ones larger by 1 if it \z
        does not divide evenly, or ending at the indices in a table",
    dtypes = "all", fn = function(x, sections, dim)
        return sections_of("tensor_split", x, sections, dim)
    end }

-- tensor_split along dim by another name: a number of sections must divide its size.
local function equal_split(op, x, sections, dim, least)
    if x.ndim < least then
        fail("%s: x has %d dims (expected %d or more)", op, x.ndim, least)
    end
    local n = whole(sections)
    if n and n > 0 and x.shape[dim] % n ~= 0 then
        fail("%s: argument 'sections': %d does not divide dim %d, which has size %d", op, n, dim,
            x.shape[dim])
    end
    return sections_of(op, x, sections, dim)
end

define { "hsplit", sig = "tensor x, numbers sections", sample = "f(2, 4), 2",
    help = "a table of views: columns (of a vector its elements) in that many equal pieces, or \z
        ending at the indices in a table",
    dtypes = "all", fn = function(x, sections)
        return equal_split("hsplit", x, sections, x.ndim == 1 and 1 or 2, 1)
    end }
define { "vsplit", sig = "tensor x, numbers sections", sample = "f(4, 2), 2",
    help = "a table of views: rows in that many equal pieces, or ending at the indices in a table",
    dtypes = "all", fn = function(x, sections) return equal_split("vsplit", x, sections, 1, 2) end }
define { "dsplit", sig = "tensor x, numbers sections", sample = "f(2, 2, 4), 2",
    help = "a table of views: dim 3 in that many equal pieces, or ending at the indices in a table",
    dtypes = "all", fn = function(x, sections) return equal_split("dsplit", x, sections, 3, 3) end }

-- A copy of x in which src stands in place of part(copy), a view of the copy of src's shape.
local function replaced(op, x, src, part)
    same_device(op, x, src)
    local y = x:clone()
    local view = part(y)
    local shape, want = table.concat(src.shape, "x"), table.concat(view.shape, "x")
    if shape ~= want then fail("%s: src has shape %s (expected %s)", op, shape, want) end
    view:copy_(src)
    return y
end

define { "select_scatter", sig = "tensor x, tensor src, dim dim, int index",
    help = "x with src in place of one index of dim", sample = "f(2, 3), f(2), 2, 1",
    dtypes = "all", fn = function(x, src, dim, index)
        return replaced("select_scatter", x, src, function(y) return y:select(dim, index) end)
    end }
define { "slice_scatter",
    sig = "tensor x, tensor src, dim dim=1, int first=1, int last=-1, int step=1",
    help = "x with src in place of the elements first … last of dim, every step-th",
    sample = "f(4, 3), f(2, 3), 1, 2, 3",
    dtypes = "all", fn = function(x, src, dim, first, last, step)
        return replaced("slice_scatter", x, src,
            function(y) return y:slice(dim, first, last, step) end)
    end }
define { "diagonal_scatter",
    sig = "tensor x, tensor src, int offset=0, dim dim1=1, dim dim2=2",
    help = "x with src in place of a diagonal of two dims", sample = "f(3, 3), f(3)",
    dtypes = "all", fn = function(x, src, offset, dim1, dim2)
        return replaced("diagonal_scatter", x, src,
            function(y) return y:diagonal(offset, dim1, dim2) end)
    end }

define { "as_strided_scatter",
    sig = "tensor x, tensor src, shape shape, ints stride, int offset=1",
    help = "x with src in place of what as_strided shows of it",
    sample = "f(2, 3), f(2, 2), {2, 2}, {3, 1}",
    dtypes = "all", fn = function(x, src, shape, stride, offset)
        return replaced("as_strided_scatter", x, src,
            function(y) return y:as_strided(shape, stride, offset) end)
    end }

define { "unbind", sig = "tensor x, dim dim=1",
    help = "a table of views: x at each index of dim",
    dtypes = "all", fn = function(x, dim)
        local list, n = {}
        n, dim = sized("unbind", x, dim)
        for i = 1, n do list[i] = x:select(dim, i) end
        return list
    end }

-- ---- joined ----

-- Tensors of a list with at least n dims, new ones first (or, of three, one last).
local function at_least(n, x)
    if x.ndim >= n then return x end
    if x.ndim == 0 then return x:reshape(table.unpack({ 1, 1, 1 }, 1, n)) end
    if n == 2 then return x:unsqueeze(1) end
    if x.ndim == 1 then return n == 3 and x:unsqueeze(1):unsqueeze(3) or x end
    return x:unsqueeze(3)
end
local function all_at_least(n, xs)
    local list = {}
    for i, x in ipairs(xs) do list[i] = at_least(n, x) end
    return list
end
define { "atleast_1d", sig = "tensor x", help = "x with at least one dim, a new one of size 1",
    dtypes = "all", fn = function(x) return at_least(1, x) end }
define { "atleast_2d", sig = "tensor x", help = "x with at least 2 dims, new ones of size 1",
    dtypes = "all", fn = function(x) return at_least(2, x) end }
define { "atleast_3d", sig = "tensor x", help = "x with at least 3 dims, new ones of size 1",
    dtypes = "all", fn = function(x) return at_least(3, x) end }

define { "hstack", sig = "tensors xs",
    help = "tensors joined along dim 2, vectors along dim 1",
    dtypes = "all", fn = function(xs)
        xs = all_at_least(1, xs)
        return gpush.cat(xs, xs[1] and xs[1].ndim > 1 and 2 or 1)
    end }
define { "vstack", sig = "tensors xs",
    help = "tensors joined along dim 1, vectors as rows",
    dtypes = "all", fn = function(xs) return gpush.cat(all_at_least(2, xs), 1) end }
define { "dstack", sig = "tensors xs", help = "tensors joined along dim 3",
    dtypes = "all", fn = function(xs) return gpush.cat(all_at_least(3, xs), 3) end }
define { "column_stack", sig = "tensors xs", help = "as hstack, vectors as columns",
    dtypes = "all", fn = function(xs)
        local list = {}
        for i, x in ipairs(xs) do list[i] = x.ndim < 2 and x:reshape(-1, 1) or x end
        return gpush.cat(list, 2)
    end }

-- ---- repeated ----

-- x repeated along its dims by counts, one for each dim. Repetition is a view until the one copy.
local function repeated(x, counts)
    local shape, split, wide, final = x.shape, {}, {}, {}
    for d, n in ipairs(shape) do
        if counts[d] ~= 1 then split[#split + 1], wide[#wide + 1] = 1, counts[d] end
        split[#split + 1], wide[#wide + 1] = n, n
        final[d] = n * counts[d]
    end
    if #split == #shape then return x:clone() end
    if #split <= 8 then return x:reshape(split):expand(wide):reshape(final) end
    for d = #shape, 1, -1 do -- too many dims at once: one after the other, the rest joined
        local outer, inner = 1, 1
        for k = 1, d - 1 do outer = outer * x.shape[k] end
        for k = d, #shape do inner = inner * x.shape[k] end
        local now = x.shape
        now[d] = final[d]
        if counts[d] ~= 1 then
            x = x:reshape(outer, 1, inner):expand(outer, counts[d], inner):reshape(now)
        end
    end
    return x
end
local function tile(op, x, dims)
    local counts = {}
    for i, n in ipairs(dims) do
        if n < 0 then fail("%s: count %d is %d (expected >= 0)", op, i, n) end
        counts[i] = n
    end
    for _ = #counts + 1, x.ndim do table.insert(counts, 1, 1) end
    local shape = x.shape
    if #counts > 8 then
        fail("%s: %d counts are more than the 8 dims a tensor may have", op, #counts)
    end
    for _ = #shape + 1, #counts do table.insert(shape, 1, 1) end
    return repeated(x:reshape(shape), counts)
end

define { "tile", sig = "tensor x, shape dims",
    help = "x repeated along its dims by each number; fewer numbers apply to the last dims",
    dtypes = "all", fn = function(x, dims) return tile("tile", x, dims) end }
define { "repeat", sig = "tensor x, shape dims",
    help = "as tile, with a number for every dim; `repeat` is a word of Lua's, so \z
        x[\"repeat\"](x, 2, 3)",
    dtypes = "all", fn = function(x, dims)
        if #dims < x.ndim then fail("repeat: %d numbers given for a %d-d tensor", #dims, x.ndim) end
        return tile("repeat", x, dims)
    end }

-- ---- rotated ----

define { "rot90", sig = "tensor x, int k=1, dims? dims",
    help = "x rotated by k quarter turns, from the first of two dims (1 and 2) to the second",
    dtypes = "all", fn = function(x, k, dims)
        dims = dims or { 1, 2 }
        if #dims ~= 2 then fail("rot90: %d dims given (expected 2)", #dims) end
        local a, b = wrap("rot90", dims[1], x.ndim), wrap("rot90", dims[2], x.ndim)
        if a == b then fail("rot90: both dims are %d", a) end
        k = k % 4
        if k == 1 then return x:flip(b):transpose(a, b) end
        if k == 2 then return x:flip(a, b) end
        if k == 3 then return x:flip(a):transpose(a, b) end
        return x:clone()
    end }
define { "fliplr", sig = "tensor x", help = "columns in reverse order: dim 2",
    dtypes = "all", fn = function(x) return x:flip(2) end }
define { "flipud", sig = "tensor x", help = "rows in reverse order: dim 1",
    dtypes = "all", fn = function(x) return x:flip(1) end }

define { "ravel", sig = "tensor x",
    help = "the elements in one dim; a copy where a view is impossible",
    dtypes = "all", fn = function(x) return x:flatten() end }
-- Only the shape of other is read: it may be on another device.
define { "expand_as", sig = "tensor x, tensor other", help = "x expanded to the shape of other",
    dtypes = "all", fn = function(x, other) return x:expand(other.shape) end }
define { "view_as", sig = "tensor x, tensor other", help = "x as a view in the shape of other",
    dtypes = "all", fn = function(x, other) return x:view(other.shape) end }
define { "reshape_as", sig = "tensor x, tensor other", help = "x in the shape of other",
    dtypes = "all", fn = function(x, other) return x:reshape(other.shape) end }

-- ---- made of vectors ----

define { "diag", sig = "tensor x, int diagonal=0",
    help = "the diagonal of a matrix, as a view; of a vector, the matrix that has it",
    dtypes = "all", fn = function(x, diagonal)
        if x.ndim == 1 then return x:diag_embed(diagonal) end
        if x.ndim == 2 then return x:diagonal(diagonal) end
        fail("diag: expected 1 or 2 dims, got %d; use diagonal or diag_embed", x.ndim)
    end }
define { "diagflat", sig = "tensor x, int offset=0",
    help = "the matrix with the elements of x as its diagonal",
    dtypes = "all", fn = function(x, offset) return x:flatten():diag_embed(offset) end }

define { "vander", sig = "tensor x, int? N, bool increasing=false",
    help = "powers of a vector, a row for each element, from the highest to 0, or from 0 upward",
    dtypes = "all", fn = function(x, n, increasing)
        if x.ndim ~= 1 then fail("vander: x has %d dims (expected 1)", x.ndim) end
        n = n or x.shape[1]
        if n < 0 then fail("vander: argument 'N': expected 0 or more, got %d", n) end
        local powers = gpush.range(0, n - 1, { device = x.device })
        if not increasing then powers = (n - 1) - powers end
        return x:unsqueeze(2) ^ powers
    end }

local function grid(op, xs, indexing)
    local n, shape, views = #xs, {}, {}
    if n == 0 then fail("%s: expected at least one tensor", op) end
    if n > 8 then fail("%s: %d tensors are more than the 8 dims a tensor may have", op, n) end
    for _, x in ipairs(xs) do same_device(op, xs[1], x) end
    for i, x in ipairs(xs) do
        if x.ndim > 1 then fail("%s: tensor %d has %d dims (expected at most 1)", op, i, x.ndim) end
        shape[i] = x:numel()
    end
    for i, x in ipairs(xs) do
        local own = {}
        for d = 1, n do own[d] = d == i and shape[i] or 1 end
        local view = x:reshape(own):expand(shape)
        views[i] = indexing == "xy" and n > 1 and view:transpose(1, 2) or view
    end
    return views
end

define { "meshgrid", sig = "varargs xs, str indexing=\"ij\"",
    help = "meshgrid(x, y, …) or meshgrid{x, y, …}: for each vector a view of the grid of all, \z
        where its elements run along its own dim; a list. indexing 'xy' exchanges the first two \z
        dims",
    dtypes = "all", fn = function(xs, indexing)
        if indexing ~= "ij" and indexing ~= "xy" then
            fail("meshgrid: argument 'indexing': expected 'ij' or 'xy', got '%s'", indexing)
        end
        return grid("meshgrid", xs, indexing)
    end }

define { "combinations", sig = "tensor x, int r=2, bool with_replacement=false",
    help = "rows of r elements of a vector, in their order; with_replacement: an element may \z
        occur again", sample = "f(4)",
    dtypes = "all", fn = function(x, r, again)
        if x.ndim ~= 1 then fail("combinations: x has %d dims (expected 1)", x.ndim) end
        if r < 0 or r > 20 then fail("combinations: argument 'r': expected 0 to 20, got %d", r) end
        if r == 0 then return x:narrow(1, 1, 0) end
        local n = x:numel()
        local places = gpush.range(1, n, { dtype = "i64", device = x.device }):unsqueeze(2)
        for _ = 2, r do -- each row with every later element
            local last = places:narrow(2, places.shape[2], 1)
            local next = gpush.range(1, n, { dtype = "i64", device = x.device }):unsqueeze(1)
            local pairs = gpush.nonzero(again and next:ge(last) or next:gt(last))
            places = gpush.cat({ places:index_select(1, pairs:select(2, 1)),
                pairs:narrow(2, 2, 1) }, 2)
        end
        return x:index_select(1, places:reshape(-1)):reshape(places.shape)
    end, waits = "for the number of rows" }

define { "cartesian_prod", sig = "varargs xs",
    help = "all combinations of the elements of vectors, a row each; of one vector, itself",
    dtypes = "all", fn = function(xs)
        local views = grid("cartesian_prod", xs, "ij")
        if #views == 1 then return xs[1]:reshape(-1) end
        return gpush.stack(views, #views + 1):reshape(-1, #views)
    end }

define { "broadcast_tensors", sig = "varargs xs",
    help = "views of the tensors in the shape that they broadcast to; a list",
    dtypes = "all", fn = function(xs)
        local views, shape = {}, {}
        for _, x in ipairs(xs) do
            local s = x.shape
            for d = 0, math.max(#s, #shape) - 1 do
                local a, b = rawget(s, #s - d) or 1, shape[d + 1] or 1
                if a ~= b and a ~= 1 and b ~= 1 then fail("broadcast_tensors: sizes %d and %d of \z
                    dim %d from the end do not go together", b, a, d + 1) end
                shape[d + 1] = a == 1 and b or a
            end
        end
        local all = {}
        for d = 1, #shape do all[d] = shape[#shape + 1 - d] end
        for i, x in ipairs(xs) do views[i] = x:expand(all) end
        return views
    end }

-- ---- parts, and blocks ----

define { "block_diag", sig = "varargs xs",
    help = "a matrix with the given ones as blocks along its diagonal",
    dtypes = "all", fn = function(xs)
        local columns, rows, before = 0, {}, 0
        for i, x in ipairs(xs) do
            if x.ndim > 2 then fail("block_diag: tensor %d has %d dims (expected 2)", i, x.ndim) end
            if x.ndim < 2 then xs[i] = x:reshape(1, -1) end
            columns = columns + xs[i].shape[2]
        end
        for i, x in ipairs(xs) do
            rows[i] = x:pad { before, columns - before - x.shape[2] }
            before = before + x.shape[2]
        end
        return gpush.cat(rows, 1)
    end }

define { "unravel_index", sig = "tensor indices, shape shape",
    help = "the indices in each dim of shape of indices into the flattened tensor, as a list",
    dtypes = "integers", indices = 1, fn = function(indices, shape)
        local list, rest = {}, indices - 1
        for d, n in ipairs(shape) do
            if n < 1 then fail("unravel_index: argument 'shape': dim %d is %d", d, n) end
        end
        for d = #shape, 1, -1 do
            list[d] = rest % shape[d] + 1
            rest = rest // shape[d]
        end
        return list
    end }
