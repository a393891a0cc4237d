--!plain
-- Writes the arguments of calls in Lua, for calls: the signature of an op says which is a dim, an
-- index or a shape, which options there are, and which arguments must be given.
local require = ...
local gpush, registry = require "gpush", require "registry"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, say, note = translate.expression, translate.kind, translate.say, translate.note
local path = translate.path
local counts, known = require "shell.counts", require "shell.known"
local position, dims, shifted = counts.position, counts.dims, counts.shifted

local renamed, seconds = registry["gpush.typed_options"].any, registry["gpush.second_options"]
local roles = { ignore_index = position, padding_idx = position, blank = position,
    start = position, index = shifted, dim = dims, dims = dims, first = position, last = position }

-- The op that a name of the library stands for: a second name has the same function.
local function op_of(name)
    local ops, fn = elsewhere.ops(), rawget(gpush, name)
    if ops[name] or not fn then return name end
    for op in pairs(ops) do
        if rawequal(rawget(gpush, op), fn) then return op end
    end
    return name
end

-- The types and names of the parameters of the op, {kind, name}; a method's without the first.
local function parameters(name, method)
    local op, out = elsewhere.ops()[op_of(name)], {}
    for kind, maybe, parameter, default in
        (op and op.sig or ""):gmatch "(%a+)([!?]*) ([%w_]+)(=?)" do
        out[#out + 1] = { kind, parameter, needed = maybe ~= "?" or default == "=",
            required = maybe ~= "?" and default == "" }
    end
    if method then table.remove(out, 1) end
    out.all, out.options = op ~= nil, op and op.options
    return out, op
end

-- Parameters that are indices or labels, which count from 1 here.
local of_labels = { cross_entropy = "target", nll_loss = "target", multi_margin_loss = "target",
    multilabel_margin_loss = "target", ctc_loss = "targets", one_hot = "x", bincount = "x",
    embedding_bag = "input offsets", take_along_dim = "indices", unravel_index = "indices",
    gather_nd = "indices", max_unpool1d = "indices", max_unpool2d = "indices",
    max_unpool3d = "indices" }
local function is_label(op, name)
    return name == "index" or (of_labels[op] or ""):find("%f[%w]" .. name .. "%f[%W]") ~= nil
end

local function each(f, node) return "{" .. translate.joined(node, f, 2) .. "}" end

-- Whether the value is an integer, or a list of them as deep as it goes, in the line or a variable.
local function whole(node)
    local of = known.bare(node)
    if translate.is_shape(of) then return true end
    if of[1] ~= "list" and of[1] ~= "tuple" then
        local v = of[1] == "name" and translate.value(of[2])
        while type(v) == "table" and getmetatable(v) == nil do v = v[1] end
        return known.number(of) ~= nil or math.type(v) == "integer"
    end
    for i = 2, #of do if not whole(of[i]) then return false end end
    return #of > 1
end

local function of_truth(node)
    return node[1] == "constant" or (node[1] == "list" or node[1] == "tuple") and node[2] ~= nil
        and of_truth(node[2])
end

-- Whether NumPy has integers in it: an array of such a list or range, or a variable of integers.
local function whole_array(node)
    local of = known.bare(node)
    local name = of[1] == "call" and elsewhere.keys(path(of[2]) or "")[1]
    if name == "np.array" or name == "np.asarray" then return #of[3] == 1 and whole(of[3][1]) end
    if name == "np.arange" then
        for _, a in ipairs(of[3]) do if not whole(a) then return false end end
        return true
    end
    local f = of[1] == "call" and of[2]
    if of[1] == "index" or of[1] == "field" and of[3] == "T" then return whole_array(of[2]) end
    if f and f[1] == "field" and (elsewhere.ops()[f[3]] or {}).kind == "view" then
        return f[3] ~= "to" and whole_array(f[2])
    end
    local v = of[1] == "name" and translate.value(of[2])
    return gpush.is_tensor(v) and v.dtype:find "^[iu]%d" ~= nil
