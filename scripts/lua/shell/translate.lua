--!plain
-- Writes a parsed expression (parse/) in Lua: translate.with(scope, f, …) calls f, which may use
-- expression, condition and dim, and returns its results. scope.kind(name) is "number", "string",
-- "boolean", "table", "tensor", "function" or nil, what the variable holds; scope.value(name) its
-- value where it is known. What would mean something else in Lua raises {say = words}.
local require = ...
local gpush, registry = require "gpush", require "registry"
local elsewhere = require "shell.elsewhere"
local translate = {}

local scope, notes -- of the line that is being translated
local samples      -- values of loops' variables, where one is known
local loops        -- variables of its loops: what they are; a number: the first of them; "one":
                   -- numbers from 1 that count from 0 there
local told, made   -- kinds of the variables that the line sets, and their expressions
local of_one       -- those whose numbers count from 1 here and from 0 in Python
local write, emit, kind = {}, nil, nil
translate.write = write -- by a node's kind: function(node) -> text, how tightly it binds

-- code: the words are Lua; "power": a ^ of the line is one.
local function say(words, code) error({ say = words, code = code }, 0) end
translate.say = say

-- A name that the line does not have, for a variable of the hint's own.
function translate.unused(name)
    while scope.line:find("%f[%w_]" .. name .. "%f[^%w_]") do name = name .. "_" end
    return name
end

function translate.line() return scope.line end
function translate.nodes() return scope.nodes end

-- Whether the pattern is in the line, or in one above it.
function translate.above(pattern)
    return scope.line:find(pattern) ~= nil or scope.above(pattern)
end

-- Whether the name, or path, stands in the line once: what is assigned to it does not read it.
function translate.once(name)
    return name:find "^[%a_][%w_.]*$" and select(2, scope.line:gsub("%f[%w_]"
        .. name:gsub("%.", "%%.") .. "%f[^%w_]", "")) == 1
end

-- The text with its own variables, in a word each, renamed where the line has the name.
function translate.renamed(text, own)
    for name in own:gmatch "[%a_][%w_]*" do
        local free = translate.unused(name)
        if free ~= name then text = text:gsub("%f[%w_.:]" .. name .. "%f[^%w_]", free) end
    end
    return text
end

-- One note is shown: the first, or the last that matters more.
local function note(words, more) if more or not notes[1] then notes[1] = words end end
translate.note = note

-- The texts that f gives of the nodes of a list, from the nth on, with commas between.
local function joined(list, f, n)
    local out = {}
    for i = n or 1, #list do out[#out + 1] = (f(list[i])) end
    return table.concat(out, ", ")
end
translate.joined = joined

function translate.with(outer, f, ...)
    for _, name in ipairs { "operators", "texts", "indices", "calls" } do
        require("shell." .. name)
    end
    scope, notes, loops, told, made, of_one = outer, {}, {}, {}, {}, {}
    samples = {}
    local result = table.pack(pcall(f, ...))
    if not result[1] then
        if type(result[2]) == "table" then return nil, { result[2].say }, result[2].code end
        return nil, {}
    end
    return result[2], notes
end

-- The value of a variable, or a path such as w.grad, where it is known.
local function value_of(name)
    local head = name:match "^[%a_][%w_]*"
    if not head or loops[head] or told[head] then return nil end
    return scope.value(name)
end

translate.value = value_of

-- Whether an earlier line opened a file under the name, or set it to what NumPy makes.
local function earlier(name, ask) return not loops[name] and not told[name] and ask(name) end
function translate.is_file(name) return earlier(name, scope.is_file) end
function translate.is_array(name) return earlier(name, scope.is_array) end

function translate.told(name) return told[name] end

-- Whether the expression reads the variable.
local function reads(node, name)
    if node[1] == "name" and node[2] == name then return true end
    for _, part in next, node do
        if type(part) == "table" and reads(part, name) then return true end
    end
    return false
end

-- From here on the variable holds the value of the expression, nil if not known, of the kind; one:
-- its numbers count from 1 here.
function translate.tell(name, node, of, one)
    local function left(expression) -- where it reads the variable, whether it is a dict
        if not expression or not reads(expression, name) then return expression end
        return require "shell.loops".is_dict(expression) and { "table", { "key" } } or nil
    end
    node = left(node)
    told[name], made[name], of_one[name] = of or "unknown", nil, one or nil
    for other, expression in next, made do made[other] = left(expression) end
    made[name] = node
