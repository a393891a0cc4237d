--!plain
-- elementwise and reduction: ops of one's own, made from formulas of C (parse.lua), with the
-- arguments of CuPy's ElementwiseKernel and ReductionKernel. A formula is computed by gpush's own
-- ops (evaluate.lua) in a fused function, so it runs on every device with the same bits, and has a
-- derivative. One that reads single elements of a raw argument, or its own index, runs op by op.
-- elementwise compiles what has loops or branches (body.lua).
local require = ...
local gpush, fail = require "gpush", require "fail"
local parse, types = require "kernel.parse", require "kernel.types"
local evaluate = require "kernel.evaluate"
local is_tensor = gpush.is_tensor

local MOST <const> = 16 -- parameters: a fused function takes no more

-- ---- arguments ----

-- The dtypes of type variables: what the tensors of each promote to.
local function letters_of(kernel, args)
    local known = {}
    for k, p in ipairs(kernel.inputs) do
        local letter, x = not types.dtype(p.type) and p.type, args[k]
        if letter and is_tensor(x) then
            known[letter] = gpush.promote_types(known[letter] or x.dtype, x.dtype)
        end
    end
    for k, p in ipairs(kernel.inputs) do
        if not types.dtype(p.type) and not known[p.type] then
            fail("%s: argument %d '%s': its type %s is that of a tensor, and none is given",
                kernel.name, k, p.name, p.type)
        end
    end
    return known
end

