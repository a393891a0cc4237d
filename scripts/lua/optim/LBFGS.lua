--!plain
-- optim.LBFGS: steps along Newton's direction, estimated from the last gradients. Nocedal and
-- Wright, Numerical Optimization (2006): the direction is algorithm 7.4, the line search 3.5 and
-- 3.6, with the options and limits of torch.optim.LBFGS. It decides by losses and gradients: each
-- evaluation is a recorded wait of the host.
local require = ...
local gpush, optim = require "gpush", require "optim"

local DECREASE <const>, CURVATURE <const> = 1e-4, 0.9 -- constants of the Wolfe conditions
local LEAST_CURVATURE <const> = 1e-10 -- of a pair of steps and gradients that is kept

-- Values of 0-d tensors and numbers, in one wait.
local function read(like, ...)
    local list = { ... }
    local kind = { device = like.device, dtype = "f64" }
    for i, v in ipairs(list) do
        list[i] = gpush.is_tensor(v) and v:detach():reshape {}:to(kind) or gpush.full({}, v, kind)
    end
    return table.unpack(gpush.stack(list):tolist())
end

-- ---- parameters as one vector ----

local function flat_gradient(o)
    local parts = {}
    for i, p in ipairs(o.params) do parts[i] = (p.grad or gpush.zeros_like(p)):reshape(-1) end
    local g = gpush.cat(parts, 1)
    return o.maximize and -g or g
end

local function flat(params)
    local parts = {}
    for i, p in ipairs(params) do parts[i] = p:detach():reshape(-1) end
    return gpush.cat(parts, 1)
end

local function write(params, x)
    local at = 1
    for _, p in ipairs(params) do
        local n = p:numel()
        p:copy_(x:narrow(1, at, n):view(p.shape))
        at = at + n
    end
end

-- ---- one evaluation ----

-- The loss, its gradient and the slope along d, if given, where the parameters are; then values of
-- further 0-d tensors.
local function evaluate(run, d)
    local loss = gpush.enable_grad(run.closure)
    run.evals, run.loss = run.evals + 1, run.loss or loss
    if not (math.type(loss) or gpush.is_tensor(loss) and loss:numel() == 1) then
        run.fail("step: the closure gave a %s (expected the loss)", gpush.is_tensor(loss)
            and "tensor of " .. loss:numel() .. " elements" or type(loss))
    end
    local g = flat_gradient(run.o)
    local f, largest, slope = read(g, loss, g:abs():max(), d and g:dot(d) or 0)
    return { f = run.o.maximize and -f or f, g = g, largest = largest, slope = slope }
end

-- evaluate at x + t d.
local function probe(run, x, t, d)
    write(run.o.params, x + d * t)
    local point = evaluate(run, d)
    point.t = t
    return point
end

-- ---- the line search ----

-- The minimum between least and most of the cubic with the values and slopes of two points.
local function interpolate(a, b, least, most)
    if a.t > b.t then a, b = b, a end
    least, most = least or a.t, most or b.t
    local d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    local square = d1 * d1 - a.slope * b.slope
    if not (square >= 0) then return (least + most) / 2 end
    local root = math.sqrt(square)
    local t = b.t - (b.t - a.t) * ((b.slope + root - d1) / (b.slope - a.slope + 2 * root))
    return math.min(math.max(t, least), most)
end

local function too_high(start, p) return p.f > start.f + DECREASE * p.t * start.slope end
local function flat_enough(start, p) return math.abs(p.slope) <= -CURVATURE * start.slope end

-- Two points with one that meets the Wolfe conditions between them, and the number of steps; or
-- nothing and that point.
local function bracket(start, t, most, at)
    local before, new, n = start, at(t), 0
    while n < most do
        if too_high(start, new) or n > 1 and new.f >= before.f then return { before, new }, n end
        if flat_enough(start, new) then return nil, new end
        if new.slope >= 0 then return { before, new }, n end
        t = interpolate(before, new, new.t + 0.01 * (new.t - before.t), new.t * 10)
        before, new, n = new, at(t), n + 1
    end
    return { start, new }, n
end

-- t, or a tenth of the bracket inside of its nearer end where t is at an end, or was close to one
-- the last time, too; and whether it is close.
local function inside(t, left, right, close)
    local margin = 0.1 * (right - left)
    if math.min(right - t, t - left) >= margin then return t, false end
    if not close and t < right and t > left then return t, true end
    return math.abs(t - right) < math.abs(t - left) and right - margin or left + margin, false
end

-- The point between those of b that meets the Wolfe conditions, or the lowest after most steps.
local function zoom(start, b, n, most, narrow, at)
    local close = false
    local low = b[1].f <= b[2].f and 1 or 2
    while n < most and math.abs(b[2].t - b[1].t) >= narrow do
        local t
        t, close = inside(interpolate(b[1], b[2]), math.min(b[1].t, b[2].t),
            math.max(b[1].t, b[2].t), close)
        local new, high = at(t), 3 - low
        n = n + 1
        if too_high(start, new) or new.f >= b[low].f then
            b[high] = new
            low = b[1].f <= b[2].f and 1 or 2
        else
            if flat_enough(start, new) then return new end
            if new.slope * (b[high].t - b[low].t) >= 0 then b[high] = b[low] end
            b[low] = new
        end
    end
    return b[low]
end

