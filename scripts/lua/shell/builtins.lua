--!plain
-- Writes calls of Python's own functions, and of arange, in Lua, for calls.lua: those whose
-- arguments are more than values, and so need more than a row of rows.lua. By the name:
-- function(args) -> text, how tightly it binds; nil where a row or another form does.
local require = ...
local gpush = require "gpush"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, kind, path, say = translate.expression, translate.kind, translate.path, translate.say
local literal, plus = require "shell.counts".literal, require "shell.counts".plus
local value_of, batches = translate.value, require "shell.loops.batches"

local infinite = { inf = "math.huge", ["-inf"] = "-math.huge", nan = "0/0" }

local functions = {}
-- max and min of several values, numbers or tensors of one element, and of a list of texts.
local function extreme(name)
    return function(args)
        local list, first = args[1], args[1][1] == "name" and value_of(args[1][2])
        for _, a in ipairs(args) do if a[1] == "named" then return nil end end
        if #args == 1 and require "shell.loops".element(list) == "string" then
            local v = { "name", "v" }
            return emit { "call", { "name", name }, { { "comprehension", "list", v,
                loops = { { targets = { v }, over = list } } } } }
        end
        if #args > 1 and kind(list) == "table" then say "lists are not compared in Lua" end
        if #args < 2 or gpush.is_tensor(first) and first.ndim > 0 then return nil end
        return ("math.%s(%s)"):format(name, table.concat(translate.arguments(args, {}), ", "))
    end
end
functions.max, functions.min = extreme "max", extreme "min"

-- round(x, n): n may be negative, or a variable.
function functions.round(args)
    local digits = args[2] and (args[2][1] == "named" and args[2][3] or args[2])
    if not digits or kind(args[1]) == "tensor" then return nil end
    local n = literal(digits) or digits[1] == "name" and value_of(digits[2])
    if math.type(n) == "integer" and n < 0 then
        local unit = 10 ^ -n // 1 | 0
        return ('tonumber(("%%.0f"):format(%s / %d)) * %d'):format(emit(args[1], 10), unit,
            unit), 10
    end
    return ('tonumber((%s):format(%s))'):format(literal(digits) and ('"%%.%df"'):format(n)
        or ('"%%." .. %s .. "f"'):format(emit(digits, 9)), (emit(args[1])))
end

function functions.slice(args)
    if kind(args[1]) ~= "tensor" and kind(args[1]) ~= nil then
        say "a range stands in the index: x[\"1:3\"]"
    end
end

local prefixes <const> = { ["2"] = "bB", ["8"] = "oO", ["16"] = "xX" }
-- int(text, base): Python's text may begin with 0x.
function functions.int(args)
    local base = args[2] and emit(args[2][1] == "named" and args[2][3] or args[2])
    if not base then return nil end
    local text = emit(args[1], 14)
    if prefixes[base] and (args[1][1] ~= "string" or args[1][2]:find "^0%a") then
        text = ('(%s:gsub("^0[%s]", ""))'):format(text, prefixes[base])
    end
    return ("math.tointeger(tonumber(%s, %s))"):format(text, base)
end

function functions.isinstance(args)
    local types = args[2][1] == "tuple" and { table.unpack(args[2], 2) } or { args[2] }
    for i, t in ipairs(types) do types[i] = elsewhere.kind(emit(args[1], 14), path(t) or "") end
    return table.concat(types, " or "), #types > 1 and 1 or 3
end
function functions.float(args)
    local of = args[1] or {}
    local whole = of[1] == "name" and kind(of) == "number"
        and (translate.of_loop(of[2]) or math.type(value_of(of[2])) == "integer")
    if whole then return emit(of, 9) .. " + 0.0", 9 end
    local number = of[1] == "string" and infinite[of[2]:lower()]
    return number, number == "0/0" and 10 or 11
end

-- A list of what a loop gives: list(zip(a, b)), dict(zip(a, b)).
local function looped(kind_of, names)
    return function(args)
        local over = args[1]
        local f = over and over[1] == "call" and over[2]
        local name = f and (f[1] == "name" and f[2] or f[1] == "field" and f[3])
        if not names[name] then return nil end
        local targets = {}
        for i = 1, name == "zip" and #over[3] or names[name] do
            targets[i] = { "name", string.char(96 + i) } -- a, b …
        end
        local node = { "comprehension", kind_of, loops = { { targets = targets, over = over } } }
        if kind_of == "dict" then node[3], node[4] = targets[1], targets[2]
        else node[3] = targets[2] and { "tuple", table.unpack(targets) } or targets[1] end
        return (emit(node))
    end