end
translate.whole_array = whole_array

local fractions = { cov = true, corrcoef = true, heaviside = true, trapezoid = true, trapz = true }
-- Whether integers stay ones: where the op takes none, or gives fractions, they are f64 in NumPy.
local function takes_whole(op)
    if fractions[op] then return false end
    local row = elsewhere.ops()[op_of(op or "")] or elsewhere.ops()[(op or ""):gsub("%.", "_")]
    return row ~= nil and (row.dtypes or ""):match "^[^;]*":find "i64" ~= nil
end

local of_floats = { float = true, double = true, half = true, bfloat16 = true }
local of_integers = { long = true, int = true, short = true, bool = true, one_hot = true }
local of_fractions = { zeros = true, ones = true, rand = true, randn = true, eye = true }
-- Whether the value has fractions, as the probabilities that cross_entropy takes for labels.
local function is_soft(node)
    node = known.bare(node)
    local k, f = node[1], node[2]
    if k == "number" then return f:find "[.eE]" ~= nil and not f:find "^0[xX]" end
    if k == "list" or k == "tuple" then
        for i = 2, #node do if is_soft(node[i]) then return true end end
        return false
    end
    if k == "binary" then return f == "/" or is_soft(node[3]) or is_soft(node[4]) end
    if k == "unary" then return is_soft(node[3]) end
    if k == "index" then return is_soft(f) end
    local v = known.value(node)
    if k ~= "call" then
        return math.type(v) == "float" or gpush.is_tensor(v) and v:is_floating_point()
    end
    for _, a in ipairs(node[3]) do
        local dtype = (a[1] == "named" and a[2] == "dtype" or f[3] == "to")
            and path(a[1] == "named" and a[3] or a)
        if dtype and dtype:find "^torch%." then
            return dtype:find "float" ~= nil or dtype:find "double$" ~= nil
        end
    end
    local full = path(f)
    local package = full and elsewhere.is_package(full, translate.value)
    local name = package and elsewhere.canonical(full) or f[3]
    if not name or of_integers[name] then return false end
    if of_floats[name] then return true end
    local of = not package and f[2] or node[3][1]
    local row = elsewhere.ops()[op_of(name)]
    if package and of_fractions[name] or row and row.dtypes and not takes_whole(name) then
        return true
    end
    return of ~= nil and elsewhere.indices(name) ~= 1 and is_soft(of)
end

-- The target of cross_entropy: probabilities are no labels.
local function target(node) return (is_soft(node) and emit or translate.beside_index)(node) end

-- The dtype of the tensors that NumPy makes of the lists and numbers among the arguments of an op,
-- or of a row's text.
local function made_dtype(args, op, text)
    local wide = false
    for _, a in ipairs(args) do
        local v = a[1] == "named" and a[3] or a
        local k = kind(v)
        if k == "tensor" and not whole_array(v) then return "f32" end -- as what else is made here
        local list = k == "table" and v[2] and kind(v[2]) == "tensor"
        local number = (k == "table" or k == "number") and not of_truth(v)
        wide = wide or list or number and not whole(v)
    end
    if wide then return "f64" end
    if op then return takes_whole(op) and "i64" or "f64" end
    if not text then return "i64" end -- of a function that is no op
    for name in text:gmatch "%f[%w_]([%l_][%w_.]*)[({]" do
        local known = elsewhere.ops()[name] or elsewhere.ops()[name:gsub("%.", "_")]
        if known and not takes_whole(name) then return "f64" end
    end
    return text:find "[^/]/[^/]" and "f64" or "i64"
end
translate.made_dtype = made_dtype

-- A list of numbers, or of booleans, as the tensor that NumPy makes of it.
local function made_tensor(node, dtype)
    local text = emit(node)
    if kind(node) == "tensor" then return text end
    if dtype ~= "i64" and not of_truth(node) then
        return ('tensor(%s, {dtype = "%s"})'):format(text, dtype)
    end
    return "tensor" .. (text:find "^%b{}$" and text or "(" .. text .. ")")