end

-- What the line sets the variable to; any other expression as it is.
function translate.origin(node)
    return node[1] == "name" and not loops[node[2]] and made[node[2]] or node
end

-- Whether the variable's numbers count from 1 here and from 0 in Python.
function translate.from_one(name)
    local of = loops[name]
    if of or told[name] then return of == "index" or of == "indices" or of_one[name] == true end
    return scope.from_one(name)
end

-- The class of layer that the expression is, as nn.NLLLoss(), or a variable of one.
function translate.layer(node)
    local known = node[1] == "name" and (made[node[2]] or value_of(node[2]))
    if known and not made[node[2]] then
        return gpush.nn.is_module(known) and gpush.nn.class_of(known) or ""
    end
    node = known or node
    return node[1] == "call" and translate.path(node[2]) or ""
end

-- Calls f while the names stand for the variables of a loop, of which the sample is a value.
function translate.looping(names, counts, f, sample)
    local before, known = {}, {}
    for _, n in ipairs(names) do
        before[n], known[n], loops[n], samples[n] = loops[n] or false, samples[n], counts, sample
    end
    local result = f()
    for n, old in next, before do loops[n], samples[n] = old or nil, known[n] end
    return result
end

-- A value of a loop's variable, or of a member of it.
function translate.sample(node)
    if node[1] == "name" then return samples[node[2]] end
    local key = node[1] == "index" and node[3][1]
    local of = key and key[1] == "string" and translate.sample(node[2])
    return type(of) == "table" and of[key[2]] or nil
end

-- ---- what a value is ----

local function set(words)
    local out = {}
    for word in words:gmatch "%S+" do out[word] = true end
    return out
end
local numbers = set "len int float abs round ord random.randint random.random random.uniform"
local of_number = set "item numel dim ndimension nelement element_size"
local listing = set "list tuple dict divmod sorted range map filter zip reversed"
local lists = set "tolist split chunk splitlines parameters children" -- methods
local methods = registry["gpush.tensor.methods"]

-- "torch.nn.Linear" of a chain of names; nil for any other expression.
local function path(node)
    if node[1] == "name" then return node[2] end
    local before = node[1] == "field" and path(node[2])
    return before and before .. "." .. node[3]
end
translate.path = path

-- x.shape or x.size()
local function is_shape(node)
    if node[1] == "field" then return node[3] == "shape" end
    return node[1] == "call" and node[2][1] == "field" and node[2][3] == "size" and #node[3] == 0
end
translate.is_shape = is_shape

-- Whether it is sys.argv, whose numbers count from 0 in Lua's arg, too.
function translate.is_argv(node)
    return node[1] == "field" and path(node) == "sys.argv" and value_of "sys" == nil
end

local function call_kind(node)
    if is_shape(node) then return "table" end
    local f, name = node[2], path(node[2])
    if name and numbers[name] then
        local tensor = (name == "abs" or name == "round") and kind(node[3][1]) == "tensor"
        return tensor and "tensor" or "number"
    end
    if name == "str" then return "string" end
    if name == "bool" then return "boolean" end
    if translate.is_split(node) then return "table" end
    if name == "next" and require "shell.loops.batches".next(node) then return "table" end
    if listing[name] then return "table" end
    local first = node[3][1] or {}
    if name == "pow" and kind(first) == "number" then return "number" end
    local own = f[1] == "name" and kind(first) ~= "tensor" and f[2] -- Python's
    if own == "any" or own == "all" then return "boolean" end
    if own == "max" or own == "min" or own == "sum" then
        local of = require "shell.loops".element(first)
        local one = of == "values" or of == "labels" or math.type(of) or first[1] ~= "comprehension"
            and node[3][2] and kind(first) == "number"
        local each = own ~= "sum" and (of == "table" or of == "string") and of
        return one and "number" or each or nil
    end
    local last = name and name:match "[^.]*$" or f[3]
    local asks = last == "isinstance" or last == "hasattr" or last == "callable"
    if asks or type(last) == "string" and last:find "^is_" then return "boolean" end
    local dict = last == "get" and #node[3] == 1 and first[1] == "string"
        and value_of(path(f[2]) or "")
    if type(dict) == "table" then return type(dict[first[2]]) end
    if f[1] == "method" or f[1] == "field" then
        local of = kind(f[2])
        if of_number[last] or last == "size" and #node[3] > 0 then return "number" end
        if lists[last] or last == "copy" and of == "table" then return "table" end
        if (last == "index" or last == "count") and of == "table" then return "number" end
        if of == "string" then
            return last:find "^is" and "boolean" or last:find "swith$" and "boolean"
                or (last == "find" or last == "index" or last == "count") and "number" or "string"
        end
        if last == "numpy" and #node[3] == 0 then return of or "tensor" end
        if methods[last] then return "tensor" end
    end
    local op = elsewhere.canonical(name or "")
    local form = name and (elsewhere.forms[elsewhere.keys(name)[1]] or {})[1] -- np.percentile
    if form and elsewhere.ops()[form.text:match "^([%l_]+)%("] then return "tensor" end
    return (elsewhere.ops()[op] or op == "tensor") and "tensor" or nil
