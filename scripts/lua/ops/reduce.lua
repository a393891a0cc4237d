--!plain
-- Composites: reductions and scans. See define in init.lua.
local require = ...
local gpush, define, fail = require "gpush", require "ops".define, require "fail"

local FLOATS = { f64 = true, f32 = true, f16 = true, bf16 = true }

define { "norm", sig = "tensor x, order? p, dims? dims, bool keepdim=false, dtype? dtype",
    help = "the p-norm of the elements over dims, or of all; p: a number, inf, -inf, 'fro' (2, \z
        the default), or 'nuc' of matrices. Of matrices: linalg.norm",
    dtypes = "floats", autocast = "wide", fn = function(x, p, dims, keepdim, dtype)
        if p == "nuc" then
            if not dims and x.ndim ~= 2 then
                fail("norm: 'nuc' of a tensor of %d dims (expected 2, or two dims in 'dims')",
                    x.ndim)
            end
            return gpush.linalg.matrix_norm(x, p, dims or { 1, 2 }, keepdim, dtype)
        end
        if p == nil or p == "fro" then p = 2 end
        if type(p) ~= "number" then
            fail("norm: argument 'p': expected a number, 'fro' or 'nuc', got '%s'", tostring(p))
        end
        return gpush.linalg.vector_norm(x, p, dims, keepdim, dtype)
    end }

define { "var_mean",
    sig = "tensor x, dims? dims, number correction=1, bool keepdim=false, bool? unbiased",
    help = "variance and mean over dims, or of all",
    dtypes = "floats", fn = function(x, dims, correction, keepdim, unbiased)
        return x:var(dims, correction, keepdim, unbiased), x:mean(dims, keepdim)
    end }
define { "std_mean",
    sig = "tensor x, dims? dims, number correction=1, bool keepdim=false, bool? unbiased",
    help = "standard deviation and mean over dims, or of all",
    dtypes = "floats", fn = function(x, dims, correction, keepdim, unbiased)
        return x:std(dims, correction, keepdim, unbiased), x:mean(dims, keepdim)
    end }

-- ---- quantiles ----

-- Elements k and k + 1 around rank r = k - 1 + w, combined by each kind of interpolation.
local ways = {
    linear = function(r) local k = math.floor(r); return k, r - k end,
    lower = function(r) return math.floor(r), 0 end,
    higher = function(r) return math.ceil(r), 0 end,
    midpoint = function(r) local k = math.floor(r); return k, r == k and 0 or 0.5 end,
    nearest = function(r)
        local k = math.floor(r)
        local w = r - k
        return (w > 0.5 or (w == 0.5 and k % 2 == 1)) and k + 1 or k, 0
    end,
}

-- One quantile of sorted lines (the last dim): ranks are known, so nothing is looked up.
local function one(sorted, q, way)
    local n = sorted.shape[sorted.ndim]
    local k, w = way(q * (n - 1))
    k = math.min(math.tointeger(k), n - 1)
    local y, last = sorted:select(-1, k + 1), sorted:select(-1, n)
    if w > 0 then y = y:lerp(sorted:select(-1, k + 2), w) end
    return gpush.where(last:ne(last), last, y) -- NaNs are sorted to the end
end

