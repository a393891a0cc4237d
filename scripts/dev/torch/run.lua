--!plain
-- What scripts/dev/against-torch has gpush do. `run.lua signatures` prints every function's name
-- and signature, and which of its results is the first of indices (0: none). `run.lua FOLDER
-- DEVICE` runs the calls in FOLDER/calls.tsv (number, whether with gradients, Lua text) on the
-- arrays of in.npz, and writes results and gradients to out.npz, errors to errors.tsv.
local g = require "gpush"
local folder, device = table.unpack(arg)

local function print_signatures()
    local signature, ops = debug.getregistry()["gpush.signature"], g.ops(true)
    for name in ("SGD Adam AdamW RMSprop Adagrad Adamax NAdam RAdam Adadelta Rprop ASGD \z
        LBFGS"):gmatch "%a+" do local _ = g.optim[name] end -- loaded when they are named
    for prefix, functions in pairs { [""] = g, ["linalg."] = g.linalg, ["fft."] = g.fft,
        ["optim."] = g.optim, ["optim.lr."] = g.optim.lr } do
        for name, fn in pairs(functions) do
            local op, sig = signature(fn)
            local row = op and ops[op]
            if op then print(prefix .. name, sig, row and row.indices or 0) end
        end
    end
end

-- The tensors among a call's results, in order; numbers and booleans become tensors.
local function flatten(v, out)
    if type(v) == "table" then
        for _, item in ipairs(v) do flatten(item, out) end
    elseif g.is_tensor(v) then
        out[#out + 1] = v
    elseif v ~= nil then
        out[#out + 1] = g.tensor(v)
    end
    return out
end

local function differentiate(id, t, ys, input, out)
    local sum
    for k, y in ipairs(ys) do
        local w = input[("c%d_w%d"):format(id, k)]
        if w and y.requires_grad then
            local term = (y * w:to { device = y.device }):sum()
            sum = sum and sum + term or term
        end
    end
    if not sum then return end
    sum:backward()
    for k, x in ipairs(t) do
        if x.requires_grad then
            out[("c%d_g%d"):format(id, k)] = (x.grad or g.zeros_like(x)):to "cpu"
        end
    end
end

local function run(id, with_gradients, text, input, out)
    local t = {}
    for k = 1, math.huge do
        local x = input[("c%d_x%d"):format(id, k)]
        if not x then break end
        x = x:to { device = device }
        t[k] = with_gradients and x:is_floating_point() and x:requires_grad_() or x
    end
    local env = setmetatable({ T = t }, { __index = g })
    local call = assert(load("return " .. text, "=call", "t", env))
    local ys = flatten({ call() }, {})
    for k, y in ipairs(ys) do out[("c%d_y%d"):format(id, k)] = y:detach():to "cpu":contiguous() end
    if with_gradients then differentiate(id, t, ys, input, out) end
end

local function run_all()
    local input, out = g.npz.load(folder .. "/in.npz"), { none = g.zeros(0) }
    local errors <close> = assert(io.open(folder .. "/errors.tsv", "w"))
    for line in io.lines(folder .. "/calls.tsv") do
        local id, gradients, text = line:match "^(%d+)\t(%d)\t(.*)$"
        local ok, message = pcall(run, tonumber(id), gradients == "1", text, input, out)
        if not ok then
            errors:write(id, "\t", (tostring(message):gsub("%s+", " ")), "\n")
        end
    end
    g.npz.save(folder .. "/out.npz", out)
end

if folder == "signatures" then print_signatures() else run_all() end
