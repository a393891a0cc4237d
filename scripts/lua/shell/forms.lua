--!plain
-- Fills the rows of rows.lua, which elsewhere.lua reads, with a call's arguments, for calls.lua:
-- returns by_form(key, args) -> text, how tightly it binds, or nil where no row of the key fits.
-- Some words of a row say what its argument is: DIM, a dim; STOP, an exclusive bound; MODE …
local require = ...
local gpush, registry = require "gpush", require "registry"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local counts = require "shell.counts"
local emit, kind, path, say, note = translate.expression, translate.kind, translate.path,
    translate.say, translate.note
local position, dims, shifted = counts.position, counts.dims, counts.shifted
require "shell.operators" -- translate.condition

-- The text of an argument where the form has the word: DIM counts from 1 here, STOP is exclusive.
local of_word = { DIM = dims, AXIS = dims, AXES = dims, STOP = counts.stop, INDEX = shifted,
    START = function(node) return position(node) end, COND = translate.condition }

-- The place in the list X.
function of_word.PLACE(node, given) return counts.place("#" .. emit(given.X, 14), node) end

-- What is compared in the place of each value.
function of_word.KEY(node, given)
    if node[1] == "lambda" and node[3][1] == "tuple" then
        say "a key of several values: table.sort(t, function(a, b) … end) compares one by one"
    end
    if node[1] == "lambda" and #node[2] == 1 then
        node[2][1].of = require "shell.loops".element(given.X or given.L)
    end
    local own = node[1] == "name" and elsewhere.forms[node[2]] and rawequal(rawget(_G, node[2]),
        gpush[node[2]]) -- sum: of lists, Python's
    if own and gpush[node[2]] then
        local v = { "name", translate.unused "v" }
        node = { "lambda", { { v[2], of = require "shell.loops".element(given.X or given.L) } },
            { "call", node, { v } } }
    end
    return emit(node)
end
of_word.F = of_word.KEY

-- "cuda" is "gpu" here, which is the card or its model.
function of_word.DEVICE(node)
    if node[1] == "choice" then
        return emit { "choice", { "raw", (of_word.DEVICE(node[2])) }, node[3],
            { "raw", (of_word.DEVICE(node[4])) } }
    end
    local text, level = emit(node)
    if kind(node) == "number" then -- a card's, from 0
        if text == "0" then return '"gpu"', 14 end
        if tonumber(text) then return ('"cuda:%s"'):format(text), 14 end
        return '"cuda:" .. ' .. emit(node, 10), 8
    end
    return text:gsub("^([\"'])cuda:?0?([\"'])$", "%1gpu%2"), level
end

translate.device = of_word.DEVICE

local types = { Float = "f32", Double = "f64", Half = "f16", BFloat16 = "bf16", Long = "i64",
    Int = "i32", Short = "i16", Char = "i8", Byte = "u8", Bool = "bool" }
-- A dtype, which may be the name of a type of Python's.
function translate.dtype(node)
    local made = path(node) or node[1] == "string" and node[2] or ""
    made = types[made:match "^torch%.c?u?d?a?%.?(%u%w*)Tensor$"] -- torch.LongTensor
    if made then return ('"%s"'):format(made), 14 end
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

-- What state_dict() was called of; nil of other values.
local function holder(node)
    return node[1] == "call" and node[2][1] == "field" and node[2][3] == "state_dict" and node[2][2]
end

-- What a checkpoint keeps: model of model.state_dict(), under its name, and a dict's entries.
function of_word.STATE(node)
    local of = holder(node) or node
    local name = path(of)
    if of[1] == "list" or of[1] == "tuple" or of[1] ~= "table" and not name then
        say "a checkpoint has names: checkpoint.save(file, {model = model})"
    end
    if of[1] ~= "table" then
        return ("{%s = %s}"):format(name:match "[%a_][%w_]*$", (emit(of)))
    end
    local out = { "table" }
    for i = 2, #of do
        local item = of[i]
        local held = item[1] == "key" and holder(item[3])
        out[i] = held and { "key", item[2], held } or item
    end
    return emit(out)
end

translate.state = of_word.STATE
local of_options = registry["gpush.typed_options"]

local by_name <const> = { KEY = true, REVERSE = true, DEFAULT = true } -- never by their place