end

local kinds = { number = "number", string = "string", list = "table", tuple = "table",
    table = "table", comprehension = "table", lambda = "function", call = call_kind,
    raw = function(node) return node.kind or "function" end }
function kinds.constant(node) return node[2] == "nil" and "nil" or "boolean" end
function kinds.name(node)
    local of = loops[node[2]] or told[node[2]]
    if not of then return scope.kind(node[2]) end
    if math.type(of) or of == "one" or of == "values" or of == "labels" then return "number" end
    if of == "indices" or of == "open" or of == "zeros" then return "tensor" end
    if of == "tensors" or of == "dict" then return "table" end
    return of ~= "unknown" and of or nil
end
function kinds.paren(node) return kind(node[2]) end
function kinds.walrus(node) return kind(node[3]) end
function kinds.compare(node)
    if node[3]:find "^is" then return "boolean" end
    for i = 2, #node, 2 do if kind(node[i]) == "tensor" then return "tensor" end end
    return "boolean"
end
kinds["not"] = function() return "boolean" end
function kinds.choice(node)
    local k = kind(node[2])
    return k == kind(node[4]) and k or nil
end
function kinds.unary(node) return node[2] == "#" and "number" or kind(node[3]) end
function kinds.binary(node)
    local op, a, b = node[2], kind(node[3]), kind(node[4])
    if op == ".." then return "string" end
    if op == "or" or op == "and" then return a == b and a or nil end
    if scope.language and (a == "table" or b == "table") then return "tensor" end -- arrays
    if a == "tensor" or b == "tensor" or op == "@" then return "tensor" end
    return (a == "string" or b == "string" and op == "+") and "string"
        or op == "*" and (a == "table" or b == "table") and "table"
        or a == "number" and b == "number" and "number" or a == "table" and b == "table" and a
        or nil
end
local of_fields = { shape = "table", ndim = "number", dtype = "string", device = "string",
    requires_grad = "boolean", is_leaf = "boolean", is_cuda = "boolean", nbytes = "number" }
function kinds.field(node)
    if of_fields[node[3]] then return of_fields[node[3]] end
    if kind(node[2]) == "tensor" then return "tensor" end
    local name = path(node)
    local known = name and elsewhere.value(name, true)
    if known and (known == "0/0" or known:find "^math%.") then return "number" end -- np.pi
    if translate.is_argv(node) then return "table" end
    local v = name and value_of(name) or nil
    return v ~= nil and (gpush.is_tensor(v) and "tensor" or type(v)) or nil
end
-- Whether the expression is a member of x.tolist(), which holds no tensors.
function translate.in_list(node)
    return node[1] == "index" and require "shell.known".depth(node) ~= nil
end
function kinds.index(node)
    local k = kind(node[2]) or translate.in_list(node[2]) and "table" or nil
    local part = k == "table" and node[3][1][1] == "range"
    if translate.is_argv(node[2]) and not part then return "string" end
    if is_shape(node[2]) and not part then return "number" end
    if translate.is_sample(node) then return "table" end
    local known = require "shell.known"
    local member = known.member(node)
    if member then return kind(member) end
    local v = known.value(node)
    if v == nil then v = translate.sample(node) end
    if v ~= nil then return gpush.is_tensor(v) and "tensor" or type(v) end
    local of = k == "table" and not part and require "shell.loops".element(node[2])
    if of == "values" or of == "labels" or math.type(of) then return "number" end
    if of == "dict" then return "table" end
    if of == "string" or of == "table" or of == "tensor" then return of end
    return (k == "tensor" or k == "string" or part) and k or nil
