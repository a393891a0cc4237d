--!plain
-- Writes calls in Lua, for translate.lua: by the rows of elsewhere.lua, or by the signatures of
-- ops, which say which argument is a dim, an index or a shape.
local require = ...
local gpush, registry = require "gpush", require "registry"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, path, say, note = translate.expression, translate.kind, translate.path,
    translate.say, translate.note
local counts, known = require "shell.counts", require "shell.known"
local by_form = require "shell.forms"
local of_calls = require "shell.calls.arguments"
local arguments, parameters, role = of_calls.arguments, of_calls.parameters, of_calls.role
local value_of, write = translate.value, translate.write
local methods = registry["gpush.tensor.methods"]

local function call(name, list)
    if #list == 1 and list[1]:find "^%b{}$" then return name .. list[1] end
    return name .. "(" .. table.concat(list, ", ") .. ")"
end

-- The method of a tensor by its row or that of the function: x.renorm_(2, 0, 1) is the row of
-- torch.renorm, in place, x.addr_(a, b) a composite's result, copied.
local function method_form(object, name, rest)
    local args = { object, table.unpack(rest) }
    local text, level = by_form("." .. name, args)
    if text or methods[name] or kind(object) == "table" then return text, level end
    text, level = by_form("torch." .. name, args)
    local base = not text and name:match "^(.*)_$"
    if not base then return text, level end
    if (elsewhere.ops()[base] or {}).kind == "composite" then
        text = emit({ "call", { "field", object, base }, rest })
    elseif methods[base] then return
    else text = by_form("torch." .. base, args) end
    return text and ("%s:copy_(%s)"):format(emit(object, 14), text), 14
end

-- The field of what a function returns, torch.finfo(t).max, where a row has it.
function translate.field_form(call, name)
    local full = call[1] == "call" and path(call[2])
    for _, key in ipairs(full and elsewhere.keys(full) or {}) do
        local text, level = by_form(key .. "." .. name, call[3])
        if text then return text, level end
    end
end

