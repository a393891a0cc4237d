-- Gradients where a formula has two sides, and their gradients: at equal operands, at limits, at
-- zeros, where a branch that is not taken is infinite, of places written twice, and of nothing.
-- Values are worked out by hand; where there is no derivative they are those of PyTorch 2.15.
local t = require "tap"
local g = require "gpush"
local inf, nan = math.huge, 0 / 0

local function leaf(values) return g.tensor(values, { dtype = "f64" }):requires_grad_() end

-- The gradients of the sum of fn of the leaves, one list each.
local function once(fn, ...)
    local leaves = { ... }
    for i, v in ipairs(leaves) do leaves[i] = leaf(v) end
    local out = { g.grad(fn(table.unpack(leaves)):sum(), leaves) }
    if #leaves > 1 and type(out[1]) == "table" then out = out[1] end
    for i = 1, #leaves do out[i] = out[i]:tolist() end
    return table.unpack(out)
end

-- The gradient of the first element of fn's gradient.
local function twice(fn, values)
    local x = leaf(values)
    local d = g.grad(fn(x):sum(), x, nil, { create_graph = true })
    return g.grad(d:flatten()[1], x):tolist()
end

-- Equal operands.
t.close({ once(g.logaddexp, { 0, 3 }, { 0, 3 }) }, { { 0.5, 0.5 }, { 0.5, 0.5 } }, 1e-15,
    "logaddexp of equal numbers")
t.close(twice(function(x) return g.logaddexp(x[1], x[2]) end, { 0, 0 }), { 0.25, -0.25 }, 1e-15,
    "twice")
t.close(twice(function(x) return g.logaddexp(x[1], x[2]) end, { 1, 0 }),
    { 0.19661193324148185, -0.19661193324148185 }, 1e-15, "of others twice")
t.is(g.logaddexp(g.tensor { inf, -inf }, g.tensor { inf, -inf }):tolist(), { inf, -inf },
    "logaddexp of infinities")
t.is({ once(g.fmax, { 1, 1, nan, 2 }, { 1, 2, 1, nan }) }, { { 0.5, 0, 0, 1 }, { 0.5, 1, 1, 0 } },
    "fmax shares its gradient")
t.is({ once(g.fmin, { 1, 1, nan, 2 }, { 1, 2, 1, nan }) }, { { 0.5, 1, 0, 1 }, { 0.5, 0, 1, 0 } },
    "fmin, too")
t.is({ once(g.clamp_min, { 0, 1, 2 }, { 1, 1, 1 }) }, { { 0, 0.5, 1 }, { 1, 0.5, 0 } },
    "clamp_min of tensors")
t.is({ once(g.clamp_max, { 0, 1, 2 }, { 1, 1, 1 }) }, { { 1, 0.5, 0 }, { 0, 0.5, 1 } },
    "clamp_max of tensors")
t.is({ once(g.clamp, { 0, 1, 2, 3, 2 }, { 1, 1, 1, 1, 2 }, { 2, 2, 2, 2, 2 }) },
    { { 0, 0.5, 0.5, 0, 1 }, { 1, 0.5, 0, 0, 0 }, { 0, 0, 0.5, 1, 0 } }, "clamp between tensors")
t.is(once(function(x) return g.atan2(x, x) end, { 0 }), { 0 }, "atan2 at 0, 0")

-- Limits that are numbers.
t.is(once(function(x) return x:clamp(1, 2) end, { 0, 1, 1.5, 2, 3 }), { 0, 0, 1, 0, 0 }, "clamp")
t.is(once(function(x) return x:clamp(1) end, { 0, 1, 2, inf }), { 0, 0, 1, 1 }, "clamp from below")
for _, form in ipairs { "clamp_min", "clamp_min_" } do
    t.is(once(function(x) x = x * 1; return x[form](x, 1) end, { 0, 1, 2 }), { 0, 0, 1 }, form)
end
for _, form in ipairs { "clamp_max", "clamp_max_" } do
    t.is(once(function(x) x = x * 1; return x[form](x, 1) end, { 0, 1, 2 }), { 1, 0, 0 }, form)
end
t.is(g.ones(2):clamp_min_(2):tolist(), { 2, 2 }, "clamp_min_ of a number")
t.is(g.ones(2):clamp_max_(0):tolist(), { 0, 0 }, "clamp_max_ of a number")
t.is(once(g.hardswish, { -3, 3, 4 }), { 0, 1, 1 }, "hardswish at its corners")

-- Branches that are not taken.
local one = g.ones(1, { dtype = "f64" })
t.is(twice(function(p) return g.bce(p, one) end, { 0.5 }), { 4 }, "bce twice: 1 / p^2")
t.close(twice(function(p) return g.bce(p, one) end, { 1 }), { 1e12 }, 1,
    "at p = 1, where 1 - p is 0")
t.close(twice(g.logit, { 0.25 }), { -0.5 / 0.1875 ^ 2 }, 1e-12, "logit twice")
t.is(twice(function(x) return x:logit(0.1) end, { 0 }), { 0 }, "logit twice beyond eps")
local function smooth(beta) return function(x) return g.smooth_l1(x, x * 0, beta) end end
t.is(twice(smooth(0), { 0 }), { 0 }, "smooth_l1 with beta 0 twice at 0")
t.is(twice(smooth(0), { 2 }), { 0 }, "and beside it")
t.is(twice(smooth(2), { 1 }), { 0.5 }, "smooth_l1 twice: 1 / beta")
for _, name in ipairs { "smooth_l1", "huber" } do
    local d = once(function(x) return g[name](x, x * 0, 1) end, { nan })
    t.ok(d[1] ~= d[1], name .. " does not hide NaN")