end
local list_of = looped("list", { reversed = 1, named_parameters = 2, named_buffers = 2,
    named_modules = 2, named_children = 2 })
function functions.list(args)
    if args[1] and batches.loader(args[1]) then return batches.list(args[1]) end
    local text, k = list_of(args), args[1] and args[1][1]
    if text or k == nil or k == "name" or k == "field" then return text end
    return kind(args[1]) == "table" and (emit(args[1])) or nil -- which is new
end
local LISTS <const> = "table.sort(t, function(a, b) %sfor k = 1, #a do if a[k] ~= b[k] then \z
    return a[k] < b[k] end end return false end)"

-- sorted of a list of lists, zip(a, b) or d.items(), and by keys of several values: by the first
-- values that differ; where the keys are equal, in the order of the list.
function functions.sorted(args)
    local by = {}
    for i = 2, #args do by[args[i][2]] = args[i][3] end
    local backwards = by.reverse and by.reverse[2] ~= "false" and "a, b = b, a " or ""
    local sort, own = LISTS:format(backwards), "t a b k i v key"
    if by.key and by.key[1] == "lambda" and by.key[3][1] == "tuple" then
        by.key[2][1].of = require "shell.loops".element(args[1])
        return translate.renamed("(function() local t = {} for i, v in ipairs(%s) do local key = \z
            (%s)(v) key[#key + 1], key.value = %si, v t[i] = key end " .. sort .. " for i, key in \z
            ipairs(t) do t[i] = key.value end return t end)()", own):format(emit(args[1]),
            emit(by.key), backwards ~= "" and "-" or "")
    end
    if by.key or require "shell.loops".element(args[1]) ~= "table" then return nil end
    return translate.renamed("(function() local t = {table.unpack(%s)} " .. sort
        .. " return t end)()", own):format((emit(args[1])))
end
function functions.range(args)
    if not args[3] then return nil end
    local step = emit(args[3])
    return translate.renamed("(function() local t = {} for i = %s, %s, %s do t[#t + 1] = i end \z
        return t end)()", "t i"):format(emit(args[1]),
            plus(args[2], step:find "^%-" and 1 or -1, true),
        step)
end
functions.set = looped("set", {})
function functions.divmod(args)
    if #args ~= 2 then return nil end
    local a, b = table.unpack(args)
    return emit { "list", { "binary", "//", a, b }, { "binary", "%", a, b } }
end
function functions.filter(args)
    local f = args[1]
    local lambda = f[1] == "lambda" and #f[2] == 1 and not f[2][1].star
    if f[1] ~= "constant" and not lambda then return nil end
    local v = { "name", lambda and f[2][1][1] or "v" }
    return (emit { "comprehension", "list", v,
        loops = { { targets = { v }, over = args[2], cond = lambda and f[3] or v } } })
end

for _, name in ipairs { "np.argmax", "np.argmin" } do -- of a mask
    functions[name] = function(args)
        if not args[1] or not translate.is_mask(args[1]) then return nil end
        local numbers = { "call", { "field", { "paren", args[1] }, "int" }, {} }
        return emit { "call", { "name", name }, { numbers, table.unpack(args, 2) } }
    end
end

functions["np.array"] = function(args)
    if args[1] and require "shell.loops".element(args[1]) == "string" then
        say "tensors hold numbers: texts stay in a table"
    end
end