-- The method of what a function returns, cp.cuda.Device(0).synchronize(), where a row has it.
local function of_made(f, args)
    local made = f[1] == "field" and f[2][1] == "call" and f[2]
    local full = made and path(made[2])
    for _, key in ipairs(full and elsewhere.is_package(full, value_of)
        and elsewhere.keys(full) or {}) do
        local all = table.move(args, 1, #args, #made[3] + 1, { table.unpack(made[3]) })
        local text, level = by_form(key .. "." .. f[3], all)
        if text then return text, level end
    end
end

local modules = {}
for name in ("step zero_grad parameters named_parameters state_dict load_state_dict train eval \z
    modules named_modules children apply register_buffer register_parameter requires_grad_ \z
    register_forward_hook register_forward_pre_hook add_param_group \z
    scale unscale_ get_scale get_last_lr \z
    deepcopy add_module named_children wait record query elapsed_time"):gmatch "%S+"
do
    modules[name] = true
end

local layers = { lstm = true, gru = true, rnn = true, linear = true } -- fields of models, rather

-- Whether object.name( is the method of a value rather than the function of a table.
local function is_method(object, name)
    local full = path(object)
    local head = full and full:match "^[%a_][%w_]*"
    if not head then return true end
    if head == "self" or layers[name] and kind(object) ~= "tensor" then return false end
    local v = value_of(full)
    if type(v) == "table" and getmetatable(v) == nil then return false end
    if type(v) == "table" and type(rawget(v, name)) == "table" then return false end
    local library = value_of(head)
    if v == nil and library ~= nil and (library == gpush[head] or package.loaded[head]) then
        return false
    end
    return true
end

-- Whether an index is a number to the method: to arithmetic, reductions and conversions.
local of_values = { float = true, double = true, max = true, min = true, std = true, var = true }
local function takes_number(name)
    local kind = (elsewhere.ops()[name] or {}).kind
    return of_values[name] or kind == "binary" or kind == "reduce"
end

-- Whether the line makes the value of NumPy's functions, whose methods differ from PyTorch's.
local function is_array(node)
    node = known.bare(node)
    local f = node[1] == "call" and node[2]
    if node[1] == "name" then return translate.is_array(node[2]) end
    if node[1] == "binary" then return is_array(node[3]) or is_array(node[4]) end
    if node[1] == "index" then return is_array(node[2]) end
    local full = f and path(f)
    if full and elsewhere.is_package(full, value_of) then
        return elsewhere.keys(full)[2] ~= nil
    end
    return f and f[1] == "field" and (f[3] == "numpy" or is_array(f[2]))
end
translate.is_numpys = is_array
local of_arrays = {}
for name in ("mean std var max min argmax argmin ptp cumsum cumprod repeat dot \z
    nonzero take"):gmatch "%a+" do
    of_arrays[name] = true
end

-- What a mean is taken of: NumPy's and masks as f64, of which there is one here.
function translate.wide(node)
    local of, name = node, path(node)
    if of[1] == "call" and of[2][3] == "double" then return node end
    while of[1] == "paren" do of = of[2] end
    local v = name and value_of(name)
    local whole = gpush.is_tensor(v) and not v:is_floating_point() or of[1] == "compare"
        or is_array(of)
    return whole and { "call", { "field", node, "double" }, {} } or node
end

local compares = { eq = true, ne = true, lt = true, le = true, gt = true, ge = true, equal = true,
    isin = true }

local by_n = { std = true, var = true } -- NumPy's divide by n, PyTorch's by n - 1
-- Whether such a call is NumPy's: PyTorch has it of no integers, no option ddof, and sums along a
-- dim.
local function is_numpy(object, name, args)
    if (name == "cumsum" or name == "cumprod") and #args == 0 then return true end
    local numpy = by_n[name] and translate.whole_array(object)
    for _, a in ipairs(args) do
        if a[1] == "named" and a[2] == "ddof" then return true end
        numpy = numpy and a[2] ~= "unbiased" and a[2] ~= "correction" and a[2] ~= "dim"
    end
    return numpy
end

-- Whether such a call may be NumPy's: axis= is its word, and f64 its dtype.
local function may_be_numpy(object, args)
    local v, axis = known.value(object), false
    local wide = gpush.is_tensor(v) and v.dtype == "f64"
    for _, a in ipairs(args) do
        axis = axis or a[1] == "named" and a[2] == "axis"
        wide = wide and a[2] ~= "unbiased" and a[2] ~= "correction"
    end
    return axis or wide
end

local named_call, method_call
function method_call(node)
    local object, name, args = node[2][2], node[2][3], node[3]
    if of_arrays[name] and node[2][1] == "field"
        and (is_array(object) or is_numpy(object, name, args)) then
        return named_call({ "call", { "name", "np." .. name }, { object, table.unpack(args) } },
            "np." .. name)
    end
    local matrices = name == "dot" and #args == 1 and kind(object) == "tensor"
        and math.max(known.rank(object) or 0, known.rank(args[1]) or 0) > 1 -- NumPy's
    if matrices then return method_call { "call", { "field", object, "matmul" }, args } end
    if object[1] == "string" and name == "format" and node[2][1] == "field" then
        return translate.formatting(object, args)
    end
    if name == "join" then args = translate.sequences(args) end
    if (name == "startswith" or name == "endswith") and args[1][1] == "tuple" then
        local out = {}
        for i = 2, #args[1] do out[i - 1] = method_form(object, name, { args[1][i] }) end
        return table.concat(out, " or "), #out > 1 and 1 or 3
    end
    if name == "transpose" and #args > 2 then name = "permute" end -- NumPy's
    local text, level = method_form(object, name, args)
    if text then return text, level end
    if elsewhere.indices(name) == 1 then note(counts.COUNT) end
    local of, op = parameters(name, true)
    if not op then of, op = parameters(name:match "^(.*)_$" or name, true) end
    if name == "mean" or name == "std" or name == "var" then object = translate.wide(object) end
    if by_n[name] and object == node[2][2] and may_be_numpy(object, args) then
        note("PyTorch's, by n - 1; NumPy's divides by n: {correction = 0}", true)
    end
    if compares[name] and #args == 1
        and (translate.is_index(object) or translate.is_index(args[1])) then
        local left, level = translate.beside_index(object)
        if (level or 14) < 14 then left = "(" .. left .. ")" end
        return call(left .. ":" .. name, { (translate.beside_index(args[1])) })
    end
    local first = parameters(name)[1]
    local target = first and role(first, name) == translate.beside_index
        and emit({ "paren", { "raw", (translate.beside_index(object)) } })
        or emit(takes_number(name) and translate.from_zero(object) or object, 14)
    if node[2][1] == "method" then
        return call(target .. ":" .. name, arguments(args, of, name, true))
    end
    if kind(object) == "tensor" and not methods[name] and elsewhere.advice(name) then
        say(elsewhere.advice(name))
    end
    if name == "__init__" then say "nothing to call: a class inherits from its base" end
    if kind(object) == "number" then say("Lua's numbers have no methods") end
    if kind(object) == "string" and not string[name] then
        say("Lua's texts have no method " .. name)
    end
    local base = name:match "^(.*)_$"
    if base and methods[base] and not methods[name] and not path(object) then -- x.t().squeeze_()
        return method_call { "call", { "field", object, base }, args }
    end
    local known = methods[name] or modules[name] or not path(object)
        or kind(object) == "string" and string[name]
    if known and is_method(object, name) then
        return call(target .. ":" .. name, arguments(args, of, op and name))
    end
    if base and methods[base] and not methods[name] and kind(object) ~= "table" then
        local same = elsewhere.keyword[base] or base
        return ("%s = %s"):format(target, call(target .. ":" .. same,
            arguments(args, parameters(base, true), base))), 0
    end
    return call(target .. "." .. name, arguments(args, {}, nil))
end

-- Functions that join tensors or choose among them.
local joins = {}
for name in ("where cat concat concatenate stack hstack vstack column_stack"):gmatch "%S+" do
    joins[name] = true
end
local function each_of(a) return (a[1] == "list" or a[1] == "tuple") and { table.unpack(a, 2) } end

-- The arguments, and those in lists, with indices as Python's numbers.
local function as_numbers(args)
    local out = {}
    for i, a in ipairs(args) do
        local list = each_of(a)
        out[i] = list and { a[1], table.unpack(as_numbers(list)) }
            or translate.is_index(a) and translate.from_zero(a) or a
    end
    return out
end

-- Whether some of the arguments are neither indices nor labels that may be such.
local function joins_numbers(args)
    for _, a in ipairs(args) do
        local list = each_of(a)
        local label = translate.is_index(a) or a[1] == "named" or translate.is_mask(a)
        if not label and counts.open_label(a) then label = true; note(counts.OPEN, true) end
        if list and joins_numbers(list) or not list and not label then return true end
    end
    return false
end

-- Python's functions that take a text as a list of its characters.
local of_sequences = {}
for name in ("sum any all list tuple sorted reversed map filter max min"):gmatch "%a+" do
    of_sequences[name] = true
end

-- The op whose arguments the layer's are, where they count labels or indices.
local labelled = { CrossEntropyLoss = "cross_entropy", NLLLoss = "nll_loss",
    Embedding = "embedding", EmbeddingBag = "embedding_bag", CTCLoss = "ctc_loss",
    MultiMarginLoss = "multi_margin_loss",
    MultiLabelMarginLoss = "multilabel_margin_loss" }
local function labels_of(f)
    local layer = translate.layer(f)
    for class, op in next, labelled do if layer:find(class .. "$") then return op end end
end

-- The op's parameters, of whose names a layer has more.
local function layer_parameters(op)
    local of = parameters(op)
    of.all = nil
    return of
end

-- The call of a function by its name, of a package or Python's own.
function named_call(node, full)
    local args, last = node[3], full:match "[%w_]*$"
    if (full == "max" or full == "min") and args[1] and args[1][1] == "star" then
        args = { { "list", table.unpack(args) } }
    end
    local op = elsewhere.name(full) == "equal" and "equal" or last
    if compares[op] and #args == 2
        and (translate.is_index(args[1]) or translate.is_index(args[2])) then
        return method_call { "call", { "field", args[1], op }, { args[2] } }
    elseif of_sequences[full] then args = translate.sequences(args) end
    local takes = takes_number(last) or joins[last] and joins_numbers(args)
    if full == "float" or takes and elsewhere.is_package(full, value_of) then
        args = as_numbers(args) -- torch.add(x.argmax(1), 1)
    end
    local language, own = translate.language(), require "shell.builtins"[elsewhere.keys(full)[1]]
    local text, level
    if language then text, level = by_form(language .. "." .. full, args) end
    if not text and own then text, level = own(args) end
    if text then return text, level end
    local free = value_of(full:match "^[%a_][%w_]*") == nil or elsewhere.builtin[full]
        or gpush[full:match "^[%a_][%w_]*"] ~= nil
    for _, key in ipairs(free and elsewhere.keys(full) or {}) do
        local text, level = by_form(key, args)
        if text then return text, level end
    end
    local rows = free and elsewhere.keys(full)[2] and elsewhere.forms[elsewhere.keys(full)[1]]
    if rows then say(("nothing here means the same with these arguments: help %q"):format(last)) end
    if elsewhere.indices(last) == 1 then note(counts.COUNT) end
    local package = elsewhere.is_package(full, value_of)
    local name = package and elsewhere.name(full) or not package and (value_of(full) == nil
        and (elsewhere.name(full) or ""):match "^data%..*" or full)
    if not name and methods[last] and args[1] then -- torch.exp_(x)
        return call(emit(args[1], 14) .. ":" .. last, arguments({ table.unpack(args, 2) },
            parameters(last:gsub("_$", ""), true)))
    end
    if not name then say(elsewhere.advice(full)) end
    local of, op = parameters((name:gsub("^(%a+)%.", "%1_")), false)
    if not op then of, op = parameters(name, false) end
    local layer = not package and labels_of(node[2])
    if layer then return call(name, arguments(args, layer_parameters(layer), layer)) end
    if not package and translate.layer(node[2]):find "%u" then -- lstm = nn.LSTM(4, 5)
        return call(name, arguments(args, {}))
    end
    if elsewhere.counted[name] then of = elsewhere.counted[name] end
    of.of_lists = elsewhere.keys(full)[2] ~= nil -- NumPy's functions take lists and numbers
    local head = name:match "^[%a_][%w_]*"
    local own = package and rawget(_G, head)
    if own and gpush[head] ~= nil and not rawequal(own, gpush[head]) then -- a user's variable
        return call("gpush." .. name, arguments(args, of, op and name))
    end
    return call(name, arguments(args, of, op and name, not package))
end

-- Whether the option has another name here, or counts.
local function differs(key, op, of)
    local raw = { "raw", "v", kind = "number" }
    return translate.option(key, raw, op, of) ~= ("%s = v"):format(key)
end

-- The arguments with those of **d by their names where one of them differs here; of an op, what d
-- holds must be known.
local function opened(node)
    local f, out = node[2], {}
    local full = path(f)
    local name = full and elsewhere.name(full) or f[3] or f[2]
    local of, op = parameters(name, f[1] == "field")
    for _, a in ipairs(node[3]) do
        local list = a[1] == "options" and known.entries(a[2])
        local other = a[1] == "options" and not list and op and not translate.counted()
        for _, p in ipairs(other and of or {}) do
            if role(p, name) then say("in the options " .. p[2] .. " counts from 1") end
        end
        for _, e in ipairs(list or {}) do
            other = other or e[1][1] == "string" and differs(e[1][2], op and name, of)
        end
        if not other then out[#out + 1] = a end
        for _, e in ipairs(other and list or {}) do
            local value = a[2][1] == "name" and { "index", a[2], { e[1] } } or e[2]
            out[#out + 1] = { "named", e[1][2], value }
        end
    end
    return { "call", f, out }
end

local changes = {} -- a list or dict
for name in ("append extend insert pop remove clear sort reverse update setdefault"):gmatch "%a+" do
    changes[name] = true
end

local function written(node)
    for _, a in ipairs(node[3]) do
        if a[1] == "options" then node = opened(node) break end
    end
    local f, args = node[2], node[3]
    local made = require "shell.loops".returned(node)
    if made then return ("(function() %s end)()"):format(made) end
    local pair, level = require "shell.complex".call(node)
    if pair then return pair, level end
    local full = path(f)
    if full and (f[1] == "name" or elsewhere.is_package(full, value_of)) then
        return named_call(node, full)
    end
    for _, key in ipairs(full and elsewhere.keys(full) or {}) do
        local own = require "shell.builtins"[key]
        local text, level = own and own(args)
        if not text then text, level = by_form(key, args) end
        if text then return text, level end
    end
    local text, level = of_made(f, args)
    if text then return text, level end
    if f[1] == "field" or f[1] == "method" then return method_call(node) end
    local op = labels_of(f)
    return call(emit(f, 14), arguments(args, op and layer_parameters(op) or {}, op))
end

-- Functions whose value is the head of a with in Python, and which begin at once here.
local blocks = { no_grad = true, enable_grad = true, inference = true, autocast = true }

-- The value of a with.
function translate.block(node)
    return (node[1] == "call" and written(node) or emit(node))
end

function write.call(node)
    local full = path(node[2])
    local block = full and elsewhere.is_package(full, value_of) and elsewhere.name(full)
    if blocks[block] and not value_of(full:match "^[%a_][%w_]*") then
        say(("by itself it changes nothing: do local _ <close> = %s … end"):format((written(node))))
    end
    local text, level = written(node)
    if changes[node[2][3]] then known.changed(node[2][2]) end
    if translate.is_split(node) then return "{" .. text .. "}", 13 end
    return text, level
end