end
local function scan(x) return x:logcumsumexp(1) end
t.close(twice(scan, { 0, 0 }), { 0.25, -0.25 }, 1e-15, "logcumsumexp twice")
t.close(twice(scan, { -1000, 1000 }), { 0, 0 }, 1e-15, "of numbers far apart")
-- exp of x - 1000.7, which f64 rounds to 1e-13
t.close(twice(scan, { 1000, -1000, 1000 }), { 0.25, 0, -0.25 }, 1e-13, "with a small one between")

-- A variance below eps is moved.
local var = leaf { 1e-8 }
g.gaussian_nll_loss(leaf { 0.1 }, g.zeros(1, { dtype = "f64" }), var):backward()
t.close(var.grad:item(), 0.5 * (1e6 - 0.01 * 1e12), 1e-3, "gaussian_nll_loss's variance below eps")

-- Zeros. prelu has at 0 the slope of the side of 0, as x > 0 decides.
t.is({ once(g.prelu, { 0, -0.0, 1, -1 }, { 0.25 }) }, { { 0.25, 0.25, 1, 0.25 }, { -1 } },
    "prelu at 0")
t.is({ once(g.prelu, { inf, -2 }, { 0.25 }) }, { { 1, 0.25 }, { -2 } }, "prelu beside an infinity")

-- Of several writes to one place the last stays, and it alone has a gradient.
local function written(fn, shape, values)
    local x, v = leaf(g.zeros(shape)), leaf(values)
    local y = fn(x, v)
    local w = g.range(1, y:numel(), { dtype = "f64" }):view(shape)
    return { (g.grad((y * w):sum(), v)):tolist() }
end
local at, many = g.tensor { 2, 1, 2 }, { { 1, 2 }, { 3, 4 }, { 5, 6 } }
t.is(written(function(x, v) return x:index_copy(1, at, v) end, { 2, 2 }, many),
    { { { 0, 0 }, { 1, 2 }, { 3, 4 } } }, "index_copy with an index twice")
t.is(written(function(x, v) return x:index_copy(2, at, v.T) end, { 2, 2 }, many),
    { { { 0, 0 }, { 1, 3 }, { 2, 4 } } }, "along the second dim")
t.is(written(function(x, v) return x:index_fill(1, at, v) end, { 3, 2 }, 7), { 10 },
    "index_fill with an index twice")
t.is(written(function(x, v) return x:index_fill(2, g.tensor { 2, 2 }, v) end, { 3, 2 }, 7), { 12 },
    "along the second dim")
t.is(written(function(x, v) return x:index_put({ at }, v) end, { 2, 2 }, many),
    { { { 0, 0 }, { 1, 2 }, { 3, 4 } } }, "index_put with an index twice")
t.is(written(function(x, v) return x:index_put({ at, at }, v) end, { 2, 2 }, { 1, 2, 3 }),
    { { 0, 1, 4 } }, "with two indices")
t.is(written(function(x, v) return x:index_put({ at }, v, { dims = { 2 } }) end, { 2, 2 },
    { { 1, 2, 3 }, { 4, 5, 6 } }), { { { 0, 1, 2 }, { 0, 3, 4 } } }, "of the second dim")
t.is(written(function(x, v) return x:index_put({ at }, v, true) end, { 2, 2 }, many),
    { { { 3, 4 }, { 1, 2 }, { 3, 4 } } }, "sums have all of them")
t.is(written(function(x, v) return x:scatter(2, g.tensor { { 1, 1 }, { 2, 1 } }, v) end, { 2, 2 },
    { { 1, 2 }, { 3, 4 } }), { { { 0, 1 }, { 4, 3 } } }, "scatter with an index twice")
t.is(written(function(x, v) return x:scatter_nd(g.tensor { { 2 }, { 1 }, { 2 } }, v) end, { 2, 2 },
    many), { { { 0, 0 }, { 1, 2 }, { 3, 4 } } }, "scatter_nd with an index twice")

-- Of nothing.
local x, up = leaf(g.zeros(2, 0)), leaf { 1, 1 }
local d = g.grad(x:mean(2), x, up, { create_graph = true })
t.is(g.grad(d:sum(), up):tolist(), { 0, 0 }, "a mean of nothing twice")
t.is(once(function(a) return g.linalg.matrix_power(a, 0) end, { { 1, 2 }, { 3, 4 } }),
    { { 0, 0 }, { 0, 0 } }, "matrix_power 0")
local empty = g.zeros(0, 3):requires_grad_()
t.is(g.grad(g.linalg.pinv(empty):sum(), empty).shape, { 0, 3 }, "pinv of nothing")
for _, ord in ipairs { 1, 2, inf } do
    t.is(g.linalg.matrix_norm(g.zeros(0, 3), ord):item(), 0, "matrix_norm " .. ord .. " of nothing")
end
t.done()