end
translate.made_tensor = made_tensor
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
        or op == "as_strided" and name == "offset" then
        return position
    end
    if op == "cross_entropy" and name == "target" then return target end
    if k == "tensor" and is_label(op, name) then
        return translate.beside_index
    end
    return k == "int" and roles[name] or nil
end

-- The op's parameter that is meant by the name: its own, a second one, dims where it has a dim.
local dim_names = { dim = "dims", dims = "dim", axis = "dims", axes = "dims" }
local function parameter_of(name, of, op)
    local any, own = seconds.any, seconds[op] or {}
    for _, p in ipairs(of) do if p[2] == name then return p, name end end
    for _, p in ipairs(of) do
        local key = name .. " " .. p[2]
        local listed = (" " .. (of.options or "") .. " "):find((" %s=%s "):format(p[2], name), 1,
            true)
        if any[key] or own[key] or listed then return p, name end
        if p[2] == dim_names[name] then return p, p[1] == "dims" and name or p[2] end
    end
end

-- What the option is called here.
local function option_name(key, op)
    return (elsewhere.options[op] or renamed)[key] or renamed[key] or key
end

-- Options of functions that make tensors, and those that the hint of an error answers.
local common = { dtype = true, device = true, requires_grad = true, unbiased = true }

local function option(key, value, op, of)
    local none = value[1] == "constant" and value[2] == "nil"
    if key == "momentum" and none then return "momentum = false" end -- an entry of nil is absent
    local name, f = option_name(key, op), nil
    local parameter, accepted = parameter_of(name, of or {}, op)
    if parameter then
        name, f = accepted, role(parameter, op) or emit
        if parameter[1] == "tensor" and kind(value) == "number" then
            say(("%s of %s is a tensor here"):format(key, op))
        end
        if f == dims and none and parameter.needed then say(counts.FLAT) end
        local keeps = parameter_of("keepdim", of)
        if key == "dims" and f == dims and (keeps or parameter[2] == "dim") then -- Julia's, from 1
            return "dim = " .. emit(value) .. (keeps and ", keepdim = true" or "")
        end
    elseif of and of.all and op and not common[name] and not elsewhere.needless[name] then
        say(("%s has no option %s: help %q"):format(op, key, op))
    end
    if f == dims and translate.counted() then note(counts.DIMS) end
    f = f or name:find "^dims?%d?$" and dims or name:find "_dim$" and dims or name == "index"
        and shifted or name ~= "start" and name ~= "first" and name ~= "last" and roles[name]
    local text = (name == "device" and translate.device or name == "dtype" and translate.dtype or f
        or emit)(value)
    if name == "unbiased" and op then name = "unbiased" end
    return load(("return {%s = 1}"):format(name)) and ("%s = %s"):format(name, text)
        or ('["%s"] = %s'):format(name, text)
end

translate.option = option

local OPTIONS <const> = "options stand in one table at the end: f(x, {dim = 1})"

local of_tensors = { tensors = true, varargs = true } -- types of lists of tensors

-- The arguments with those of f(*[a, b]) in place, and cat(tensors=[a, b])'s.
local function spliced(args, of)
    local out = {}
    for _, a in ipairs(args) do
        local tensors = a[1] == "named" and a[2] == "tensors" and of[1] and of_tensors[of[1][1]]
        if tensors then a = a[3] end
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
            for k, text in ipairs(list) do
                local inner = text:match "^table%.unpack(%b())$"
                whole[k + 1] = inner and { "star", { "raw", inner:sub(2, -2) } } or { "raw", text }
            end
            if #list < #args then say(OPTIONS) end
            return { emit { "star", whole } }
        end
    end
    return list
end

-- *list where its numbers are dims or indices.
local function starred(node)
    return { "star", counts.raised(node[2], counts.DIMS)
        or say "dims and indices in the list count from 1" }
end

