--!plain
-- Writes calls in Lua, for translate.lua: by the rows of elsewhere.lua, or by the signatures of
-- ops, which say which argument is a dim, an index or a shape.
local require = ...
local gpush, registry = require "gpush", require "registry"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, path, say, note = translate.expression, translate.kind, translate.path,
    translate.say, translate.note
local position, dims = translate.position, translate.dims
local shifted, stop, condition = translate.shifted, translate.stop, translate.condition
local value_of, write = translate.value, translate.write
local methods = registry["gpush.tensor.methods"]

local renamed = registry["gpush.typed_options"].any
local roles = { ignore_index = position, padding_idx = position, blank = position,
    start = position, index = shifted, dim = dims, dims = dims, first = position, last = position }

-- The op that a name of the library stands for: a second name has the same function.
local function op_of(name)
    local ops, fn = gpush.ops(true), rawget(gpush, name)
    if ops[name] or not fn then return name end
    for op in pairs(ops) do
        if rawequal(rawget(gpush, op), fn) then return op end
    end
    return name
end

-- The types and names of the parameters of the op, {kind, name}; a method's without the first.
local function parameters(name, method)
    local op, out = gpush.ops(true)[op_of(name)], {}
    for kind, parameter in (op and op.sig or ""):gmatch "(%a+)[!?]* ([%w_]+)" do
        out[#out + 1] = { kind, parameter }
    end
    if method then table.remove(out, 1) end
    return out, op
end

-- Parameters that are indices or labels, which count from 1 here.
local of_labels = { cross_entropy = "target", nll_loss = "target", multi_margin_loss = "target",
    one_hot = "x", embedding_bag = "input", bincount = "x",
    take_along_dim = "indices", take = "index",
    gather_nd = "indices" }

local function each(f, node) return "{" .. translate.joined(node, f, 2) .. "}" end
-- A list of numbers as the tensor that NumPy makes of it.
local function made_tensor(node)
    if kind(node) == "tensor" then return (emit(node)) end
    return ('tensor(%s, {dtype = "f64"})'):format((emit(node)))
end
local function shifted_each(node)
    return (node[1] == "list" or node[1] == "tuple") and each(shifted, node) or emit(node)
end
-- tensordot's dims: how many, or a list for each tensor.
local function nested(node)
    return (node[1] == "list" or node[1] == "tuple") and each(dims, node) or emit(node)
end

-- What an argument for the parameter {kind, name} of an op counts.
local function role(parameter, op)
    if not parameter then return nil end
    local k, name = parameter[1], parameter[2]
    if op == "tensordot" and name == "dims" then return nested end
    if k == "dim" or k == "dims" or name:find "^dims?%d?$" and k ~= "shape" then return dims end
    if op_of(op) == "movedim" and k == "ints" then return dims end
    if k == "tensors" and name == "indices" then return shifted_each end
    if k == "int" and (op == "narrow" or op == "select") and (name == "start" or name == "index")
    then
        return position
    end
    if k == "tensor" and (name == "index" or of_labels[op] == name) then
        return translate.beside_index
    end
    return k == "int" and roles[name] or nil
end

local function option(key, value, op, of)
    local name, f = renamed[key] or key, nil
    for _, parameter in ipairs(of or {}) do
        if parameter[2] == name then f = role(parameter, op) or emit end
    end
    f = f or name:find "^dims?%d?$" and dims or name:find "_dim$" and dims or name == "index"
        and shifted or name ~= "start" and name ~= "first" and name ~= "last" and roles[name]
    local text = (name == "device" and translate.device or name == "dtype" and translate.dtype or f
        or emit)(value)
    if name == "unbiased" and op then name = "unbiased" end
    return load(("return {%s = 1}"):format(name)) and ("%s = %s"):format(name, text)
        or ('["%s"] = %s'):format(name, text)
end

-- Functions that take tensors one by one there, and a list of them here.
local separate = { block_diag = true, cartesian_prod = true, broadcast_tensors = true,
    meshgrid = true }

local OPTIONS <const> = "options stand in one table at the end: f(x, {dim = 1})"

-- The arguments with those of f(*[a, b]) in place.
local function spliced(args)
    local out = {}
    for _, a in ipairs(args) do
        local list = a[1] == "star" and (a[2][1] == "list" or a[2][1] == "tuple") and a[2]
        if list then table.move(list, 2, #list, #out + 1, out) else out[#out + 1] = a end
    end
    return out
end

-- The texts of arguments: f(*a, b) unpacks a list of all, since only what stands last can be
-- several values in Lua.
local function unpacked_last(args, list)
    for i, a in ipairs(args) do
        if a[1] == "star" and (i < #args or i < #list) then
            local whole = { "list" }
            for _, item in ipairs(args) do
                if item[1] == "named" or item[1] == "options" then say(OPTIONS) end
                whole[#whole + 1] = item
            end
            return { emit { "star", whole } }
        end
    end
    return list
end

-- Whether NumPy makes an array of what stands for the parameter.
local function is_array(node, parameter)
    local of, k = parameter and parameter[1], kind(node)
    return of == "tensor" and (k == "number" or k == "table") or of == "operand" and k == "table"
end

-- The arguments in Lua, named ones in a final table; of: the op's parameters; counted: those by
-- place count from 1 already.
local function arguments(args, of, op, counted)
    local list, named, n, more = {}, {}, 0, nil
    local variadic = #of > 0 and (of[1][1] == "shape" or of[1][1] == "dims" and #of == 1) and of[1]
    if variadic and #args > 0 and (args[1][1] == "tuple" or args[1][1] == "list")
        and not (args[2] and args[2][1] ~= "named") and #args[1] > 2 then
        args = table.move(args, 2, #args, #args[1], { table.unpack(args[1], 2) })
    end
    args = spliced(args)
    for _, a in ipairs(args) do
        if a[1] == "named" then named[#named + 1] = option(a[2], a[3], op, of)
        elseif a[1] == "options" then more = more and say(OPTIONS) or a
        else
            n = n + 1
            local parameter = of[n] or variadic and #of == 1 and variadic or nil
            if variadic and variadic[1] == "shape" then parameter = nil end
            local f = not counted and role(parameter, op)
            if f and a[1] == "star" then say "dims and indices in the list count from 1" end
            if parameter and parameter[2] == "correction" and a[1] == "constant" then
                named[#named + 1] = "unbiased = " .. a[2]
            elseif of.of_lists and is_array(a, parameter) then
                local counts = f == shifted or f == translate.beside_index
                list[#list + 1] = counts and "tensor" .. shifted(a) or made_tensor(a)
            elseif of.of_lists and parameter and parameter[1] == "tensors" and kind(a[2]) == "table"
                and kind(a) == "table" then
                list[#list + 1] = each(made_tensor, a)
            else list[#list + 1] = ((f or emit)(a)) end
        end
    end
    list = unpacked_last(args, list)
    if separate[op] and n > 1 then list = { "{" .. table.concat(list, ", ") .. "}" } end
    if more and #named > 0 then say(OPTIONS) end
    if more then list[#list + 1] = (emit(more)) end
    if #named > 0 then list[#list + 1] = "{" .. table.concat(named, ", ") .. "}" end
    return list
end

translate.arguments = arguments

local function call(name, list)
    if #list == 1 and list[1]:find "^%b{}$" then return name .. list[1] end
    return name .. "(" .. table.concat(list, ", ") .. ")"
end

-- The text of an argument where the form has the word: DIM counts from 1 here, STOP is exclusive.
local of_word = { DIM = dims, AXIS = dims, AXES = dims, STOP = stop, INDEX = shifted,
    START = position,
    COND = condition }

-- "cuda" is "gpu" here, which is the card or its model.
function of_word.DEVICE(node)
    if node[1] == "choice" then
        return emit { "choice", { "raw", (of_word.DEVICE(node[2])) }, node[3],
            { "raw", (of_word.DEVICE(node[4])) } }
    end
    local text, level = emit(node)
    return text:gsub("^([\"'])cuda:?0?([\"'])$", "%1gpu%2"), level
end

translate.device = of_word.DEVICE

-- A dtype, which may be the name of a type of Python's.
function translate.dtype(node)
    local of = node[1] == "name" and ({ int = '"i64"', float = '"f64"', bool = '"bool"' })[node[2]]
    if of then return of, 14 end
    return emit(node)
end
of_word.DTYPE = translate.dtype

local modes = { ['"warn"'] = '"warn"', ["1"] = '"warn"', ['"error"'] = '"error"',
    ["2"] = '"error"', ["0"] = '"off"', ['"default"'] = '"off"' }
-- A shape, which may be one number.
function of_word.SIZE(node)
    local text = emit(node)
    return text:find "^{" and text or "{" .. text .. "}", 13
end

function of_word.MODE(node)
    local text = emit(node):gsub("'", '"')
    return modes[text] or text
end

-- The statement in a text, as of timeit's.
function of_word.STMT(node)
    return emit(node[1] == "string" and require "shell.parse".expression(node[2]) or node)
end

-- A file of weights, by its name here.
function of_word.WEIGHTS(node) return (emit(node):gsub("%.pth?([\"'])$", ".safetensors%1")) end

translate.weights = of_word.WEIGHTS

-- The name under which a checkpoint keeps the value: model of model.state_dict().
function of_word.STATE(node)
    local name = path(node[1] == "call" and node[2] or node) or "model"
    name = name:match "^[%a_][%w_]*"
    return ("{%s = %s}"):format(name, name)
end

local of_options = registry["gpush.typed_options"]

-- The arguments by the words of the form, and the named ones that are left; nil where they do not
-- fit.
local function fitted(form, args)
    local given, n, left = {}, 0, {}
    for _, a in ipairs(args) do
        if a[1] == "named" then left[a[2]] = a[3]
        elseif a[1] == "star" then return nil
        else
            n = n + 1
            if not form.words[n] then return nil end
            given[form.words[n]] = a
        end
    end
    for i, word in ipairs(form.words) do
        for _, key in ipairs { word:lower(), word == "AXIS" and "dim" or word == "DIM" and "axis"
            or word == "STOP" and (left.high and "high" or "end") or word:lower() } do
            if left[key] and given[word] then return nil end
            if left[key] then given[word], left[key] = left[key], nil end
        end
        local default = not given[word] and form.defaults[word]
        if default and default ~= "" then given[word] = { "raw", default } end
        if not given[word] and not default or given[word] and not default and form.kinds[i]
            and kind(given[word]) ~= form.kinds[i] then
            return nil
        end
    end
    if next(left) and not form.options then return nil end
    return given, left
end

local of_numbers = { X = true, Y = true, BINS = true, WEIGHTS = true }

-- The form's text with the arguments in place of its words; nil where they do not fit.
local function fill(form, args)
    local given, left = fitted(form, args)
    if not given then return nil end
    local rest, typed = {}, form.text:match "^[%w_.]+"
    typed = of_options[typed] or elsewhere.options[typed] or {}
    for _, a in ipairs(args) do
        if a[1] == "named" and left[a[2]] then
            rest[#rest + 1] = option(typed[a[2]] or a[2], a[3])
        end
    end
    rest = table.concat(rest, ", ")
    local function optional(comma, w) return given[w] and comma .. w or "" end
    local text = translate.renamed(form.text, form.own):gsub("(,? ?)(%u[%u%d_]*)%?", optional)
        :gsub("<(%u)>", function(w) return (emit(given[w])) end)
        :gsub("{%*%*}", function() return "{" .. rest .. "}" end)
        :gsub(", %*%*}", function() return rest ~= "" and ", " .. rest .. "}" or "}" end)
        :gsub(", %*%*", function() return rest ~= "" and ", {" .. rest .. "}" or "" end)
    return (text:gsub("()%f[%w_](%u[%u%d_]*)%f[^%w_]()", function(at, word, after)
        local node = given[word]
        if not node or text:sub(at - 1, at - 1) == "%" then return nil end
        local before = text:sub(1, at - 1):match "(%S?)%s*$"
        local behind = text:match("^%s*(%S?)", after)
        local alone = (before == "" or before:find "[(,{=%[]" or
            text:sub(1, at - 1):find "%f[%a]in%s*$" or text:sub(1, at - 1):find "return%s*$")
            and (behind == "" or behind:find "[,)}%]]")
        local tight = text:find("^[.:%[(]", after) and 14 or 12
        local f = of_word[word] or emit
        if form.lists and of_numbers[word] and kind(node) == "table" then
            node = { "raw", made_tensor(node) }
        end
        local value, level = f(node)
        return not alone and (level or 14) < tight and "(" .. value .. ")" or value
    end))
end

local function by_form(key, args)
    for _, form in ipairs(elsewhere.forms[key] or {}) do
        local text = fill(form, args)
        if text then
            if form.note then note(form.note) end
            if form.text == "" then say(form.note) end
            return text, (text:find "^[{\"']" or text:find "^function") and 13 or form.level
        end
    end
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
    if (gpush.ops(true)[base] or {}).kind == "composite" then
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

local modules = {}
for name in ("step zero_grad parameters named_parameters state_dict load_state_dict train eval \z
    modules named_modules children apply register_buffer register_parameter requires_grad_ \z
    get_last_lr deepcopy add_module named_children wait record query elapsed_time"):gmatch "%S+"
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
    local kind = (gpush.ops(true)[name] or {}).kind
    return of_values[name] or kind == "binary" or kind == "reduce"
end

local function method_call(node)
    local object, name, args = node[2][2], node[2][3], node[3]
    if object[1] == "string" and name == "format" and node[2][1] == "field" then
        return translate.formatting(object, args)
    end
    if name == "join" then args = translate.sequences(args) end
    local text, level = method_form(object, name, args)
    if text then return text, level end
    if elsewhere.indices(name) == 1 then note(translate.COUNT) end
    local of, op = parameters(name, true)
    if not op then of, op = parameters(name:match "^(.*)_$" or name, true) end
    if object[1] == "call" and (path(object[2]) or ""):find "^np%.a" and (name == "mean"
        or name == "std" or name == "var") then
        object = { "call", { "field", object, "double" }, {} } -- NumPy's are f64
    end
    if (name == "eq" or name == "ne") and translate.is_index(object) and #args == 1 then
        return call(emit(object, 14) .. ":" .. name, { translate.beside_index(args[1]) })
    end
    local target = emit(takes_number(name) and translate.from_zero(object) or object, 14)
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
    local known = methods[name] or modules[name] or not path(object)
        or kind(object) == "string" and string[name]
    if known and is_method(object, name) then
        return call(target .. ":" .. name, arguments(args, of, op and name))
    end
    local base = name:match "^(.*)_$"
    if base and methods[base] and not methods[name] and kind(object) ~= "table" then
        local same = elsewhere.keyword[base] or base
        return ("%s = %s"):format(target, call(target .. ":" .. same,
            arguments(args, parameters(base, true), base))), 0
    end
    return call(target .. "." .. name, arguments(args, {}, nil))
end

-- Python's functions that take a text as a list of its characters.
local of_sequences = {}
for name in ("sum any all list tuple sorted reversed map filter max min"):gmatch "%a+" do
    of_sequences[name] = true
end

-- The op whose arguments the layer's are, where they count labels or indices.
local function labels_of(f)
    local layer = translate.layer(f)
    return (layer:find "CrossEntropyLoss$" or layer:find "NLLLoss$") and "nll_loss"
        or layer:find "Embedding$" and "embedding"
end

-- The call of a function by its name, of a package or Python's own.
local function named_call(node, full)
    local args, last = node[3], full:match "[%w_]*$"
    if (full == "max" or full == "min") and args[1] and args[1][1] == "star" then
        args = { { "list", table.unpack(args) } }
    end
    if (last == "eq" or last == "ne") and args[1] and translate.is_index(args[1]) then
        return method_call { "call", { "field", args[1], last }, { table.unpack(args, 2) } }
    elseif of_sequences[full] then args = translate.sequences(args) end
    local own = require "shell.builtins"[elsewhere.keys(full)[1]]
    if own then
        local text, level = own(args)
        if text then return text, level end
    end
    local free = value_of(full:match "^[%a_][%w_]*") == nil or elsewhere.builtin[full]
        or gpush[full:match "^[%a_][%w_]*"] ~= nil
    for _, key in ipairs(free and elsewhere.keys(full) or {}) do
        local text, level = by_form(key, args)
        if text then return text, level end
    end
    if elsewhere.indices(last) == 1 then note(translate.COUNT) end
    local package = elsewhere.is_package(full, value_of)
    local name = package and elsewhere.name(full) or not package and full
    if not name and methods[last] and args[1] then -- torch.exp_(x)
        return call(emit(args[1], 14) .. ":" .. last, arguments({ table.unpack(args, 2) },
            parameters(last:gsub("_$", ""), true)))
    end
    if not name then say(elsewhere.advice(full)) end
    local of, op = parameters((name:gsub("^(%a+)%.", "%1_")), false)
    if not op then of, op = parameters(name, false) end
    local layer = not package and labels_of(node[2])
    if layer then return call(name, arguments(args, parameters(layer), layer)) end
    if elsewhere.counted[name] then of = elsewhere.counted[name] end
    of.of_lists = elsewhere.keys(full)[2] ~= nil -- NumPy's functions take lists and numbers
    local head = name:match "^[%a_][%w_]*"
    local own = package and rawget(_G, head)
    if own and gpush[head] ~= nil and not rawequal(own, gpush[head]) then -- a user's variable
        return call("gpush." .. name, arguments(args, of, op and name))
    end
    return call(name, arguments(args, of, op and name, not package))
end

function write.call(node)
    local f, args = node[2], node[3]
    if args[1] and args[1][1] == "comprehension" and #args == 1 and f[1] == "name" then
        local text = require "shell.loops".over(f[2], args[1])
        if text then return text end
    end
    local pair, level = require "shell.complex".call(node)
    if pair then return pair, level end
    local full = path(f)
    if full and (f[1] == "name" or elsewhere.is_package(full, value_of)) then
        return named_call(node, full)
    end
    for _, key in ipairs(full and elsewhere.keys(full) or {}) do
        local text, level = by_form(key, args)
        if text then return text, level end
    end
    if f[1] == "field" or f[1] == "method" then return method_call(node) end
    local op = labels_of(f)
    return call(emit(f, 14), arguments(args, op and parameters(op) or {}, op))
end