-- Quantiles qs (a vector in f64) of sorted lines, as a new last dim. count: the number of elements
-- that are not NaN, for each line.
local function many(sorted, qs, interpolation, count, skip)
    local ranks = (qs * (count - 1)):clamp(0)
    local low = ranks:floor()
    local w = ranks - low
    if interpolation == "lower" then w = w * 0
    elseif interpolation == "higher" then low, w = ranks:ceil(), w * 0
    elseif interpolation == "nearest" then low, w = ranks:round(), w * 0
    elseif interpolation == "midpoint" then w = w:gt(0):to "f64" * 0.5 end
    local shape = sorted.shape
    local n = shape[#shape]
    shape[#shape] = qs:numel()
    local at = low:to "i64":expand(shape) + 1
    local below, above = sorted:gather(-1, at), sorted:gather(-1, (at + 1):clamp(1, n))
    w = w:to(sorted.dtype):expand(shape)
    local y = gpush.where(w:gt(0), below:lerp(above, w), below)
    local last = sorted:narrow(-1, n, 1)
    return skip and y or gpush.where(last:ne(last), last, y)
end

local check_list = require "check_list"
local MOST_QUANTILES <const> = 1 << 24

-- q as a number, or as a vector in f64 on x's device.
local function settle_q(op, x, q)
    if type(q) == "table" then
        if #q > MOST_QUANTILES then
            fail("%s: argument 'q' cannot have %d entries", op, #q)
        end
        check_list(op, "q", q)
        for i = 1, #q do
            if type(q[i]) ~= "number" then
                fail("%s: argument 'q': number %d is a %s", op, i, type(q[i]))
            end
        end
        q = gpush.tensor(table.move(q, 1, #q, 1, {}), { dtype = "f64" })
    end
    if type(q) == "number" then
        if not (q >= 0 and q <= 1) then fail("%s: argument 'q': expected 0 to 1, got %s", op, q) end
        return q
    end
    if type(q) ~= "userdata" then
        fail("%s: argument 'q': expected a number, a table or a tensor, got %s", op, type(q))
    end
    if q.ndim > 1 then
        fail("%s: argument 'q': expected a number or one dim, got %d dims", op, q.ndim)
    end
    return q:to("f64"):to(x.device)
end

local function quantile(op, skip)
    return function(x, q, dim, keepdim, interpolation)
        local way, dtype, ndim = ways[interpolation], x.dtype, x.ndim
        if not way then fail("%s: argument 'interpolation': expected linear, lower, higher, \z
            midpoint or nearest, got '%s'", op, interpolation) end
        if not FLOATS[dtype] then
            fail("%s: dtype %s of argument 'x' is not supported (expected f64 f32 f16 bf16)", op,
                dtype)
        end
        q = settle_q(op, x, q)
        if dtype == "f16" or dtype == "bf16" then x = x:to "f32" end
        local lines = dim and ndim > 0 and x:movedim(dim, -1) or x:reshape(-1)
        if lines.shape[lines.ndim] == 0 then
            fail("%s: no elements: a reduced dim has size 0", op)
        end
        local sorted, y = (lines:sort(-1))
        if type(q) == "number" and not skip then
            y = one(sorted, q, way)
        else
            local qs = type(q) == "number"
                and gpush.full({ 1 }, q, { dtype = "f64", device = x.device }) or q:reshape(-1)
            local count = skip and sorted:eq(sorted):sum({ -1 }, true):to "f64"
                or sorted.shape[sorted.ndim]
            y = many(sorted, qs, interpolation, count, skip)
            local vector = type(q) ~= "number" and q.ndim == 1
            y = vector and y:movedim(-1, 1) or y:squeeze(-1)
        end
        if keepdim then
            local front = y.ndim - (lines.ndim - 1)
            if dim and ndim > 0 then y = y:unsqueeze(dim > 0 and front + dim or dim)
            else for _ = 1, ndim do y = y:unsqueeze(-1) end end
        end
        return y:to(dtype)
    end
end
define { "quantile",
    sig = "tensor x, any q, dim? dim, bool keepdim=false, str interpolation=\"linear\"",
    dtypes = "floats", fn = quantile("quantile", false),
    waits = "for a copy of q, if it is a table or on another device",
    help = "the q-quantiles (0 to 1) along dim, or of all; several q (a table or a vector) give a \z
        first dim. interpolation: linear, lower, higher, midpoint, nearest. NaN wins" }
define { "nanquantile",
    sig = "tensor x, any q, dim? dim, bool keepdim=false, str interpolation=\"linear\"",
    dtypes = "floats", fn = quantile("nanquantile", true),
    waits = "for a copy of q, if it is a table or on another device",
    help = "as quantile, without NaNs" }

-- ---- differences ----

define { "diff", sig = "tensor x, int n=1, dim dim=-1, tensor? prepend, tensor? append",
    help = "each element minus the one before it along dim, n times; prepend and append are \z
        joined to x first",
    dtypes = "all", fn = function(x, n, dim, prepend, append)
        if n < 0 then fail("diff: argument 'n': expected >= 0, got %d", n) end
        if x.ndim == 0 then fail("diff: expected at least 1 dim, got a 0-d tensor") end
        if n == 0 then return x:clone() end
        if prepend or append then
            local list = { x }
            if prepend then table.insert(list, 1, prepend) end
            if append then list[#list + 1] = append end
            x = gpush.cat(list, dim)
        end
        local size, dtype = x:narrow(dim, 1, 0) and x:size(dim), x.dtype
        -- rounded once, not n times
        if n > 1 and (dtype == "f16" or dtype == "bf16") then x = x:to "f32" end
        for _ = 1, math.min(n, size) do
            size = size - 1
            local later, earlier = x:narrow(dim, math.min(2, size + 1), size),
            x:narrow(dim, 1, size)
            x = dtype == "bool" and later:ne(earlier) or later - earlier
        end
        return x.dtype == dtype and x or x:to(dtype)
    end }

-- The slopes of x along dim by second-order differences, and at both ends by ones of edge_order. h:
-- the distance of neighbours, or a vector of places.
local function slopes(x, dim, h, edge_order)
    local n = x.shape[dim]
    if n < edge_order + 1 then
        fail("gradient: dim %d has size %d (expected %d or more for edge_order = %d)", dim, n,
            edge_order + 1, edge_order)
    end
    local function part(y, from, count) return y:narrow(dim, from, count) end
    if gpush.is_tensor(h) then
        if h.ndim ~= 1 or h.shape[1] ~= n then
            fail("gradient: argument 'spacing': places of shape %s for dim %d, which has size %d",
                table.concat(h.shape, "x"), dim, n)
        end
        local shape = {}
        for d = 1, x.ndim do shape[d] = d == dim and n - 1 or 1 end
        h = h:diff():reshape(shape)
    end
    local between = (part(x, 2, n - 1) - part(x, 1, n - 1)) / h
    local before, after = part(between, 1, n - 2), part(between, 2, n - 2)
    local first, last = part(between, 1, 1), part(between, n - 1, 1)
    local near, far = 0.5, 0.5 -- the shares of both slopes; at the ends of the step outwards
    if gpush.is_tensor(h) then
        local sum = part(h, 1, n - 2) + part(h, 2, n - 2)
        near, far = part(h, 1, n - 2) / sum, part(h, 2, n - 2) / sum
    end
    if edge_order == 2 then
        local function share(y, at) return gpush.is_tensor(y) and part(y, at, 1) or y end
        first = first + (first - part(between, 2, 1)) * share(near, 1)
        last = last + (last - part(between, n - 2, 1)) * share(far, n - 2)
    end
    return gpush.cat({ first, before * far + after * near, last }, dim)
end

define { "gradient", sig = "tensor x, any? spacing, dims? dim, int edge_order=1",
    help = "a list of x's slopes along each dim: central differences, at the ends one-sided ones \z
        of edge_order; spacing: the distance between samples, or one for each dim, or a vector \z
        of positions",
    sample = "f(3, 4)",
    dtypes = "numbers", strict = "numbers", fn = function(x, spacing, dims, edge_order)
        if edge_order ~= 1 and edge_order ~= 2 then
            fail("gradient: argument 'edge_order': expected 1 or 2, got %d", edge_order)
        end
        if type(dims) == "number" then dims = { dims } end
        local list, many, seen = {}, type(spacing) == "table", {}
        local n = dims and #dims or x.ndim
        if many and #spacing ~= n then
            fail("gradient: argument 'spacing' has %d entries (expected %d, one for each dim)",
                #spacing, n)
        end
        if not x:is_floating_point() then x = x:to "f32" end
        for i = 1, n do
            local d, h = dims and dims[i] or i, many and spacing[i] or not many and spacing or 1
            if d == 0 or d > x.ndim or d < -x.ndim then
                fail("gradient: dim %d is out of range for a %d-d tensor", d, x.ndim)
            end
            d = d < 0 and d + x.ndim + 1 or d
            if seen[d] then fail("gradient: dim %d is given twice", d) end
            seen[d] = true
            if not gpush.is_tensor(h) and (type(h) ~= "number" or h == 0 or h ~= h) then
                fail("gradient: argument 'spacing': expected a number but 0, or a vector, for dim \z
                    %d, got %s", d, tostring(h))
            end
            list[i] = slopes(x, d, h, edge_order)
        end
        return list
    end }

define { "renorm", sig = "tensor x, float p, dim dim, float maxnorm",
    help = "x with each slice at an index of dim scaled to a p-norm of maxnorm where its own is \z
        larger",
    sample = "f(2, 3), 2, 1, 0.5",
    dtypes = "floats", strict = "f64 f32 bf16 f16", fn = function(x, p, dim, maxnorm)
        if not (p > 0) then fail("renorm: argument 'p': expected a number above 0, got %s", p) end
        if not (maxnorm >= 0) then
            fail("renorm: argument 'maxnorm': expected 0 or more, got %s", maxnorm)
        end
        if dim == 0 or dim > x.ndim or dim < -x.ndim then
            fail("renorm: dim %d is out of range for a %d-d tensor", dim, x.ndim)
        end
        local dims, at = {}, dim < 0 and dim + x.ndim + 1 or dim
        for d = 1, x.ndim do if d ~= at then dims[#dims + 1] = d end end
        local norm = #dims == 0 and x:abs() or gpush.linalg.vector_norm(x, p, dims, true)
        return x * gpush.where(norm:gt(maxnorm), maxnorm / (norm + 1e-7), 1.0)
    end }

define { "histogram",
    sig = "tensor x, any bins, numbers? range, tensor? weight, bool density=false",
    help = "counts of the elements between edges, and the edges: `bins` equal steps of range \z
        (x's if not given), or a sorted vector of edges; weight: of each element; density: \z
        divided by the sum and the step's width",
    sample = "f(2, 3), 4",
    dtypes = "f64 f32", strict = "f64 f32", fn = function(x, bins, range, weight, density)
        local edges, given = bins, gpush.is_tensor(bins)
        if range and (type(range) ~= "table" or #range ~= 2 or range[1] > range[2]) then
            fail("histogram: argument 'range': expected {least, largest}")
        end
        if given and (bins.ndim ~= 1 or #bins.shape == 0 or bins:numel() < 2) then
            fail("histogram: argument 'bins' has shape %s (expected a vector of edges)",
                table.concat(bins.shape, "x"))
        elseif given then edges = bins:to { dtype = x.dtype, device = x.device }
        elseif math.type(bins) ~= "integer" or bins < 1 or bins > 1 << 40 then
            fail("histogram: argument 'bins': expected an integer above 0 or a vector of edges, \z
                got %s", tostring(bins))
        end
        if weight and weight:numel() ~= x:numel() then
            fail("histogram: argument 'weight' has %d elements (expected %d)", weight:numel(),
                x:numel())
        end
        local n = given and edges:numel() - 1 or bins
        if not given then
            local low, high = range and range[1] or x:min(), range and range[2] or x:max()
            local steps = gpush.range(0, n, { dtype = x.dtype, device = x.device }) / n
            edges = low + steps * (high - low)
        end
        local flat = x:reshape(-1)
        local last = edges:narrow(1, n + 1, 1)
        local place = gpush.searchsorted(edges, flat, { right = true }) - flat:eq(last):to "i64"
        local counts = gpush.zeros({ n + 2 }, { dtype = x.dtype, device = x.device })
        counts = counts:index_add(1, place, weight and weight:to(x.dtype):reshape(-1)
            or gpush.ones_like(flat)):narrow(1, 2, n)
        if density then counts = counts / (counts:sum() * edges:diff()) end
        return counts, edges
    end }

-- ---- integrals, and how variables vary together ----

-- The areas between neighbours along dim, and x's distances there: a tensor or a number.
local function areas(op, y, x, dx, dim)
    local n = rawget(y.shape, dim < 0 and y.ndim + 1 + dim or dim)
    if not n then fail("%s: dim %d is out of range for a %d-d tensor", op, dim, y.ndim) end
    if n == 0 then return y end
    local sums = y:narrow(dim, 2, n - 1) + y:narrow(dim, 1, n - 1)
    if not x then return sums * (dx / 2) end
    if x.ndim == 0 or (x.ndim == 1 and x.shape[1] or x:size(dim)) ~= n then
        fail("%s: x is %s, y %s (expected a place for each of %d)", op, table.concat(x.shape, "x"),
            table.concat(y.shape, "x"), n)
    end
    local steps = x:diff(1, x.ndim == 1 and 1 or dim)
    if x.ndim == 1 then
        local shape, at = {}, dim < 0 and y.ndim + 1 + dim or dim
        for d = 1, y.ndim do shape[d] = d == at and n - 1 or 1 end
        steps = steps:view(shape)
    end
    return sums * steps / 2
end

define { "trapezoid", sig = "tensor y, tensor? x, float dx=1, dim dim=-1",
    help = "the integral of y along dim by trapezoids, at positions x or dx apart",
    dtypes = "numbers", strict = "numbers", promotes = true,
    fn = function(y, x, dx, dim)
        return areas("trapezoid", y, x, dx, dim):sum(dim)
    end }
define { "cumulative_trapezoid", sig = "tensor y, tensor? x, float dx=1, dim dim=-1",
    help = "the integral of y along dim from its start to each position, by trapezoids",
    dtypes = "numbers", strict = "numbers", promotes = true,
    fn = function(y, x, dx, dim)
        return areas("cumulative_trapezoid", y, x, dx, dim):cumsum(dim)
    end }

define { "cov", sig = "tensor x, int correction=1",
    help = "the covariance of each row of x with each other, over n - correction observations",
    dtypes = "numbers", strict = "numbers", promotes = true,
    fn = function(x, correction)
        if x.ndim > 2 then
            fail("cov: x has %d dims (expected variables x observations)", x.ndim)
        end
        local rows = x.ndim == 2 and x or x:reshape(1, x:numel())
        rows = rows - rows:mean(2, true)
        local y = rows:matmul(rows:transpose(1, 2)) / math.max(0, rows:size(2) - correction)
        return y:numel() == 1 and y:view {} or y
    end }
define { "corrcoef", sig = "tensor x",
    help = "the correlation of each row of x with each other, -1 to 1",
    dtypes = "numbers", strict = "numbers", promotes = true,
    fn = function(x)
        local c = x:cov()
        if c.ndim == 0 then return c / c end
        local size = c:diagonal():sqrt()
        return (c / size:unsqueeze(1) / size:unsqueeze(2)):clamp(-1, 1)
    end }
