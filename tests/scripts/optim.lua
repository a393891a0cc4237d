--!plain
-- Optimizers against numbers from PyTorch on cpu and sim in every float dtype; groups, states,
-- clipping, errors.
local t = require "tap"
local g = require "gpush"
local optim, nn = g.optim, g.nn

-- Three steps (or the last number of a row) of torch.optim.NAME(p, **options) in f64, which was
-- PyTorch's default dtype, too. With v(i) = (i * 7 % 11 - 5) / 4, p is
--   [tensor([v(i) for i in range(6)]).reshape(2, 3), tensor([v(i) for i in range(6, 10)])]
-- and the gradient of element i in step k = 0, 1, … is ((i * 5 + k * 3) % 7 - 3) / 2. Printed with
-- %.12g.
local cases = {
    { "SGD", { lr = 0.1 },
        { -1.25, 0.45, -0.6, 1.45, 0.05, -0.65, 1.05, 1.38777878078e-17, -1.05, 0.65 } },
    { "SGD", { lr = 0.1, weight_decay = 0.01 },
        { -1.24655359875, 0.4486013995, -0.5983514995, 1.44610384875, 0.04950059975, -0.64780229925,
            1.047003049, -0.00029985, -1.046903099, 0.64790224925 } },
    { "SGD", { lr = 0.1, momentum = 0.9 },
        { -0.9935, 0.369, -0.735, 1.576, -0.1615, -0.6005, 1.0455, 0.2565, -1.131, 0.515 } },
    { "SGD", { lr = 0.1, momentum = 0.9, dampening = 0.5, weight_decay = 0.1 },
        { -0.8696146875, 0.279954875, -0.596432375, 1.4949959375, -0.1666250625, -0.7113873125,
            1.048416, 0.32865375, -1.15796725, 0.6018360625 } },
    { "SGD", { lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.1 },
        { -0.93561154125, 0.2991663805, -0.7665319705, 1.63609301625, -0.32658739975,
            -0.45642075075, 1.010339236, 0.215505885, -1.082174531, 0.38458545575 } },
    { "SGD", { lr = 0.1, momentum = 0.5, maximize = true },
        { -1.3625, 0.575, -0.325, 1, 0.5375, -0.8875, 0.9625, -0.1125, -0.925, 0.925 } },
    { "Adam", { lr = 0.1 },
        { -1.09158094726, 0.387790605625, -0.608770947093, 1.44016572038, 0.0496694952435,
            -0.762379998185, 1.08490354132, 0.15841905274, -1.11220939438, 0.641229052907 } },
    { "Adam", { lr = 0.1, betas = { 0.5, 0.75 }, eps = 0.01, weight_decay = 0.1 },
        { -1.13635477172, 0.407608533644, -0.512908342749, 1.39918121489, 0.0708399654549,
            -0.727397627603, 1.05750086024, 0.0967718652428, -1.06086784364, 0.550672711628 } },
    { "Adam", { lr = 0.1, betas = { 0.9, 0.5 }, amsgrad = true },
        { -1.10028138035, 0.388921807934, -0.592121862192, 1.43182408752, 0.0560340103783,
            -0.776148329333, 1.08629555461, 0.149718619647, -1.11107819207, 0.657878137808 } },
    { "Adam", { lr = 0.1, maximize = true },
        { -1.40841905274, 0.612209394375, -0.391229052907, 1.05983427962, 0.450330504756,
            -0.737620001815, 0.915096458677, -0.15841905274, -0.887790605625, 0.858770947093 } },
    { "AdamW", { lr = 0.1 },
        { -1.08810160183, 0.386486741965, -0.607198032912, 1.43619293542, 0.049160166849,
            -0.759981766422, 1.08174325068, 0.158152146917, -1.10901775654, 0.639055715838 } },
    { "AdamW", { lr = 0.1, weight_decay = 0.5, amsgrad = true, betas = { 0.9, 0.5 } },
        { -0.934650841802, 0.327096149944, -0.517586349399, 1.2425036325, 0.0319541342295,
            -0.661625514734, 0.935591831881, 0.137067908198, -0.958966350056, 0.554132400601 } },
    { "RMSprop", { lr = 0.1 },
        { -0.960651142009, -0.12668919252, -1.18233948452, 2.60534845723, -0.97050886165,
            -0.800841864308, 1.77357319442, 0.289348857991, -1.62668919252, 0.0676605154799 } },
    { "RMSprop", { lr = 0.1, alpha = 0.5, eps = 0.01, weight_decay = 0.1 },
        { -1.21726351805, 0.396361360642, -0.463856746712, 1.41651910609, 0.0595838308082,
            -0.739981085171, 1.10494635363, 0.0125895982091, -1.07382356449, 0.543709572802 } },
    { "RMSprop", { lr = 0.1, momentum = 0.9, alpha = 0.75 },
        { -0.86800000552, 0.165253007264, -0.808157875155, 1.77520507172, -0.283193865079,
            -0.926907792321, 1.33874261258, 0.38199999448, -1.33474699274, 0.441842124845 } },
    { "RMSprop", { lr = 0.1, centered = true, momentum = 0.9, alpha = 0.75, eps = 0.01 },
        { -0.794407798093, 0.0931542506585, -0.859480225552, 1.86974307058, -0.370828019267,
            -0.96214233997, 1.3871409982, 0.455592201907, -1.40684574934, 0.390519774448 } },
    { "Adagrad", { lr = 0.1 },
        { -1.22071067812, 0.437377344793, -0.568377223394, 1.38545701301, 0.128170528227,
            -0.755131670181, 1.07722394755, 0.029289321878, -1.06262265521, 0.681622776606 } },
    { "Adagrad",
        { lr = 0.1, lr_decay = 0.1, weight_decay = 0.1, initial_accumulator_value = 0.5,
            eps = 0.01 },
        { -1.20393454308, 0.445235207741, -0.547184984441, 1.34324106684, 0.143101822485,
            -0.717413718217, 1.02145741556, 0.0335865118177, -1.03522366103, 0.677436557075 } },
    { "Adamax", { lr = 0.1 },
        { -1.10959523416, 0.390118863406, -0.573562718699, 1.41683016133, 0.0766391818415,
            -0.789887390162, 1.08968731603, 0.140404765843, -1.10988113659, 0.676437281301 } },
    { "Adamax",
        { lr = 0.1, betas = { 0.5, 0.75 }, eps = 0.01, weight_decay = 0.1, maximize = true },
        { -1.33752288819, 0.573287260028, -0.333727782157, 1.07705717134, 0.423950949277,
            -0.731184286975, 0.904986872, -0.100006978559, -0.892798884976, 0.732862751858 } },
    { "NAdam", { lr = 0.1 },
        { -1.21323268469, 0.426649158776, -0.575736821923, 1.40661676443, 0.107738599228,
            -0.753636924757, 1.08757040688, 0.0367673153053, -1.07335084122, 0.674263178077 } },
    { "NAdam",
        { lr = 0.1, betas = { 0.5, 0.75 }, eps = 0.01, weight_decay = 0.1, momentum_decay = 0.5 },
        { -1.2117370961, 0.41468971993, -0.483641197607, 1.40420936351, 0.082191062223,
            -0.728147974081, 1.08002897418, 0.0193456875108, -1.05622437453, 0.557717993513 } },
    { "NAdam", { lr = 0.1, weight_decay = 0.5, decoupled_weight_decay = true },
        { -1.04556719454, 0.362164509628, -0.49919941965, 1.22009065831, 0.0810289079265,
            -0.641225116364, 0.939177789653, 0.0261515554583, -0.923897990372, 0.57251933035 } },
    { "RAdam", { lr = 0.1 },
        { -1.03946397359, 0.390134006603, -0.610312682074, 1.43968731793, -0.00986599339678,
            -0.709865993397, 1.03968731793, 0.210536026413, -1.1098659934, 0.639687317926 } },
    { "RAdam", { lr = 0.1, betas = { 0.5, 0.99 }, eps = 0.01, weight_decay = 0.1 },
        { -1.07961285714, 0.405481714286, -0.598818857143, 1.39695571429, 0.0139751428571,
            -0.658325428571, 1.00544914286, 0.133148571429, -1.049832, 0.613942571429 } },
    { "RAdam", { lr = 0.1, weight_decay = 0.5, decoupled_weight_decay = true, maximize = true },
        { -1.26407714483, 0.529066651292, -0.322322186347, 0.892834063653, 0.457347901292,
            -0.685277098708, 0.821115313653, -0.192358394834, -0.756995848708,
            0.749396563653 } },
    { "Adadelta", { lr = 0.5 },
        { -1.25003883302, 0.499070757072, -0.500839888453, 1.25253803534, 0.247841422821,
            -0.749449125671, 1.0016103235, -3.88330238171e-05, -1.00092924293,
            0.749160111547 } },
    { "Adadelta", { lr = 1.0, rho = 0.5, eps = 0.01, weight_decay = 0.1 },
        { -1.23959685243, 0.391863413771, -0.50263013478, 1.45032104372, 0.0440273578624,
            -0.677993724471, 1.13318555768, -0.0162771321555, -1.0659623082, 0.608210627831
            } },
    { "Rprop", { lr = 0.1 },
        { -1.3, 0.325, -0.675, 1.35, 0.075, -0.925, 1.175, -0.05, -1.175, 0.575 }, 6 },
    { "Rprop", { lr = 0.1, etas = { 0.25, 2 }, step_sizes = { 0.05, 0.15 } },
        { -1.3, 0.3, -0.7, 1.35, 0.05, -0.95, 1.2, -0.05, -1.2, 0.55 }, 6 },
    { "ASGD", { lr = 0.1 },
        { -1.24996325065, 0.449986000246, -0.599983125293, 1.44995912571, 0.0499961250708,
            -0.649979125366, 1.04996925054, -7.4999062509e-07, -1.04996900054,
            0.649979375363 } },
    { "ASGD", { lr = 0.1, lambd = 0.1, alpha = 0.5, t0 = 1, weight_decay = 0.1 },
        { -1.18126431014, 0.422695130141, -0.567530795902, 1.37267028396, 0.0410174594686,
            -0.607842085404, 0.990992613286, -0.00441857162832, -0.989519756077,
            0.609314942614 } },
    { "RAdam", { lr = 0.1 },
        { -1.05129687638, 0.447574703845, -0.676644352022, 1.48880423799, -0.0518294872101,
            -0.73140996921, 1.07480665324, 0.198703123622, -1.05242529615, 0.573355647978 }, 6 },
}