local function check(kernel, args, n)
    if n ~= #kernel.inputs then
        fail("%s takes %d argument%s (%s), got %d", kernel.name, #kernel.inputs,
            #kernel.inputs == 1 and "" or "s", kernel.takes, n)
    end
    local device, first
    for k, p in ipairs(kernel.inputs) do
        local x, fixed = args[k], types.dtype(p.type)
        if is_tensor(x) then
            if fixed and x.dtype ~= fixed then
                fail("%s: argument %d '%s' is %s, the kernel takes %s; %s:to '%s' converts",
                    kernel.name, k, p.name, x.dtype, fixed, p.name, fixed)
            end
            if device and x.device ~= device then
                fail("%s: argument %d '%s' is on %s, '%s' on %s (expected the same)", kernel.name,
                    k, p.name, x.device, first, device)
            end
            device, first = x.device, first or p.name
        elseif p.raw or (type(x) ~= "number" and type(x) ~= "boolean") then
            fail("%s: argument %d '%s': expected a tensor%s, got %s", kernel.name, k, p.name,
                p.raw and "" or " or a number", x == nil and "nothing" or type(x))
        end
    end
    if not device then
        fail("%s: expected a tensor among the arguments, got numbers", kernel.name)
    end
    return device
end

-- The numbers among args as tensors of one element, since a fused function notes its ops again for
-- each other number.
local function numbers_as_tensors(kernel, args, letters, device)
    local dims = 0
    for k = 1, #kernel.inputs do
        if is_tensor(args[k]) then dims = math.max(dims, args[k].ndim) end
    end
    for k, p in ipairs(kernel.inputs) do
        if not is_tensor(args[k]) then
            local dtype = types.dtype(p.type) or letters[p.type]
            args[k] = gpush.full(dims > 0 and { 1 } or {}, evaluate.cast(args[k], dtype),
                { dtype = dtype, device = device })
        end
    end
end

-- The names' values, the tensors of one type variable in the dtype that they have in common.
local function environment(kernel, args, letters)
    local env = { values = {}, raw = {}, letters = letters }
    for k, p in ipairs(kernel.inputs) do
        local into = p.raw and env.raw or env.values
        into[p.name] = evaluate.cast(args[k], types.dtype(p.type) or letters[p.type])
    end
    return env
end

-- ---- shapes ----

-- The shape to which the arguments that are not raw broadcast; nil: there is no tensor among them.
local function common_shape(kernel, args)
    local shape
    for k, p in ipairs(kernel.inputs) do
        local x = not p.raw and is_tensor(args[k]) and args[k]
        if x and not shape then shape = x.shape
        elseif x then
            local other, merged = x.shape, {}
            for j = 0, math.max(#shape, #other) - 1 do
                local a = j < #shape and shape[#shape - j] or 1
                local b = j < #other and other[#other - j] or 1
                if a ~= b and a ~= 1 and b ~= 1 then
                    fail("%s: argument %d '%s' is %s, the others %s: they do not broadcast",
                        kernel.name, k, p.name, table.concat(other, "x"), table.concat(shape, "x"))
                end
                table.insert(merged, 1, a == 1 and b or a)
            end
            shape = merged
        end
    end
    return shape
end

local function size_option(kernel, size)
    if math.type(size) ~= "integer" or size < 0 then
        fail("%s: option 'size': expected an integer >= 0, got %s", kernel.name, tostring(size))
    end
    return { size }
end

-- The shape of the results of a call with those options.
local function shape_of(kernel, args, options)
    local shape = options.size and size_option(kernel, options.size) or common_shape(kernel, args)
    if not shape then fail("%s: only raw arguments: pass {size = n}", kernel.name) end
    return shape
end

-- What a kernel gives: of that shape and dtype, and no view of an argument.
local function result(x, shape, dtype, device, args, n)
    if not is_tensor(x) then
        return gpush.full(shape, evaluate.cast(x, dtype), { dtype = dtype, device = device })
    end
    x = x:to(dtype)
    local same = x.ndim == #shape
    for k = 1, #shape do same = same and x:size(k) == shape[k] end
    if not same then return x:expand(shape):clone() end
    for k = 1, n do
        if is_tensor(args[k]) and x:shares_storage(args[k]) then return x:clone() end
    end
    return x
end

-- ---- kernels ----

local function source(kernel)
    return ("%s(%s)%s"):format(kernel.name, kernel.takes, kernel.gives)
end

local function listed(list)
    local texts = {}
    for k, p in ipairs(list) do texts[k] = (p.raw and "raw " or "") .. p.type .. " " .. p.name end
    return table.concat(texts, ", ")
end

-- What users hold: it is called like a function, and has no fields, so that fused functions around
-- it have nothing to compare.
local function describe(kernel, formula)
    kernel.takes = listed(kernel.inputs)
    kernel.gives = " -> " .. listed(kernel.outputs)
    kernel.text = source(kernel) .. ": " .. formula:gsub("%s+", " ")
    local call = kernel.call
    return setmetatable({}, { __name = "kernel", __help = kernel.text,
        __call = function(_, ...) return call(...) end,
        __tostring = function() return "kernel " .. kernel.text end,
        __index = function(_, key)
            fail("a kernel has no '%s'; it is called, as in k(x), and print(k) shows it",
                tostring(key))
        end })
end

local function checked_text(what, name, text)
    if type(text) ~= "string" then
        fail("%s: argument '%s': expected text, got %s", what, name,
            text == nil and "nothing" or type(text))
    end
    return text
end

local function named(what, name)
    if name ~= nil and not (type(name) == "string" and name:find "^[%a_][%w_]*$") then
        fail("%s: argument 'name': expected a name of letters, digits and _, got %s", what,
            tostring(name))
    end
    return name or what
end

local function start(what, inputs, outputs, name)
    local kernel = { name = named(what, name),
        inputs = types.parameters(checked_text(what, "inputs", inputs), what, "input"),
        outputs = types.parameters(checked_text(what, "outputs", outputs), what, "output") }
    kernel.letters = types.letters(kernel.inputs)
    if #kernel.inputs == 0 or #kernel.inputs > MOST or #kernel.outputs == 0 then
        fail("%s: expected 1 to %d inputs and at least one output, got %d and %d", what, MOST,
            #kernel.inputs, #kernel.outputs)
    end
    for _, p in ipairs(kernel.outputs) do
        if p.raw then
            fail("%s: output '%s': raw outputs need a kernel with an index", what, p.name)
        end
        if not types.dtype(p.type) and not kernel.letters[p.type] then
            fail("%s: output '%s': no input has its type %s", what, p.name, p.type)
        end
    end
    return kernel
end

-- Whether the tree reads elements of raw arguments, or the index.
local function reads_index(kernel, node)
    if type(node) ~= "table" then return false end
    if node[1] == "at" then return true end
    if node[1] == "name" and node[2] == "i" then
        for _, p in ipairs(kernel.inputs) do if p.name == "i" then return false end end
        return true
    end
    for _, part in pairs(node) do if reads_index(kernel, part) then return true end end
    return false
end

-- What the options of a call are, its last argument where that is a table.
local function split(...)
    local args = table.pack(...)
    local last = args[args.n]
    if type(last) == "table" and not is_tensor(last) then
        args[args.n], args.n = nil, args.n - 1
        return args, args.n, last
    end
    return args, args.n, {}
end

-- expected: the names of those that the kernel takes, as "dim keepdim".
local function no_others(kernel, options, expected)
    for key in pairs(options) do
        if not (" " .. expected .. " "):find(" " .. tostring(key) .. " ", 1, true) then
            fail("%s: unknown option '%s' (expected %s)", kernel.name, tostring(key),
                expected == "" and "none" or expected:gsub(" ", " or "))
        end
    end
end

-- A call's arguments, how many, and its options, of those that are expected; the device, and the
-- dtypes of type variables.
local function arguments(kernel, expected, ...)
    local args, n, options = split(...)
    no_others(kernel, options, expected)
    return args, n, options, check(kernel, args, n), letters_of(kernel, args)
end

-- Runs in a region of the kernel's name, which profiles show.
local function in_region(kernel, run, ...)
    local _ <close> = gpush.profile.record_function(kernel.name)
    return run(...)
end

-- A fused function of the arguments alone. What it reads never changes, and is an upvalue of
-- `inner`, where calls do not compare it.
local function fused(kernel, run)
    local function inner(...) return run(kernel, ...) end
    return gpush.fuse(function(...) return inner(...) end)
end

-- ---- elementwise ----

local function outputs_of(kernel, env)
    local list = {}
    for k, p in ipairs(kernel.outputs) do
        list[k] = env.values[p.name]
        if list[k] == nil then fail("%s: output '%s' gets no value", kernel.name, p.name) end
    end
    return table.unpack(list, 1, #kernel.outputs)
end

-- What the formula gives, of the shape that its own ops have.
local function compute(kernel, ...)
    local env = environment(kernel, { ... }, letters_of(kernel, { ... }))
    evaluate.run(kernel.statements, env)
    return outputs_of(kernel, env)
end

local function compute_by_index(kernel, args, letters, shape, device)
    local env = environment(kernel, args, letters)
    local count = 1
    for _, n in ipairs(shape) do count = count * n end
    local index
    function env.index()
        index = index or gpush.arange(0, count - 1, { dtype = "i64", device = device }):view(shape)
        return index
    end
    evaluate.run(kernel.statements, env)
    return outputs_of(kernel, env)
end

local function call_elementwise(kernel, ...)
    local args, n, options, device, letters = arguments(kernel, kernel.indexed and "size" or "",
        ...)
    local shape = shape_of(kernel, args, options)
    local values
    if kernel.indexed then
        values = { compute_by_index(kernel, args, letters, shape, device) }
    else
        numbers_as_tensors(kernel, args, letters, device)
        values = { kernel.fused(table.unpack(args, 1, n)) }
    end
    for k, p in ipairs(kernel.outputs) do
        values[k] = result(values[k], shape, types.dtype(p.type) or letters[p.type], device,
            args, n)
    end
    return table.unpack(values, 1, #kernel.outputs)
end

-- Whether a gradient of that shape is one for an argument of the other, or after a sum over what
-- was broadcast.
local function sums_to(shape, of)
    if #shape < #of then return false end
    for k = 1, #of do
        if of[k] ~= 1 and shape[#shape - #of + k] ~= of[k] then return false end
    end
    return true
end

local function check_gradient(kernel, k, x, grad)
    if grad == nil or (is_tensor(grad) and sums_to(grad.shape, x.shape)) then return end
    error(("backward: the gradient of argument %d '%s' of %s is %s (expected a tensor of shape %s)")
        :format(k, kernel.inputs[k].name, kernel.name,
            is_tensor(grad) and "of shape " .. table.concat(grad.shape, "x") or "a " .. type(grad),
            table.concat(x.shape, "x")), 0)
end

-- kernel.run with the user's function as its derivative, or none.
local function with_backward(kernel, ...)
    local args, n = split(...)
    local inputs, places, versions = {}, {}, {}
    for k = 1, n do
        local x = args[k]
        versions[k] = is_tensor(x) and x._version
        if is_tensor(x) and x.requires_grad then
            inputs[#inputs + 1], places[#places + 1] = x, k
        end
    end
    local outs = table.pack(gpush.no_grad(kernel.run, ...))
    gpush.autograd.node(inputs, outs, function(...)
        if not kernel.backward then
            error(("backward: %s is no formula, and has no derivative; the option backward = \z
                function(g, x) … end gives it one"):format(kernel.name), 0)
        end
        for k = 1, n do
            if versions[k] and args[k]._version ~= versions[k] then
                error(("backward: argument %d '%s' of %s was written in place since"):format(k,
                    kernel.inputs[k].name, kernel.name), 0)
            end
        end
        local given = table.pack(...)
        table.move(args, 1, n, given.n + 1, given)
        local back, grads = table.pack(kernel.backward(table.unpack(given, 1, given.n + n))), {}
        for j, k in ipairs(places) do
            check_gradient(kernel, k, args[k], back[k])
            grads[j] = back[k]
        end
        return table.unpack(grads, 1, #places)
    end)
    return table.unpack(outs, 1, outs.n)
end

local function elementwise(inputs, outputs, formula, name, backward, check)
    local kernel = start("elementwise", inputs, outputs, name)
    checked_text("elementwise", "formula", formula)
    kernel.backward = backward
    local body = require "kernel.body"
    local is_body = body.is_body(formula)
    if is_body then body.start(kernel, formula, check)
    else
        kernel.statements = parse.statements(formula, kernel.name, kernel.letters)
        kernel.indexed = reads_index(kernel, kernel.statements)
        kernel.fused = fused(kernel, compute)
        function kernel.run(...) return call_elementwise(kernel, ...) end
    end
    local run = kernel.run
    if is_body or backward then run = function(...) return with_backward(kernel, ...) end end
    function kernel.call(...) return in_region(kernel, run, ...) end
    return describe(kernel, formula)
end

return { elementwise = elementwise, parts = { start = start, arguments = arguments,
    letters_of = letters_of, environment = environment, fused = fused,
    in_region = in_region, describe = describe, numbers_as_tensors = numbers_as_tensors,
    checked_text = checked_text, shape_of = shape_of } }