end
function kind(node)
    local k = kinds[node[1]]
    if type(k) == "function" then return k(node) end
    return k
end
translate.kind = kind

-- What the name is as the variable of a loop; nil for other names.
function translate.of_loop(name) return loops[name] end
-- Whether what the line has by place counts from 1 already.
function translate.counted() return scope.counted end
function translate.language() return scope.language end -- whose indices count from 1

-- ---- values ----

function write.name(node)
    local name = node[2]
    if loops[name] == "one" then return name .. " - 1", 9 end
    local form = elsewhere.value(name, rawget(_G, name) == nil and value_of(name) == nil)
    if form then return form end
    local forms = value_of(name) == nil and elsewhere.forms[name] -- a function of Python's
    if forms and not rawget(gpush, name) and not told[name] and not loops[name] then
        local x = { "call", node, { { "name", "x" } } }
        local ok, text
        translate.looping({ "x" }, "unknown", function() ok, text = pcall(emit, x) end)
        if ok and text ~= name .. "(x)" then
            return ("function(x) return %s end"):format(text), 13
        end
    end
    return name
end
function write.number(node)
    if node[2]:find "[jJ]$" then say "a complex number: pairs in a last dim of size 2" end
    return node[2]
end
function write.constant(node) return node[2] end
function write.raw(node) return node[2], 13 end
function write.paren(node)
    local text, level = emit(node[2])
    if text:find "^%(function%(%)" and (level or 14) == 14 then return text end
    return "(" .. text .. ")"
end
function write.span(node) return ("arange(%s, %s)"):format(emit(node[2]), (emit(node[3]))) end
function write.ellipsis() return "..." end
function write.star(node)
    return ("table.unpack(%s)"):format((emit(translate.sequences { node[2] }[1])))
end
write.options = function(node) return emit(node[2]) end
function write.walrus(node)
    local value = emit(node[3])
    translate.tell(node[2], node[3], kind(node[3]), translate.is_index(node[3]))
    return ("(function() %s = %s return %s end)()"):format(node[2], value, node[2])
end

-- A table, in the variable that unused "t" gives, which the statements fill.
local function built(body)
    return ("(function() local t = {} %s return t end)()"):gsub("%f[%a]t%f[%A]",
        translate.unused "t"):format(body)
end

function write.list(node)
    local star
    for i = 2, #node - 1 do star = star or node[i][1] == "star" end
    if not star then return "{" .. joined(node, emit, 2) .. "}", 13 end
    local out = {}
    local t = translate.unused "t"
    for i = 2, #node do -- [*a, 4]
        local v = node[i]
        local of = v[1] == "star" and translate.sequences { v[2] }[1]
        out[i - 1] = of and ("table.move(%s, 1, #%s, #%s + 1, %s)"):format(emit(of),
            emit(of, 14), t, t) or ("%s[#%s + 1] = %s"):format(t, t, emit(v))
    end
    return built(table.concat(out, " "))
end
write.tuple = write.list

