-- Pooling and interpolation at the edges: NaN, infinities, empty batches, images without a batch,
-- threads, and errors.
local t = require "tap"
local g = require "gpush"

local nan, inf = 0 / 0, math.huge
local function list(x) return x:reshape(-1):tolist() end

-- NaN wins, the last one gives the index; of equal elements the first; a window of -inf has its
-- first element's index.
local y, i = g.max_pool2d(g.tensor {{{1.0, nan, 3.0, 3.0}, {nan, 0.0, 2.0, 3.0}}}, 2,
    {return_indices = true})
local values = list(y)
t.ok(values[1] ~= values[1], "NaN is the largest")
t.is(values[2], 3.0, "of its window only")
t.is(list(i), {5, 3}, "the last NaN, the first of equal elements")
y, i = g.max_pool1d(g.full({1, 4}, -inf), 2, {return_indices = true})
t.is(list(y), {-inf, -inf}, "-inf")
t.is(list(i), {1, 3}, "has a place")
y, i = g.adaptive_max_pool1d(g.full({1, 4}, -inf), 2, true)
t.is(list(i), {1, 3}, "also where windows are adaptive")
for _, dtype in ipairs {"f32", "f64", "f16"} do -- without indices, which has its own loops
    local row = g.tensor({{1, nan, 3, 5, 2, 0, 7}}, {dtype = dtype})
    local function most(stride) return list(g.max_pool1d(row, 2, stride)) end
    t.is({most(1), most(2), most(3)}, {{nan, nan, 5, 5, 2, 7}, {nan, 5, 2}, {nan, 5}},
        "NaN is the largest, in every stride, of " .. dtype)
    t.is(list(g.adaptive_max_pool1d(row, 2)), {nan, 7}, "and where windows are adaptive")
end
t.is(list(g.avg_pool1d(g.tensor {{1.0, inf, 2.0, nan}}, 2))[1], inf, "inf in a mean")

-- An empty window, which PyTorch also makes of these, has no element that its gradient goes to.
local one = g.ones(1, 1, 1, 1):requires_grad_()
y = g.max_pool2d(one, 2, {stride = 2, padding = 1, dilation = 3, ceil_mode = true})
y:sum():backward()
t.is({y:item(), one.grad:item()}, {-inf, 0}, "an empty window")

