--!plain
-- Every row with a gradient on shapes with each size 0: the op takes them, gradients have the
-- inputs' shapes, and so do second ones; nothing is divided by a size. Values where there are any:
-- closed forms, and PyTorch's answers.
local t = require "tap"
local g = require "gpush"
local rows = require "grad_rows"

local device = "cpu"
local function settle() return (g.ones(1, { device = "sim" }) + 1):item() end

-- args with other shapes: resize(k, shape) gives that of tensor k, or nil where it is unchanged.
local function resized(args, resize, first)
    local m = { n = args.n or #args }
    for k = 1, m.n do
        local a, at = args[k], (first or 0) + k
        local shape = g.is_tensor(a) and resize(at, a.shape)
        if shape then
            a = g.ones(shape, { dtype = a.dtype, device = device }):requires_grad_(a.requires_grad)
        elseif g.is_tensor(a) then
            a = a:detach():to(device):requires_grad_(a.requires_grad)
        elseif type(a) == "table" and g.is_tensor(a[1]) then
            a = resized(a, resize, 100 * at)
        end
        m[k] = a
    end
    return m
end

local function tensors(args, found)
    for k = 1, args.n or #args do
        if g.is_tensor(args[k]) then found[#found + 1] = args[k]
        elseif type(args[k]) == "table" then tensors(args[k], found) end
    end
    return found
end

local function leaves(args)
    local found = {}
    for _, a in ipairs(tensors(args, {})) do if a.requires_grad then found[#found + 1] = a end end
    return found
end

local function sums(list, n)
    local found = {}
    for k = 1, n or #list do
        if g.is_tensor(list[k]) and list[k].requires_grad then found[#found + 1] = list[k]:sum() end
    end
    return found
end

-- The error in the gradients of args, or nil.
local function wrong(fn, args)
    local ok, ys = pcall(function()
        local ys = { fn(table.unpack(args, 1, args.n)) } settle() return ys
    end)
    local losses, xs = sums(ok and ys or {}), leaves(args)
    if not ok then pcall(settle) end
    if #losses == 0 then return end
    local message
    ok, message = pcall(function()
        local once = table.pack(g.grad(losses, xs, nil,
            { allow_unused = true, retain_graph = true }))
        for k, x in ipairs(xs) do
            if once[k] then
                assert(table.concat(once[k].shape, "x") == table.concat(x.shape, "x"),
                    "a gradient of another shape")
            end
        end
        local recorded = sums(table.pack(g.grad(
            losses, xs, nil, { create_graph = true, allow_unused = true })), #xs)
        if #recorded > 0 then g.grad(recorded, xs, nil, { allow_unused = true }) end
        settle()
    end)
    -- a label outside zero classes is seen by some ops only on the device
    for _, known in ipairs { "no second deriv", "only with full_matrices", "is not a class" } do
        if ok or message:find(known) then return end
    end
    return message
end

-- Each size of the inputs set to 0 wherever it occurs; each dim of each input; each dim of all.
local function variants(args, visit)
    local sizes, inputs = {}, tensors(args, {})
    for _, a in ipairs(inputs) do for _, s in ipairs(a.shape) do sizes[s] = true end end
    local function emptied(shape, is)
        local s, hit = {}, false
        for d, n in ipairs(shape) do
            s[d] = is(d, n) and 0 or n
            hit = hit or s[d] ~= n
        end
        return hit and s or nil
    end
    for size in pairs(sizes) do
        visit(resized(args,
            function(_, shape) return emptied(shape, function(_, n) return n == size end) end),
                "size " .. size)
    end
    for d = 1, 4 do
        visit(resized(args,
            function(_, shape) return emptied(shape, function(at) return at == d end) end),
                "dim " .. d)
    end
    for k = 1, args.n do
        for d = 1, g.is_tensor(args[k]) and #args[k].shape or 0 do
            visit(resized(args,
                function(j, shape)
                    return j == k and emptied(shape, function(at) return at == d end) or nil
                end),
                "dim " .. d .. " of argument " .. k)
        end
    end
end

local function every_row(dev)
    device = dev
    rows.each(function(name, op, list)
        if op.grad ~= "yes" or not list or #list == 0 then return end
        local bad
        for i, case in ipairs(list) do
            local fn, args = rows.call(name, case)
            variants(resized(args, function() end), function(empty, what)
                local message = wrong(fn, empty)
                if message then bad = bad or ("case %d, %s: %s"):format(i, what, message) end
            end)
        end
        if not t.ok(not bad, name .. " on " .. dev) then io.stderr:write("#   ", bad, "\n") end
    end)
end

local function values(dev)
    for _, shape in ipairs { { 1, 2, 0 }, { 0, 4, 3 }, { 2, 4, 0, 5 } } do
        local x = g.zeros(shape, { device = dev }):requires_grad_()
        local w, b = g.ones(shape[2], { device = dev }):requires_grad_(),
            g.ones(shape[2], { device = dev }):requires_grad_()
        x:group_norm(2, w, b):sum():backward()
        local none = g.zeros(shape[2]):tolist()
        t.is({ x.grad.shape, w.grad:tolist(), b.grad:tolist() }, { shape, none, none },
            "group_norm of nothing on " .. dev)
    end
    local x = g.zeros({ 1, 2, 0, 3 }, { device = dev })
    t.error(function() return x:conv_transpose2d(g.zeros({ 2, 1, 2, 2 }, { device = dev })) end,
        "input 0x3 with kernel 2x2 leaves no output",
            "a transposed convolution of no rows on " .. dev)
end

for _, dev in ipairs { "cpu", "sim" } do
    every_row(dev)
    values(dev)
end
t.done()