local dtypes = { f64 = 1e-11, f32 = 1e-6, f16 = 4e-3, bf16 = 3e-2 }

local function values(first, last, f, shape, o)
    local v = {}
    for i = first, last do v[#v + 1] = f(i) end
    return g.tensor(v, o):reshape(shape)
end
local function start(i) return (i * 7 % 11 - 5) / 4 end
local function slope(k) return function(i) return ((i * 5 + k * 3) % 7 - 3) / 2 end end

-- The parameters, and a function that sets their gradients; transposed: the same values in another
-- layout.
local function problem(dtype, device, transposed)
    local o = { dtype = dtype }
    local a = values(0, 5, start, { 2, 3 }, o):to(device)
    if transposed then a = a:t():contiguous():t() end
    local p = { a:requires_grad_(), values(6, 9, start, { 4 }, o):to(device):requires_grad_() }
    return p, function(k)
        p[1].grad = values(0, 5, slope(k), { 2, 3 }, o):to(device)
        p[2].grad = values(6, 9, slope(k), { 4 }, o):to(device)
    end
end

local function flat(p)
    local v = {}
    for _, x in ipairs(p) do
        for _, n in ipairs(x:detach():reshape(-1):tolist()) do v[#v + 1] = n end
    end
    return v
end

local function copy(list)
    local c = {}
    for k, v in pairs(list) do c[k] = v end
    return c
end

for number, case in ipairs(cases) do
    local name, options, want, steps = table.unpack(case)
    for device in pairs { cpu = 1, sim = 1 } do
        for dtype, tol in pairs(dtypes) do
            local p, gradients = problem(dtype, device, number % 2 == 0)
            local o = optim[name](p, copy(options))
            for k = 0, (steps or 3) - 1 do
                gradients(k)
                o:step()
            end
            t.close(flat(p), want, tol,
                ("%s, case %d, %s on %s"):format(name, number, dtype, device))
        end
    end
end

-- torch.optim.SGD([p], lr=.1, weight_decay=.5, maximize=True), p = 1, grad = 2: 1.15;
-- clip_grad_value_ of NaN: NaN
do
    local p = g.ones(1, { dtype = "f64" }):requires_grad_()
    p.grad = g.full({ 1 }, 2.0, { dtype = "f64" })
    optim.SGD({ p }, { lr = 0.1, weight_decay = 0.5, maximize = true }):step()
    t.close(p:tolist(), { 1.15 }, 1e-15, "maximize turns the gradient round, not the weight decay")
    p.grad = g.tensor({ 0 / 0 }, { dtype = "f64" })
    optim.clip_grad_value_({ p }, 1)
    t.is(p.grad:tolist(), { 0 / 0 }, "NaN is no number to be limited")
    p.grad = g.ones(1, { dtype = "f64" })
    local one, other = optim.SGD({ p }, { momentum = 0.5 }), optim.SGD({ p }, { momentum = 0.5 })
    one:step()
    local dict = one:state_dict()
    other:load_state_dict(dict)
    dict.state[1].momentum_buffer:fill_(100)
    t.is(other:state_dict().state[1].momentum_buffer:tolist(), { 1 },
        "a state that was loaded is a copy")
end

-- ---- effects of a step on versions, launches and waits ----

local p, gradients = problem("f32", "cpu")
local o = optim.Adam(p)
local y = p[1] * p[1]
gradients(0)
o:step()
t.error(function() y:sum():backward() end, "written in place",
    "a step counts as a write of what backward needs")
t.error(function() g.sgd_step(p, { p[1].grad, p[2].grad }) end,
    "sgd_step: tensor 1 of argument 1 requires gradients",
    "the op itself refuses what requires gradients, outside of no_grad")
do
    local many = {}
    for i = 1, 20 do
        many[i] = g.randn(3, i):requires_grad_()
        many[i].grad = g.randn(3, i)
    end
    local adam = optim.Adam(many)
    local prof = g.profile.run(function() adam:step() adam:step() end)
    local text = prof:table {}
    t.ok(text:find "adam_step[^\n]*%s2%s*\n", "20 parameters, 2 steps: 2 launches")
end
do
    local x = g.randn(50, { device = "sim" }):requires_grad_()
    x.grad = g.randn(50, { device = "sim" })
    local sgd = optim.SGD({ x }, { lr = 0.1, momentum = 0.9 })
    local _ <close> = g.sync.budget { max = 0 }
    local norm = optim.clip_grad_norm_({ x }, 0.5)
    optim.clip_grad_value_({ x }, 0.1)
    sgd:step()
    t.ok(norm.device == "sim:0" and #norm.shape == 0, "clipping and a step wait for nothing")
end

-- ---- groups, closures, zero_grad ----

p, gradients = problem("f64", "cpu")
o = optim.SGD({ { params = { p[1] }, lr = 0.5 }, { params = { p[2] } } }, { lr = 0.25 })
local before = flat(p)
gradients(0)
o:step()
local want = {}
for i = 0, 9 do want[i + 1] = before[i + 1] - (i < 6 and 0.5 or 0.25) * slope(0)(i) end
t.close(flat(p), want, 1e-15, "a group has its own options, the others' are shared")
o:zero_grad()
t.ok(p[1].grad == nil and p[2].grad == nil, "zero_grad clears gradients")
gradients(1)
o:zero_grad { set_to_none = false }
t.is(p[2].grad:tolist(), { 0.0, 0.0, 0.0, 0.0 }, "or makes them zeros")
o = optim.SGD { params = p, lr = 0.25 }
p[1].grad, p[2].grad = nil, nil
before = flat(p)
local loss = o:step(function()
    local l = (p[2] * p[2]):sum()
    l:backward()
    return l
end)
t.close(flat { p[2] },
    (function() local v = {} for i = 7, 10 do v[#v + 1] = before[i] * 0.5 end return v end)(),
        1e-15,
    "step(closure): the gradients are the closure's; without one a parameter stays")
t.ok(loss.requires_grad, "the closure's value comes back")
t.close(flat { p[1] }, { table.unpack(before, 1, 6) }, 0,
    "a parameter without a gradient is left alone")
local model = { parameters = function() return p end }
t.is(#optim.SGD(model, { lr = 1 }).param_groups[1].params, 2, "a model's parameters")
local x = g.zeros(3):requires_grad_()
o:add_param_group { params = { x }, lr = 2 }
t.is(o.param_groups[2].lr, 2, "a group that comes later")

-- ---- states ----

for _, name in ipairs { "SGD", "Adam", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta",
    "Rprop", "ASGD" } do
    local options = ({ SGD = { lr = 0.1, momentum = 0.9 },
        RMSprop = { centered = true, momentum = 0.5 } })[name] or { lr = 0.01 }
    local a, grad_a = problem("f32", "cpu")
    local b, grad_b = problem("f32", "sim")
    local one, other = optim[name](a, copy(options)),
        optim[name](b, { lr = 7, momentum = options.momentum, centered = options.centered })
    for k = 0, 1 do grad_a(k) one:step() end
    g.no_grad(function() for i = 1, 2 do b[i]:copy_(a[i]) end end)
    other:load_state_dict(one:state_dict())
    t.is(other.param_groups[1].lr, one.param_groups[1].lr, name .. ": options come with the state")
    for k = 2, 3 do
        grad_a(k) one:step()
        grad_b(k) other:step()
    end
    t.is(flat(b), flat(a), name .. ": a loaded state goes on bit for bit, also on another device")
    t.ok(one.state[a[1]] ~= other.state[b[1]], name .. ": and is a copy")
end

local adam = optim.Adam(p)
t.error(function() adam:load_state_dict(optim.SGD(p):state_dict()) end,
    "Adam: load_state_dict: group 1 has no option",
    "the state of another optimizer")
t.error(function() adam:load_state_dict(optim.Adam { p[1] }:state_dict()) end,
    "group 1 had 1 parameters, here it has 2",
    "of fewer parameters")
local q = g.zeros(7):requires_grad_()
q.grad = g.ones(7)
local seven = optim.Adam { q }
seven:step()
t.error(function() optim.Adam({ x }):load_state_dict(seven:state_dict()) end,
    "'exp_avg' of parameter 1 has shape 7, the parameter 3",
    "of other shapes")
t.error(function() adam:load_state_dict(5) end, "expected a table of state_dict", "of nothing")

-- ---- LBFGS; numbers from torch.optim.LBFGS in f64, three steps of each ----

-- Parameters, and a closure that counts its calls: Rosenbrock's function, or a gentler one.
local function valley(rosenbrock, device)
    local u = g.tensor({ -1.2 }, { dtype = "f64" }):to(device):requires_grad_()
    local w = g.tensor({ { 1.0 } }, { dtype = "f64" }):to(device):requires_grad_()
    local calls = { n = 0 }
    return u, w, calls, function()
        calls.n, u.grad, w.grad = calls.n + 1, nil, nil
        local l = rosenbrock and ((1 - u) ^ 2 + 100 * (w - u * u) ^ 2):sum()
            or ((u - 1) ^ 2 + (w + 2) ^ 2 * 3 + (u * w):sum() * 0.5 + u ^ 4 * 0.1):sum()
        l:backward()
        return l
    end
end

for number, case in ipairs {
    { {}, { 1.18878381007, -2.09906488722, 31.44736, -0.982870907, -0.982870907 }, 10 },
    { { history_size = 2, max_iter = 5 },
        { 1.18878082696, -2.09906683192, 31.44736, -0.9810124123, -0.9828709071 }, 10 },
    { { lr = 0.1, max_iter = 4 },
        { 0.435501323979, -1.16598874797, 31.44736, 16.37860659, 6.662235662 }, 12 },
    { { line_search_fn = "strong_wolfe" },
        { 0.999981421079, 0.999961965181, 24.2, 0.4234823024, 4.221457511e-10 }, 45 },
    { { line_search_fn = "strong_wolfe", history_size = 2, max_iter = 5 },
        { -0.33756475832, 0.0666291269808, 24.2, 4.111776157, 2.772695642 }, 18 },
    { { line_search_fn = "strong_wolfe", lr = 0.1, max_iter = 4 },
        { -0.999160950783, 1.02410973835, 24.2, 4.134578602, 4.123167702 }, 16 },
} do
    for device in pairs { cpu = 1, sim = 1 } do
        local u, w, calls, closure = valley(case[1].line_search_fn, device)
        local lbfgs, got = optim.LBFGS({ u, w }, copy(case[1])), {}
        for k = 1, 3 do got[k + 2] = lbfgs:step(closure):item() end
        got[1], got[2] = u:item(), w:item()
        t.close(got, case[2], 1e-9, ("LBFGS, case %d on %s"):format(number, device))
        t.is(calls.n, case[3], "and as many evaluations")
    end
end
do
    local u, w, calls, closure = valley(true, "sim")
    local wolfe = { line_search_fn = "strong_wolfe", max_iter = 3 }
    local one = optim.LBFGS({ u, w }, copy(wolfe))
    one:step(closure)
    local u2, w2, _, closure2 = valley(true, "cpu")
    local other = optim.LBFGS({ u2, w2 }, copy(wolfe))
    other:load_state_dict(one:state_dict())
    g.no_grad(function() u2:copy_(u) w2:copy_(w) end)
    one:step(closure)
    other:step(closure2)
    t.is(flat { u2, w2 }, flat { u, w }, "LBFGS: a loaded state goes on, on another device")
    local up, before = calls.n, flat { u, w }
    t.error(function()
        one:step(function()
            if calls.n > up then error "enough" end
            return closure()
        end)
    end, "enough", "an error of the closure comes through")
    t.is(flat { u, w }, before, "and the line search puts the parameters back")
    g.sync.reset()
    one:step(closure) -- this line
    local line, waits = debug.getinfo(1, "l").currentline - 1, 0
    for _, row in ipairs(g.sync.lines()) do
        if row.line == line then waits = waits + row.times end
    end
    t.ok(waits > 3, "its waits are on record at the line of the step")
    t.error(function() one:step() end, "optim.LBFGS: step: expected a function that clears",
        "no closure")
    t.error(function() one:step(function() end) end, "LBFGS: step: the closure gave a nil",
        "no loss")
    t.error(function() one:add_param_group { params = { g.ones(2) } } end,
        "LBFGS: expected one group", "two groups")
    t.error(function() optim.LBFGS { g.ones(2):half() } end, "parameter 1 has dtype f16", "16 bits")
    t.error(function() optim.LBFGS({ u }, { line_search_fn = "armijo" }) end,
        "option 'line_search_fn': expected 'strong_wolfe', got 'armijo'", "another search")
    t.error(function() optim.Rprop({ u }, { etas = { 2, 3 } }) end, "option 'etas' is {2, 3}",
        "what never shrinks")
    u.grad = g.ones_like(u)
    local nadam = optim.NAdam { u }
    t.error(function() g.capture(function() nadam:step() end)() end,
        "optim.NAdam: step: a captured function cannot take it", "numbers of the host's")
end

-- ---- clipping; numbers from torch.nn.utils.clip_grad_norm_ of (3, -4) and (12, 0.5) to 5 ----

for norm_type, case in pairs {
    [2] = { 13.0096121, 1.15299356, -1.53732479, 4.61197424, 0.192165598 },
    [1] = { 19.5, 0.769230604, -1.02564085, 3.07692242, 0.128205106 },
    [3] = { 12.2073364, 1.22876918, -1.63835895, 4.91507673, 0.204794869 },
    [math.huge] = { 12, 1.24999988, -1.66666651, 4.99999952, 0.208333313 },
} do
    for device in pairs { cpu = 1, sim = 1 } do
        for dtype, tol in pairs { f64 = 1e-6, f32 = 1e-6, f16 = 2e-3, bf16 = 8e-3 } do
            local a, b = g.zeros(2, { dtype = dtype }):to(device),
                g.zeros(1, 2, { dtype = dtype }):to(device)
            a.grad = g.tensor({ 3, -4 }, { dtype = dtype }):to(device)
            b.grad = g.tensor({ { 12, 0.5 } }, { dtype = dtype }):to(device)
            local n = optim.clip_grad_norm_({ a, b }, 5, norm_type)
            t.close({ n:item(), table.unpack(flat { a.grad, b.grad }) }, case, tol,
                ("clip_grad_norm_ %s, %s on %s"):format(norm_type, dtype, device))
            optim.clip_grad_value_({ a, b }, 1)
            t.is(b.grad:abs():amax():item(), 1.0, "clip_grad_value_ " .. dtype .. " on " .. device)
        end
    end
end
do
    local a = g.zeros(40000)
    a.grad = g.ones(40000) * 0.5
    t.close(optim.clip_grad_norm_({ a }, 1000):item(), 100, 1e-6, "the norm of many elements")
    t.is(a.grad:amin():item(), 0.5, "a norm below max_norm changes nothing")
    a.grad[17] = 0 / 0
    t.error(function() optim.clip_grad_norm_({ a }, 1, { error_if_nonfinite = true }) end,
        "clip_grad_norm_: the norm of the gradients is nan", "NaN is an error if it is wanted")
    t.is(a.grad[1]:item(), 0.5, "that leaves the gradients")
    t.is(optim.clip_grad_norm_({ a }, 1):item(), 0 / 0, "else it shows in the norm")
    t.error(function() optim.clip_grad_norm_({ a }) end,
        "clip_grad_norm_: argument 'max_norm' %(#2%)", "no limit given")
    t.is(nn.utils.clip_grad_norm_, optim.clip_grad_norm_, "PyTorch's place")
    t.is(optim.clip_grad_norm_({ g.zeros(2) }, 1):item(), 0.0, "no gradients: 0")
end

-- ---- errors ----

local function fails(f, pattern, name) t.error(f, pattern, name) end
fails(function() optim.SGD({ p[1] }, { lrr = 1 }) end,
    "optim.lua:%d+: optim.SGD: unknown option 'lrr'", "an unknown option, at the user's line")
fails(function() optim.Adam({ p[1] }, { lr = "1" }) end,
    "optim.Adam: option 'lr': expected a number, got '1'", "an option of another kind")
fails(function() optim.Adam({ p[1] }, { lr = -1 }) end, "Adam: option 'lr' is %-1",
    "a negative rate")
fails(function() optim.Adam({ p[1] }, { betas = { 0.9, 1 } }) end,
    "Adam: option 'betas': entry 2 is 1", "betas out of range")
fails(function() optim.SGD({ p[1] }, { nesterov = true }) end, "SGD: nesterov wants a momentum",
    "nesterov without momentum")
fails(function() optim.SGD({ p[1] * 2 }) end, "parameter 1 of group 1 is the result of mul",
    "what is no leaf")
fails(function() optim.SGD({ g.zeros(2, { dtype = "i64" }) }) end,
    "parameter 1 of group 1 has dtype i64", "integers")
fails(function() optim.SGD({ p[1], p[1] }) end,
    "parameter 2 of group 1 is there already, as parameter 1 of group 1", "a parameter twice")
fails(function() optim.SGD({ { params = { p[1] } }, { params = { p[1] } } }) end,
    "parameter 1 of group 2 is there already", "in two groups")
fails(function() optim.SGD {} end, "has no parameters", "no parameters")
fails(function() optim.SGD(5) end,
    "expected a list of tensors, a list of groups or a model, got number", "no list")
local a, b = g.zeros(4), g.zeros(4)
fails(function() g.sgd_step({ a }, { b, b }) end,
    "sgd_step: argument 'grads' has 2 tensors, the first list 1", "lists of two lengths")
fails(function() g.sgd_step({ a }, { g.zeros(5) }) end,
    "sgd_step: tensor 1 of argument 'grads' is f32 5, the first list's is f32 4", "two shapes")
fails(function() g.sgd_step({ a, a:narrow(1, 2, 2) }, { b, b:narrow(1, 1, 2) }) end,
    "tensor 1 of argument 'params' and tensor 2 of argument 'params' share memory",
        "parameters that overlap")
fails(function() g.sgd_step({ a }, { a }) end, "share memory", "a parameter that is its gradient")
fails(function() g.sgd_step({ a[1]:expand(4) }, { b }) end, "share one place in memory",
    "an expanded parameter")
fails(function() g.adam_step({ a }, { b }, { g.zeros(4) }, { g.zeros(4) }, nil, 0) end,
    "adam_step: argument 'step' is 0", "step 0")
fails(function() g.sgd_step({ a }, { b }, { momentum = 0.9 }) end,
    "argument 'momentum_buffers': expected a list", "momentum without buffers")
fails(function() g.clip_grad_norm({ a }, 1, -1) end, "clip_grad_norm: argument 'norm_type' is %-1",
    "a norm that is none")
t.is(a:tolist(), { 0.0, 0.0, 0.0, 0.0 }, "a refused step writes nothing")
t.is(g.ones(4):sub(b):tolist(), { 1.0, 1.0, 1.0, 1.0 }, "nor reads more")
g.sgd_step({ a:slice(1, 1, -1, 2), a:slice(1, 2, -1, 2) }, { g.ones(2), g.ones(2) * 2 }, { lr = 1 })
t.is(a:tolist(), { -1.0, -2.0, -1.0, -2.0 }, "neighbours that interleave are apart")
t.ok(tostring(optim.SGD(p, { lr = 0.5 })):find "2 parameters, .*lr = 0.5", "an optimizer as text")
-- An empty view inside another tensor shares no element with it, whatever its strides.
do
    local gpush = require "gpush"
    local function list()
        local x = gpush.ones(20)
        return { x, x:narrow(1, 5, 0):view(0, 4):slice(2, 1, -1, 2) }
    end
    local params = list()
    gpush.sgd_step(params, list(), nil, { lr = 0.5 })
    t.is(params[1]:eq(0.5):all():item(), true, "a step beside an empty view")
end

local ok, message = pcall(g.optim.SGD, function() return g.ones(1) end, { lr = 1 })
t.ok(not ok and message:find "gave 1000000 parameters and did not end", "an endless iterator")
-- ---- a state divided among ranks; in several processes: tests/dist/ddp.sh ----

local zero = g.optim.ZeroRedundancyOptimizer
for _, case in ipairs {
    { 3, nil, "argument 'class' %(#2%): expected one such as optim.Adam, got a number" },
    { print, nil, "got what makes no optimizer" },
    { g.ones(2), nil, "got a tensor" },
    { g.optim.SGD, { foo = 3 }, "ZeroRedundancyOptimizer: optim.SGD: unknown option 'foo'" },
    { g.optim.SGD, { group = 3 }, "option 'group': expected what dist.group returned" },
} do
    t.error(function() zero({ g.ones(1) }, case[1], case[2]) end, case[3], case[3])
end
local divided = zero({ g.ones(2):requires_grad_() }, g.optim.Adam, { lr = 0.5 })
t.is(#divided:state_dict().state, 1, "in a job of one its state is whole")
-- Factors that f32 would round: torch.optim.Rprop's numbers.
local p = g.tensor({ 1, 2, 3 }, { dtype = "f64" }):requires_grad_()
p.grad = g.tensor({ 1, -1, 2 }, { dtype = "f64" })
local rprop = optim.Rprop({ p }, { lr = 0.1 })
for _ = 1, 4 do rprop:step() end
t.close(p:detach():tolist(), { 0.4632, 2.5368, 2.4632 }, 1e-15, "Rprop in f64")
t.done()