-- Rows longer than a vector, for each stride; the reference is a loop.
for _, dtype in ipairs {"f32", "f64", "bf16"} do
    for stride = 1, 3 do
        local x = g.randint(-50, 50, {2, 5, 101}):to {dtype = dtype}
        local v, largest, sums, places = x:tolist(), {}, {}, {}
        for n = 1, 2 do
            for r = 1, 5 do
                for o = 0, (101 + 2 - 4) // stride do
                    local best, at, sum
                    for k = 1, 4 do
                        local e = v[n][r][o * stride + k - 1]
                        if e then
                            sum = (sum or 0) + e
                            if not best or e > best then best, at = e, o * stride + k - 1 end
                        end
                    end
                    largest[#largest + 1], sums[#sums + 1], places[#places + 1] = best, sum, at
                end
            end
        end
        local name = dtype .. ", stride " .. stride
        local got, where = g.max_pool1d(x, 4, stride, 1, {return_indices = true})
        t.is(list(got), largest, name .. ": largest")
        t.is(list(where), places, name .. ": places")
        t.is(list(g.max_pool1d(x, 4, stride, 1)), largest, name .. ": without places")
        t.is(list(g.avg_pool2d(x:unsqueeze(3), {1, 4}, {1, stride}, {0, 1},
            {divisor_override = 1})), sums, name .. ": sums")
    end
end

t.is(g.max_pool2d(g.ones(0, 3, 8, 8), 2).shape, {0, 3, 4, 4}, "no images")
t.is(g.avg_pool1d(g.ones(0, 3, 8), 2).shape, {0, 3, 4}, "no images in one dim")
t.is(g.adaptive_avg_pool2d(g.ones(2, 0, 8, 8), {3, 2}).shape, {2, 0, 3, 2}, "no channels")
t.is(g.adaptive_avg_pool2d(g.ones(3, 8, 8), 0).shape, {3, 0, 0}, "no outputs")
t.is(list(g.adaptive_avg_pool2d_grad(g.ones(1, 0, 0), {1, 2, 2})), {0, 0, 0, 0},
    "and their gradient")
t.is(g.interpolate(g.ones(0, 3, 8), {size = 4}).shape, {0, 3, 4}, "interpolation of no images")
t.is(g.max_pool2d(g.ones(3, 8, 8), 2).shape, {3, 4, 4}, "one image without its dim")
t.is(g.max_pool2d(g.ones(3, 8, 8), {3, 2}, {stride = 1, ceil_mode = true}).shape, {3, 6, 7},
    "options by name")
t.is(list(g.interpolate(g.tensor {{{1.0, 2.0}}}, {scale_factor = 2, mode = "linear"})),
    {1, 1.25, 1.75, 2}, "linear")
t.is(list(g.interpolate(g.tensor {{{1.0, 2.0}}},
    {size = 3, mode = "linear", align_corners = true})), {1, 1.5, 2}, "with corners aligned")
t.is(list(g.interpolate(g.tensor {{{1.0, 2.0}}},
    {size = 1, mode = "linear", align_corners = true})), {1}, "to one element")
-- torch.nn.functional.interpolate(torch.tensor([[[1., 2, 4, 8]]]), scale_factor=1.6, mode="linear",
-- recompute_scale_factor=True), and without
local line = g.tensor({{{1.0, 2, 4, 8}}}, {dtype = "f64"})
t.close(list(g.interpolate(line,
    {scale_factor = 1.6, mode = "linear", recompute_scale_factor = true})),
        {1, 1.5, 7 / 3, 11 / 3, 6, 8}, 1e-14, "the factor that the size comes to")
t.close(list(g.interpolate(line, {scale_factor = {1.6}, mode = "linear"})),
    {1, 1.4375, 2.125, 3.375, 5.25, 7.75}, 1e-14, "the factor as given")
t.error(function() g.interpolate(line, {size = 3, recompute_scale_factor = true}) end,
    "interpolate: recompute_scale_factor goes with a scale_factor", "no factor to compute again")
t.is(list(g.interpolate(g.tensor {{{inf, 2.0}}}, {scale_factor = 2})), {inf, inf, 2, 2},
    "infinity stays where it is")

local x = g.randn(3, 4, 50, 70)
local function bits(f) return require "plain".same_bits(g, f) end
t.ok(bits(function() return g.max_pool2d(x, 3, 2, 1) end),
    "max_pool2d: the same bits for any number of threads")
t.ok(bits(function() return g.avg_pool2d_grad(x, {3, 4, 100, 140}, 2) end), "avg_pool2d_grad")
t.ok(bits(function() return g.interpolate_grad(x, {3, 4, 30, 20}, {mode = "bilinear"}) end),
    "interpolate_grad")

t.error(function() g.max_pool2d(g.ones(8, 8), 2) end,
    "max_pool2d: the image is 8x8 .expected images x channels x height x width",
        "an image without channels")
t.error(function() g.max_pool2d(x, 2, 0) end, "max_pool2d: argument 'stride' is 0", "stride 0")
t.error(function() g.max_pool2d(x, {1, 2, 3}) end,
    "max_pool2d: argument 'kernel_size' has 3 entries", "three sizes")
t.error(function() g.avg_pool2d(x, 2, {divisor_override = 0}) end,
    "avg_pool2d: argument 'divisor_override' is 0", "a divisor of 0")
t.error(function() g.adaptive_max_pool2d(g.ones(1, 0, 3), 2) end,
    "adaptive_max_pool2d: the image is 1x0x3: nothing", "nothing to pool")
t.error(function() g.max_pool2d_grad(x, g.ones(3, 4, 50, 71, {dtype = "i64"}), {3, 4, 99, 99}) end,
    "max_pool2d_grad: .*one shape", "indices of another shape")
t.error(function() g.interpolate(x) end, "interpolate: neither size nor scale_factor", "no size")
t.error(function() g.interpolate(x, {size = 3, scale_factor = 2}) end,
    "interpolate: size and scale_factor are both", "two sizes")
t.error(function() g.interpolate(x, {size = 3, mode = "cubic"}) end,
    "interpolate: mode 'cubic'.*'bilinear'", "a mode there is not")
t.error(function() g.interpolate(x, {size = 3, align_corners = true}) end,
    "interpolate: align_corners goes with mode 'bilinear'", "align_corners without blending")
t.error(function() g.interpolate(x, {scale_factor = 0.001}) end,
    "interpolate: scale_factor 0.001 makes 0 of 50", "a size of 0")
t.error(function() g.interpolate(x[1], {size = {3, 3}}) end,
    "interpolate: argument 'size' has 2 entries",
        "an image without its batch has one spatial dim less")
t.done()