-- The arguments by the words of the form, and the named ones that are left; nil where they do not
-- fit.
local function fitted(form, args)
    local given, n, left = {}, 0, {}
    for _, a in ipairs(args) do
        if a[1] == "named" then left[a[2]] = a[3]
        elseif a[1] == "star" then return nil
        else
            n = n + 1
            if not form.words[n] or by_name[form.words[n]] then return nil end
            given[form.words[n]] = a
        end
    end
    for i, word in ipairs(form.words) do
        for _, key in ipairs { word, word:lower(),
            word == "AXIS" and "dim" or word == "DIM" and "axis"
            or word == "STOP" and (left.high and "high" or "end")
            or word == "EDGES" and "bins" or word:lower() } do
            if left[key] and given[word] then return nil end
            if left[key] then given[word], left[key] = left[key], nil end
        end
        local none = (word == "AXIS" or word == "DIM") and given[word] and given[word][2] == "nil"
        if none and not form.defaults[word] then say(counts.FLAT) end
        if none then given[word] = nil end
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

local of_numbers = { X = true, Y = true, BINS = true, WEIGHTS = true, XP = true, FP = true }

-- The form's text with the arguments in place of its words; nil where they do not fit.
local function fill(form, args)
    local given, left = fitted(form, args)
    if not given then return nil end
    local rest, typed = {}, form.text:match "^[%w_.]+"
    typed = of_options[typed] or elsewhere.options[typed] or {}
    for _, a in ipairs(args) do
        if a[1] == "named" and left[a[2]] and elsewhere.needless[a[2]] then
            note("nothing to give: " .. elsewhere.needless[a[2]])
        elseif a[1] == "named" and left[a[2]] then
            rest[#rest + 1] = translate.option(typed[a[2]] or a[2], a[3])
        end
    end
    rest = table.concat(rest, ", ")
    local function optional(comma, w) return given[w] and comma .. w or "" end
    local text = translate.renamed(form.text, form.own):gsub("(,? ?)(%u[%u%d_]*)%?", optional)
        :gsub("{%*%*}", function() return "{" .. rest .. "}" end)
        :gsub(", %*%*}", function() return rest ~= "" and ", " .. rest .. "}" or "}" end)
        :gsub(", %*%*", function() return rest ~= "" and ", {" .. rest .. "}" or "" end)
    text = text:gsub("()%f[%w_](%u[%u%d_]*)%f[^%w_]()", function(at, word, after)
        local node = given[word]
        if not node or text:sub(at - 1, at - 1) == "%" then return nil end
        local before = text:sub(1, at - 1):match "(%S?)%s*$"
        local behind = text:match("^%s*(%S?)", after)
        local alone = (before == "" or before:find "[(,{=%[]" or
            text:sub(1, at - 1):find "%f[%a]in%s*$" or text:sub(1, at - 1):find "return%s*$")
            and (behind == "" or behind:find "[,)}%]]")
        local tight = text:find("^[.:%[(]", after) and 14 or 12
        local f = of_word[word]
        local k = form.lists and of_numbers[word] and kind(node)
        local dtype = (k == "table" or k == "tensor" and translate.whole_array(node))
            and translate.made_dtype(args, nil, form.text)
        if k == "table" then node = { "raw", translate.made_tensor(node, dtype) }
        elseif dtype == "f64" then node = { "call", { "field", node, "double" }, {} } end
        local value, level = (f or emit)(node, f and given)
        return not alone and (level or 14) < tight and "(" .. value .. ")" or value
    end)
    return (text:gsub("if false then .- end ", ""):gsub("if true then (.-) end ", "%1 "))
end

-- The text with gpush's function where the user has a variable of its name: stream = stream "gpu".
local function unshadowed(form, text)
    local head = form.text:match "^(%l[%w_]*)[%s({\"'.]"
    local own = head and gpush[head] ~= nil and translate.value(head)
    return own and not rawequal(own, gpush[head]) and "gpush." .. text or text
end

local function by_form(key, args)
    for _, form in ipairs(elsewhere.forms[key] or {}) do
        local text = fill(form, args)
        text = text and unshadowed(form, text)
        if text then
            if form.note then note(form.note) end
            if form.text == "" then say(form.note) end
            return text, (text:find "^[{\"']" or text:find "^function") and 13 or form.level
        end
    end
end

return by_form