-- Puts the parameters back where the closure raises.
local function search(run, t, d, start, largest)
    local x, o = flat(run.o.params), run.o
    local _ <close> = setmetatable({}, { __close = function(_, problem)
        if problem ~= nil then write(o.params, x) end
    end })
    local function at(where) return probe(run, x, where, d) end
    start.t = 0
    local most = o.max_eval - run.evals
    local found, n = bracket(start, t, most, at)
    local point = not found and n
        or zoom(start, found, n, most, o.tolerance_change / largest, at)
    write(o.params, x + d * point.t)
    return point
end

-- ---- the direction ----

-- rows with one more, of at most `most`.
local function append(rows, row, most)
    row = row:unsqueeze(1)
    if not rows then return row end
    local n = rows:size(1)
    if n == most then rows = rows:narrow(1, 2, n - 1) end
    return gpush.cat({ rows, row }, 1)
end

-- Keeps the last step and the change of the gradient over it.
local function remember(s, g, most)
    local y, step = g - s.prev_flat_grad, s.d * s.t
    local ys, yy = read(g, y:dot(step), y:dot(y))
    if not (ys > LEAST_CURVATURE) then return end
    s.old_dirs, s.old_stps = append(s.old_dirs, y, most), append(s.old_stps, step, most)
    s.ro = append(s.ro, gpush.full_like(y:narrow(1, 1, 1), 1 / ys), most)
    s.H_diag = ys / yy
end

local function direction(s, g)
    local q, n, al = -g, s.old_dirs and s.old_dirs:size(1) or 0, {}
    for i = n, 1, -1 do
        al[i] = s.old_stps[i]:dot(q) * s.ro[i]
        q = q - s.old_dirs[i] * al[i]
    end
    q = q * s.H_diag
    for i = 1, n do q = q + s.old_stps[i] * (al[i] - s.old_dirs[i]:dot(q) * s.ro[i]) end
    return q
end

-- ---- a step ----

-- One move from `point`: where it led, or nil where there is no way down; last: of this step, after
-- which nothing is evaluated without a line search.
local function move(run, s, point, last)
    local o = run.o
    s.n_iter = s.n_iter + 1
    if s.n_iter == 1 then
        s.d, s.H_diag = -point.g, 1
    else
        remember(s, point.g, o.history_size)
        s.d = direction(s, point.g)
    end
    s.prev_flat_grad, s.prev_loss = point.g, point.f
    local slope, size, largest = read(point.g, point.g:dot(s.d), point.g:abs():sum(),
        s.d:abs():max())
    s.t = s.n_iter == 1 and math.min(1, 1 / size) * o.lr or o.lr
    if slope > -o.tolerance_change then return nil end
    point.slope = slope
    if o.line_search_fn then
        point = search(run, s.t, s.d, point, largest)
        s.t = point.t
    else
        write(o.params, flat(o.params) + s.d * s.t)
        if last then return nil end
        point = evaluate(run)
    end
    if largest * math.abs(s.t) <= o.tolerance_change then return nil end
    return point
end

local function step(self, closure)
    local o, fail = self.param_groups[1], function(text, ...)
        optim.raise("optim.LBFGS: %s", text:format(...))
    end
    if not closure then
        fail "step: expected a function that clears the gradients, computes the loss and its \z
            gradients and returns the loss"
    end
    if self.sharding then fail "step: each step needs all gradients; it cannot be divided" end
    local _ <close> = gpush.no_grad()
    local s = { n_iter = 0, func_evals = 0 }
    for k, v in pairs(self.state[o.params[1]] or {}) do s[k] = v end
    local run = { o = o, closure = closure, evals = 0, fail = fail }
    local point, n = evaluate(run), 0
    while point and point.largest > o.tolerance_grad and n < o.max_iter do
        n = n + 1
        local before = point.f
        point = move(run, s, point, n == o.max_iter)
        if point and (run.evals >= o.max_eval or math.abs(point.f - before) < o.tolerance_change)
        then break end
    end
    s.func_evals = s.func_evals + run.evals
    self.state[o.params[1]] = s
    return run.loss
end

return optim.define {
    name = "LBFGS",
    help = "steps along Newton's direction, estimated from the last gradients: step(closure) \z
        calls closure up to max_eval times. Each waits for the loss; params as of optim.SGD",
    sig = "float lr=1, int max_iter=20, int? max_eval, float tolerance_grad=1e-7, \z
        float tolerance_change=1e-9, int history_size=100, str? line_search_fn, \z
        bool maximize=false",
    fill = function(o) o.max_eval = o.max_eval or o.max_iter * 5 // 4 end,
    check = function(o, fail, number)
        optim.check_positive(o, fail, "lr", "tolerance_grad", "tolerance_change")
        for _, name in ipairs { "max_iter", "max_eval", "history_size" } do
            if o[name] < 1 then fail("option '%s' is %d (expected 1 or more)", name, o[name]) end
        end
        if o.line_search_fn and o.line_search_fn ~= "strong_wolfe" then
            fail("option 'line_search_fn': expected 'strong_wolfe', got '%s'", o.line_search_fn)
        end
        if number > 1 then fail "expected one group: its parameters are one vector" end
        local first = o.params[1]
        for i, p in ipairs(o.params) do
            if p.dtype ~= "f32" and p.dtype ~= "f64" then
                fail("parameter %d has dtype %s (expected f32 or f64)", i, p.dtype)
            end
            if p.dtype ~= first.dtype or p.device ~= first.device then
                fail("parameter %d is %s on %s, the first is %s on %s (expected one dtype and \z
                    device)", i, p.dtype, p.device, first.dtype, first.device)
            end
        end
    end,
    slots = function() return {} end,
    step = step,
}