-- Whether NumPy makes an array of what stands for the parameter.
local function is_array(node, parameter, op)
    local of, k = parameter and parameter[1], kind(node)
    return of == "tensor" and (k == "number" or k == "table")
        or (of == "operand" or (of == "varargs" or of == "value" and op == "einsum") and node[2]
        and kind(node[2]) ~= "tensor") and k == "table"
end

-- Raises words where a parameter of the op has no argument; true: it is the dim of a vector.
local function check_all_given(args, of, op)
    if not of.all or not op then return end
    local given, n = {}, 0
    for _, a in ipairs(args) do
        if a[1] == "star" or a[1] == "options" then return end
        local p = a[1] == "named" and parameter_of(option_name(a[2], op), of, op)
        if p then given[p] = true elseif a[1] ~= "named" then n = n + 1 end
    end
    for i = n + 1, #of do
        if of[i].required and not given[of[i]] then
            local vector = args[1] and of[1][1] == "tensor" and known.rank(args[1]) == 1
            if vector and i == #args + 1 and of[i][1] == "dim" then return true end
            say(("%s needs %s: help %q"):format(op, of[i][2], op))
        end
    end
end

local function has_list(node)
    for i = 2, #node do if kind(node[i]) == "table" then return true end end
    return false
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
    args = spliced(args, of)
    local dtype = of.of_lists and made_dtype(args, op)
    local numbers = dtype and of[1] and of[1][1] == "operand" -- np.arctan2(1, 1)
    for _, a in ipairs(args) do numbers = numbers and kind(a) == "number" end
    for _, a in ipairs(args) do
        local needless = a[1] == "named" and op and elsewhere.needless[a[2]]
        if needless and not parameter_of(a[2], of, op) then note("nothing to give: " .. needless)
        elseif a[1] == "named" then named[#named + 1] = option(a[2], a[3], op, of)
        elseif a[1] == "options" then more = more and say(OPTIONS) or a
        else
            n = n + 1
            local rest = of.of_lists and #of > 0 and of[#of][1] == "varargs" and of[#of]
            local parameter = of[n] or variadic and #of == 1 and variadic or rest or nil
            local flat = args[1][1] ~= "tuple" and args[1][1] ~= "list"
            if flat and variadic and variadic[1] == "shape" then parameter = nil end
            local f = not counted and role(parameter, op)
            local of_type = op and a[1] == "name" and translate.dtype(a) ~= emit(a) -- zeros(3, int)
            if of_type then f = translate.dtype end
            local none = a[1] == "constant" and a[2] == "nil"
            if none and f == dims and parameter.needed then say(counts.FLAT) end
            if f and a[1] == "star" then a, f = starred(a), emit end
            local unbiased = a[1] == "constant" and a[2] ~= "nil" and parameter_of("correction", of)
            if unbiased then -- torch.var(x, False)
                named[#named + 1] = "unbiased = " .. a[2]
            elseif of.of_lists and (is_array(a, parameter, op) or numbers and n == 1) then
                local of_indices = f == shifted or f == translate.beside_index
                list[#list + 1] = not of_indices and made_tensor(a, dtype)
                    or kind(a) == "number" and ("tensor(%s)"):format(shifted(a)) or shifted(a)
            elseif of.of_lists and parameter and of_tensors[parameter[1]]
                and has_list(a) and kind(a) == "table" then
                list[#list + 1] = each(function(e) return made_tensor(e, dtype) end, a)
            elseif not f and dtype and kind(a) == "tensor" and whole_array(a)
                and not takes_whole(op) and parameter and parameter[1] == "tensor" then
                list[#list + 1] = emit({ "paren", a }, 14) .. ":double()"
            else list[#list + 1] = ((f or emit)(a)) end
        end
    end
    if check_all_given(args, of, op) then list[#list + 1] = "1" end
    list = unpacked_last(args, list)
    if more and #named > 0 then say(OPTIONS) end
    if more then list[#list + 1] = (emit(more)) end
    if #named > 0 then list[#list + 1] = "{" .. table.concat(named, ", ") .. "}" end
    return list
end

translate.arguments = arguments

return { arguments = arguments, parameters = parameters, role = role }