functions["np.random.choice"] = function(args) -- of texts, which tensors do not hold
    local last = args[#args]
    if last[2] == "replace" and last[3][2] == "false" and kind(args[1]) == "number" then
        local n = args[2][1] == "named" and args[2][3] or args[2]
        return ("randperm(%s):narrow(1, 1, %s) - 1"):format(emit(args[1]), (emit(n))), 9
    end
    local n = args[2] and (args[2][1] == "named" and args[2][2] == "size" and args[2][3] or args[2])
    if not n or #args > 2 or require "shell.loops".element(args[1]) ~= "string" then return nil end
    local call = { "call", { "name", "random.choice" }, { args[1] } }
    return (emit { "comprehension", "list", call, loops = { { targets = { { "name", "_" } },
        over = { "call", { "name", "range" }, { n } } } } })
end

-- NumPy's means of whole numbers and masks have fractions.
local function average(name)
    return function(args)
        local of = args[1] and args[1][1] ~= "named" and translate.wide(args[1])
        if not of or of == args[1] then return nil end
        return emit { "call", { "name", name }, { of, table.unpack(args, 2) } }
    end
end
for name in ("mean median nanmedian std var average quantile percentile histogram"):gmatch "%a+" do
    functions["np." .. name] = average("np." .. name)
end
function functions.len(args)
    local e = args[1]
    if e and translate.is_argv(e) then return "#arg + 1", 9 end
    if e and e[1] == "call" and path(e[2]) == "set" then
        return "#" .. emit(translate.sequences(args)[1]), 11
    end
    local all = e and e[1] == "call" and path(e[2]) == "list" and e[3][1]
    if all and batches.loader(all) then return "#" .. emit(batches.loader(all), 14), 11 end
    if e and translate.is_sample(e) then return ('select("#", %s)'):format((emit(e))) end
    local part = e and e[1] == "call" and e[2][1] == "field" and #e[3] == 0 and e[2][3]
    if part == "keys" or part == "values" or part == "items" then e = e[2][2]
    elseif not e or not require "shell.loops".is_dict(e) then return nil end
    return translate.renamed("(function() local n = 0 for _ in pairs(%s) do n = n + 1 end \z
        return n end)()", "n"):format((emit(e)))
end
functions.tuple = functions.list

local pairs_as_dict = looped("dict", { zip = 2, items = 2, named_parameters = 2,
    named_buffers = 2, named_modules = 2, named_children = 2 })
-- dict(d, a = 1), dict(**d), dict(zip(a, b))
function functions.dict(args)
    local out, text = { "table" }, args[1] and pairs_as_dict(args)
    if text then return text end
    if #args == 1 and require "shell.loops".element(args[1]) == "table" then
        local p = { "name", translate.unused "p" }
        return (emit { "call", { "name", "dict" }, { { "comprehension", "list", p,
            loops = { { targets = { p }, over = args[1] } } } } })
    end
    for _, a in ipairs(args) do
        if a[1] == "named" then
            out[#out + 1] = { "key", { "string", a[2], prefix = "", quote = '"' }, a[3] }
        elseif a[1] == "options" or kind(a) == "table" then
            out[#out + 1] = { "options", a[1] == "options" and a[2] or a }
        else return nil end
    end
    return emit(out)
end

functions["copy.deepcopy"] = function(args)
    local v = args[1][1] == "name" and value_of(args[1][2])
    if kind(args[1]) ~= "table" or v and getmetatable(v) then return nil end
    return translate.renamed('(function() local function copy(t) local r = {} for k, v in \z
        pairs(t) do r[k] = type(v) == "table" and copy(v) or v end return r end \z
        return copy(%s) end)()', "copy t r k v"):format((emit(args[1])))
end

function functions.getattr(args)
    local name = args[2][1] == "string" and #args == 2 and path(args[1]) and args[2][2]
    if name then return emit { "field", args[1], name } end
end

-- Julia's sum(abs2, A), a function of each element and the array, sum(A) and maximum(A), of all;
-- nil of other calls.
local function reduced_by(name)
    return function(args)
        local f, of = args[1], args[2]
        local own = ({ maximum = "max", minimum = "min" })[name] or name
        if #args == 1 and translate.language() and kind(f) == "tensor" then
            return emit(f, 14) .. (":%s()"):format(own)
        end
        local op = f and (f[1] == "lambda" or f[1] == "name" and kind(f) ~= "tensor"
            and kind(f) ~= "table" and (f[2] == "abs2" or elsewhere.ops()[f[2]]))
        if not op or not of or of[1] == "named" or kind(of) == "number" then return nil end
        local each = { "call", f[1] == "lambda" and { "paren", f } or f, { of } }
        if kind(of) == "table" then -- a list of numbers
            each[3][1] = { "raw", translate.made_tensor(of, "i64"), kind = "tensor" }
        end
        if own ~= name and #args == 2 then return emit(each, 14) .. (":%s()"):format(own) end
        return emit { "call", { "name", name }, { each, table.unpack(args, 3) } }
    end
end
for name in ("prod mean maximum minimum any all"):gmatch "%a+" do
    functions[name] = functions[name] or reduced_by(name)
end
local sum_by = reduced_by "sum"

-- A list of numbers, whose sum is a tensor's; other lists, as of tensors, have a row.
function functions.sum(args)
    local list, by = args[1], sum_by(args)
    if by then return by end
    local v = list[1] == "name" and value_of(list[2])
    local first = type(v) == "table" and type(v[1])
        or (list[1] == "list" or list[1] == "table") and list[2]
        and kind(list[2][1] == "item" and list[2][2] or list[2])
    if #args > 1 or first ~= "number" and first ~= "boolean" then return nil end
    return ("tensor(%s):sum():item()"):format((emit(list)))
end

-- zip(*rows), rows as columns
function functions.zip(args)
    if args[1][1] ~= "star" or #args > 1 then return nil end
    return translate.renamed("(function(t) local r = {} for i = 1, #t[1] do r[i] = {} \z
        for k, v in ipairs(t) do r[i][k] = v[i] end end return r end)(%s)", "t r i k v"):format(
        (emit(args[1][2])))
end
function functions.next(args)
    local e = args[1]
    local batch = batches.next { "call", { "name", "next" }, args }
    if batch then return "{" .. batch .. "}", 13 end
    local made = translate.origin(e)
    local iterator = made ~= e and made[1] == "call" and path(made[2]) == "iter"
    if #args == 1 and (iterator or kind(e) == "function") then return emit(e, 14) .. "()" end
    if e[1] ~= "call" then return nil end
    local iterated = path(e[2]) == "iter" and kind(e[3][1]) == "table" and e[3][1]
        or e[2][3] == "parameters" and e
    if iterated and require "shell.loops".is_dict(iterated) then
        return ("(next(%s))"):format((emit(iterated)))
    end
    return iterated and emit(iterated, 14) .. "[1]" or nil
end

function functions.iter(args)
    local loader = batches.loader(args[1])
    if loader then return emit(loader, 14) .. "()" end
    if kind(args[1]) ~= "table" or #args > 1 then return nil end
    return translate.renamed("coroutine.wrap(function() for _, v in ipairs(%s) do \z
        coroutine.yield(v) end end)", "v"):format((emit(translate.sequences(args)[1])))
end

-- A data set of the samples whose numbers, from 0, are given.
functions["data.Subset"] = function(args)
    if #args ~= 2 or args[2][1] == "named" then return nil end
    local list = require "shell.counts".raised(args[2])
    if not list then translate.note(require "shell.counts".COUNT) end
    return ("data.Subset(%s, %s)"):format(emit(args[1]), (emit(list or args[2])))
end

local function whole_number(node)
    local v = node[1] == "name" and value_of(node[2])
    return not (math.type(v) == "float" or node[1] == "number" and not literal(node))
end

-- The last element of the range from a to b, which is exclusive.
local function last_of(a, b, step)
    local x, y, s = a and tonumber(emit(a)) or not a and 0, tonumber(emit(b)), step and
        tonumber(emit(step)) or not step and 1
    if x and y and s then
        local n = math.ceil((y - x) / s)
        local last = x + (n - 1) * s
        if math.type(x + y + s) == "integer" then return tostring(last) end -- else of floats
        return last % 1 == 0 and s % 1 == 0 and ("%.1f"):format(last)
            or ("%.10g"):format(last + s / 2)
    end
    if not s or s ~= math.floor(s) or not whole_number(b) or a and not whole_number(a) then
        say "arange includes its last number: arange(first, last, step)"
    end
    return (plus(b, s < 0 and 1 or -1, true))
end

-- NumPy's linspace without its end: one number more, and that left out.
functions["np.linspace"] = function(args)
    local list, ends = {}, nil
    for _, a in ipairs(args) do
        local at = a[1] ~= "named" and #list + 1 or ({ start = 1, stop = 2, num = 3 })[a[2]]
        local value = a[1] == "named" and a[3] or a
        if at == 4 or a[2] == "endpoint" then ends = value
        elseif at then list[at] = value
        else return nil end
    end
    if not ends then return nil end
    local function call(num)
        return emit { "call", { "name", "linspace" }, { list[1], list[2], num } }
    end
    local num = list[3] or { "number", "50" }
    local without = call({ "raw", (plus(num, 1)) }) .. '["1:-2"]'
    if ends[1] ~= "constant" then
        return emit { "choice", { "raw", (call(num)), kind = "tensor" }, ends,
            { "raw", without, kind = "tensor" } }
    end
    return ends[2] == "false" and without or call(num)
end

-- NumPy's functions of two numbers, which ops of tensors do not take.
for name, form in next, { hypot = "(%s ^ 2 + %s ^ 2) ^ 0.5", maximum = "math.max(%s, %s)",
    fmax = "math.max(%s, %s)", minimum = "math.min(%s, %s)",
    fmin = "math.min(%s, %s)" } do
    functions["np." .. name] = function(args)
        if #args ~= 2 or kind(args[1]) ~= "number" or kind(args[2]) ~= "number" then return nil end
        local power = name == "hypot"
        local a, b = emit(args[1], power and 13), emit(args[2], power and 13)
        return form:format(a, b), power and 12 or 14
    end
end

functions["torch.set_float32_matmul_precision"] = function(args)
    local level = args[1][1] == "named" and args[1][3] or args[1]
    if level[1] ~= "string" then return nil end
    translate.note "of a card"
    return ("cuda.tf32(%s)"):format(level[2] ~= "highest")
end

-- autocast's dtype where none is given: f16 on a card, bf16 on the processor.
local function autocast(args)
    local device, enabled = nil, nil
    for i, a in ipairs(args) do
        local key = a[1] == "named" and a[2] or i == 1 and "device_type"
        if key == "device_type" then device = a[1] == "named" and a[3] or a
        elseif key == "enabled" then enabled = a[3]
        else return nil end
    end
    if not device then return nil end
    local known = device[1] == "string" and device[2]
    local dtype = known and (known:find "^cpu" and '"bf16"' or '"f16"')
        or emit(device, 4) .. ' == "cpu" and "bf16" or "f16"'
    if not enabled then return ("autocast(%s)"):format(dtype) end
    return ("autocast{dtype = %s, enabled = %s}"):format(dtype, (emit(enabled)))
end
functions["torch.autocast"], functions["torch.amp.autocast"] = autocast, autocast

-- A module stays one in PyTorch; here a function of it is compiled, under another name.
local function compiled(by)
    return function(args)
        local of = args[1] and args[1][1] == "name" and args[1]
        local v = of and value_of(of[2])
        local layer = of and translate.layer(of):find "nn%.%u"
        if not (layer or gpush.nn.is_module(v)) then return nil end
        say(("step = %s(function(x) return %s(x) end)  -- %s stays the module"):format(by, of[2],
            of[2]), "line")
    end
end
functions["torch.compile"], functions["torch.jit.script"] = compiled "fuse", compiled "fuse"
functions["torch.jit.trace"] = compiled "capture"

-- Unlike no_grad() by itself, it holds from here on in PyTorch, too.
functions["torch.set_grad_enabled"] = function(args)
    local on = args[1][1] == "named" and args[1][3] or args[1]
    if on[1] == "constant" then return on[2] == "false" and "no_grad()" or "enable_grad()" end
    return ("(%s and enable_grad or no_grad)()"):format(emit(on, 2))
end

-- arange and range of PyTorch and NumPy.
local function arange(args)
    local list, named, options = {}, {}, nil
    for _, a in ipairs(args) do
        local at = a[1] == "named" and ({ start = 1, ["end"] = 2, stop = 2, step = 3 })[a[2]]
        if at then list[at] = a[3]
        elseif a[1] == "named" then named[#named + 1] = a
        elseif a[1] == "table" then options = emit(a) -- Lua's
        else list[#list + 1] = a end
    end
    if not list[1] and not list[2] then return nil end
    if not list[2] then list = { nil, list[1] } end
    local out = { list[1] and emit(list[1]) or "0", last_of(list[1], list[2], list[3]) }
    out[3] = list[3] and emit(list[3])
    out[#out + 1] = options or translate.arguments(named, {})[1]
    return "arange(" .. table.concat(out, ", ") .. ")"
end
functions["torch.arange"], functions["np.arange"], functions.arange = arange, arange, arange
for name, f in next, require "shell.calls.einops" do functions[name] = f end

return functions
