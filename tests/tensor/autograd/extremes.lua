--!plain
-- Derivatives of elementwise ops where an intermediate of the obvious formula over- or underflows,
-- though the derivative is a number: constants from arithmetic of 80 digits, or exact ones. Each is
-- the derivative by the first or second operand.
local t = require "tap"
local g = require "gpush"

-- op -> list of {by which operand, operands …, derivative}; those with big = true are f64's only,
-- with small = true f32's.
local cases = {
    silu = { { 1, 3e7, 1 }, { 1, 16777216, 1 }, { 1, 1e30, 1 }, { 1, -1e30, 0 },
        { 1, 1e300, 1, big = true } },
    mish = { { 1, -3e38, 0 }, { 1, -1e30, 0 }, { 1, 1e30, 1 }, { 1, -1.5, -0.064097815892258643 },
        { 1, -1.7e308, 0, big = true } },
    gelu_tanh = { { 1, 1e19, 1 }, { 1, -1e19, 0 }, { 1, 3e38, 1 }, { 1, -3e38, 0 },
        { 1, 1e200, 1, big = true }, { 1, -1e200, 0, big = true },
        { 1, 1, 1.0829640838457826 }, { 1, -1, -0.082964083845782555 } },
    elu = { { 1, -20, 2.0611536224385578e-9 }, { 1, -60, 8.7565107626965203e-27 },
        { 1, -700, 9.8596765437597709e-305, big = true } },
    selu = { { 1, -20, 3.6237128249944111e-9 }, { 1, -60, 1.5394815800019711e-26 } },
    acosh = { { 1, 1e30, 1e-30 }, { 1, 2, 0.57735026918962576 }, { 1, 1e300, 1e-300, big = true } },
    asinh = { { 1, 1e30, 1e-30 }, { 1, -1e30, 1e-30 }, { 1, 2e9, 5e-10 },
        { 1, -2, 0.44721359549995794 }, { 1, -1e300, 1e-300, big = true } },
    log2 = { { 1, 2e38, 7.2134752044448170e-39 }, { 1, 8, 0.18033688011112043 } },
    log10 = { { 1, 3e38, 1.4476482730108394e-39 }, { 1, 10, 0.043429448190325183 },
        { 1, 1.7e308, 2.5546734229603049e-309, big = true } },
    div = { { 2, 1e30, 1e20, -1e-10 }, { 2, 1e-30, 1e-20, -1e10 }, { 2, 0, 1e-30, 0 },
        { 2, 3e38, 1e30, -3e-22 }, { 2, 1e300, 1e200, -1e-100, big = true },
        { 1, 1, 1e30, 1e-30 } },
    atan2 = { { 1, 1e30, 1e30, 5e-31 }, { 2, 1e30, 1e30, -5e-31 }, { 1, 1e-30, 1e-30, 5e29 },
        { 2, 0, 1e-30, 0 }, { 1, 3e20, 4e20, 1.6e-21 },
        { 1, 0, -2, -0.5 }, { 2, 1e300, 1e300, -5e-301, big = true } },
    addcdiv = { { 3, 0, 1e30, 1e20, -1e-10 }, { 3, 0, 1e-30, 1e-20, -1e10 },
        { 3, 1, 0, 1e-30, 0 } },
    sinc = { { 1, 0, 0 }, { 1, 1e-30, -3.2898681336964529e-30 },
        { 1, 1e-8, -3.2898681336964529e-8 },
        { 1, 0.25, -0.77283813988223418 }, { 1, -0.3125, 0.93234483034806307 },
        { 1, 1e-300, -3.2898681336964529e-300, big = true } },
    smooth_l1 = { { 3, 1, 2, 1e30, -5e-61, big = true }, { 3, 1e-30, 3e-30, 4e-30, -0.125 },
        { 3, 1e25, 3e25, 4e25, -0.125 } },
}
-- Values themselves.
local values = {
    smooth_l1 = { { 0, 60, 3e38, 6e-36 }, { 1e25, 3e25, 4e25, 5e24 },
        { 0, 1e200, 1.5e308, 1e92 / 3, big = true } },
    gelu_tanh = { { 1e19, 1e19 }, { 1, 0.8411919906082767 } },
}

local function operands(list, first, dev, dtype)
    local xs = {}
    for k = first, #list - 1 do
        xs[#xs + 1] = g.tensor({ list[k] }, { dtype = dtype, device = dev }):requires_grad_()
    end
    return xs
end

-- Within a few units in the last place; subnormal numbers, within the smallest normal number.
local function near(got, want, dtype, what)
    local unit, least = 2.0 ^ (dtype == "f32" and -21 or -47),
        2.0 ^ (dtype == "f32" and -126 or -1022)
    if not t.ok(math.abs(got - want) <= unit * math.abs(want) + (want ~= 0 and least or 0),
        what) then
        io.stderr:write(("#   %.17g, expected %.17g\n"):format(got, want))
    end
end

-- Derivatives times an incoming gradient of 1.19, with which the operand would overflow.
local times_more = {
    silu = { { 1, -3e38, 0 }, { 1, 3e38, 1 } },
    hypot = { { 1, 3e38, 1, 1 }, { 2, 1, -3e38, -1 } },
    xlogy = { { 2, 3e38, 3e38, 1 } },
    smooth_l1 = { { 1, 3e38, 0, 3.1e38, 3 / 3.1 }, { 2, 3e38, 0, 3.1e38, -3 / 3.1 } },
    pow = { { 1, 0, 3e38, 0 } },
}

local function on(dev, dtype)
    local function text(name, list)
        return ("%s of %s, %s on %s"):format(
            name, table.concat(list, ", ", 1, #list - 1), dtype, dev)
    end
    for name, list in pairs(cases) do
        for _, c in ipairs(list) do
            local xs = operands(c, 2, dev, dtype)
            if not (c.big and dtype == "f32") then
                local d = g.grad(g[name](table.unpack(xs)):sum(), xs[c[1]])
                near(d:item(), c[#c], dtype, "derivative " .. text(name, c))
            end
        end
    end
    for name, list in pairs(times_more) do
        for _, c in ipairs(list) do
            local xs = operands(c, 2, dev, dtype)
            local d = g.grad((g[name](table.unpack(xs)) * 1.19):sum(), xs[c[1]])
            near(d:item(), 1.19 * c[#c], dtype, "1.19 times the derivative " .. text(name, c))
        end
    end
    for name, list in pairs(values) do
        for _, c in ipairs(list) do
            if not (c.big and dtype == "f32") then
                near(g[name](table.unpack(operands(c, 1, dev, dtype))):item(), c[#c], dtype,
                    text(name, c))
            end
        end
    end
end

for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f32", "f64" } do on(dev, dtype) end
end
-- Of 100,000 elements -1 and 1 the mean is 0 and std is sqrt(n / (n - 1)): each derivative is
-- x / ((n - 1) std), 1e-5 within f16's steps of 6e-8 there, and not 0.
for _, dev in ipairs { "cpu", "sim" } do
    local x = g.tensor({ -1, 1 }, { dtype = "f16", device = dev }):tile(50000):requires_grad_()
    x:std():backward()
    t.close(x.grad[2]:item(), 1e-5, 1.2e-7, "std of many elements in f16 on " .. dev)
end

t.done()