-- {**a, "b": 1}
local function merged(node)
    local t, out = translate.unused "t", {}
    for i = 2, #node do
        local item = node[i]
        out[i - 1] = item[1] == "options" and translate.renamed("for k, v in pairs(%s) do \z
            %s[k] = v end", "k v"):format(emit(item[2]), t)
            or ("%s[%s] = %s"):format(t, emit(item[2]), (emit(item[3])))
    end
    return built(table.concat(out, " "))
end

function write.table(node)
    local out = {}
    for i = 2, #node do
        local item = node[i]
        if item[1] == "options" then return merged(node) end
        local word = item[1] == "key" and item[2][1] == "string"
            and item[2][2]:match "^[%a_][%w_]*$"
        if item[1] == "item" then out[#out + 1] = (emit(item[2]))
        elseif word and load(("return {%s = 1}"):format(word)) then
            out[#out + 1] = ("%s = %s"):format(word, (emit(item[3])))
        else out[#out + 1] = ("[%s] = %s"):format((emit(item[2])), (emit(item[3]))) end
    end
    return "{" .. table.concat(out, ", ") .. "}", 13
end

-- The parameters of a function, the statements at its start, and what body gives where the names
-- are its own.
function translate.parameters(list, body)
    local names, own, start, rest = {}, {}, {}, {}
    for i, p in ipairs(list) do
        local star = p.star and p.star[2]
        names[i], own[i] = star == "*" and "..." or p[1], p[1]
        if star == "*" and i < #list then say "options are one table, the last argument" end
        if star == "*" then rest[1] = p[1] end
        if star == "*" then start[i] = ("local %s = {...} "):format(p[1])
        else
            local default = star and "{}" or p.default and emit(p.default)
            start[i] = default and ("if %s == nil then %s = %s end "):format(p[1], p[1], default)
                or ""
        end
    end
    local text = translate.looping(own, #list == 1 and list[1].of or "unknown", function()
        return translate.looping(rest, "table", body)
    end)
    return table.concat(names, ", "), table.concat(start), text
end

function write.lambda(node)
    return ("function(%s) %sreturn %s end"):format(translate.parameters(node[2], function()
        return (emit(node[3]))
    end)), 13
end

-- A list or a sum that a loop makes, as a value.
function write.comprehension(node)
    return ("(function() %s end)()"):format(require "shell.loops".returned(node))
end

function write.field(node)
    local object, name = node[2], node[3]
    local full = path(node)
    local v = full and elsewhere.value(full, true)
    if v and (rawget(_G, full:match "^[%a_][%w_]*") == nil or gpush[full:match "^%w+"]) then
        return v, v:find "^{" and 13 or nil
    end
    if full and elsewhere.is_package(full, value_of) then
        return elsewhere.name(full) or say(elsewhere.advice(full, true))
    end
    local pair, level = require "shell.complex".field(node)
    if not pair then pair, level = translate.part_of(object, name) end
    if not pair then pair, level = translate.field_form(object, name) end
    if pair then return pair, level end
    if name == "__getitem__" then
        local list = kind(object) == "table" and not require "shell.loops".is_dict(object)
        return ("function(k) return %s[k%s] end"):format(emit(object), list and " + 1" or ""), 13
    end
    if name == "type" and object[3] == "device" then
        return ('%s:match "^%%a+"'):format(emit(object, 14))
    end
    local of = name == "__name__" and (object[3] == "__class__" and object[2]
        or object[1] == "call" and path(object[2]) == "type" and object[3][1])
    if of then
        local k = kind(of)
        if k and k ~= "table" and k ~= "nil" then
            say(("-- type(%s), in Lua's words: number, string …"):format((emit(of))))
        end
        return ("nn.class_of(%s)"):format((emit(of)))
    end
    local of_str = object[2] == "str"
    if elsewhere.forms["." .. name] and object[1] == "name" and (of_str
        or require "shell.loops".is_dict(object) and (value_of(object[2]) or {})[name] == nil) then
        local k = { "name", translate.unused "k" } -- key=d.get, key=str.lower
        local ok, text = pcall(emit, { "call", of_str and { "field", k, name } or node,
            { not of_str and k or nil } })
        if ok then return ("function(%s) return %s end"):format(k[2], text), 13 end
    end
    if object[1] == "field" and object[3] == "data" and name == "grad" then object = object[2] end
    if name == "data" and object[1] == "field" and object[3] == "grad" then return emit(object) end
    local form = kind(object) ~= "table" and elsewhere.property(name)
    if form then return (form:gsub("X", function() return (emit(object, 14)) end)) end
    return emit(object, 14) .. "." .. name
end
function write.method(node) return emit(node[2], 14) .. ":" .. node[3] end

-- An expression in Lua, in brackets where it binds less tightly than `least`, and how tightly it
-- binds: as in Lua's manual, or 1 to 2, or and and; 3, ==; 9, +; 12, ^; 13, a value; 14, a prefix.
function emit(node, least)
    local f = write[node[1]] or say("there is no form in Lua of this")
    local text, level = f(node)
    if least and (level or 14) < least then return "(" .. text .. ")", 14 end
    return text, level
end
translate.expression = emit

return translate
