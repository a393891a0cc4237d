--!plain
-- Writes the statements of a parsed line (parse/) in Lua: statements.line(nodes, name) -> text,
-- complete: a text that ends in a block whose end comes later is none. Runs in translate.with,
-- which raises where a statement would mean something else.
local require = ...
local translate = require "shell.translate"
require "shell.operators" -- translate.condition
local emit, condition, kind, say = translate.expression, translate.condition, translate.kind,
    translate.say
local path, joined, place = translate.path, translate.joined, require "shell.counts".place
local statements, write = {}, {}
local nested = false -- whether the statements stand in a block

local is_complex, known = require "shell.complex".is, require "shell.known"
local loops, unpack = require "shell.loops", require "shell.loops.unpack"
local loop, called = loops.loop, loops.called

-- ---- assignments ----

local settings = { ["cudnn.benchmark"] = "benchmark", ["cudnn.allow_tf32"] = "tf32",
    ["cudnn.deterministic"] = "deterministic", ["cuda.matmul.allow_tf32"] = "tf32" }

local function target(node)
    if node[1] == "name" then return node[2] end
    if node[1] == "star" then say "a list of the rest: {table.unpack(t, 2)}" end
    if node[1] == "tuple" or node[1] == "list" then return joined(node, target, 2) end
    return (emit(node))
end

local function targets_of(list)
    if #list == 1 and list[1][1] == "tuple" then list = { table.unpack(list[1], 2) } end
    return joined(list, target)
end

-- a, *rest = list, where the rest may stand anywhere
local function with_rest(list, value)
    local names, out, behind = {}, {}, false
    local t = emit(value, 14)
    for i, node in ipairs(list) do
        local from_end = i < #list and ("#%s - %d"):format(t, #list - i) or "#" .. t
        if node[1] == "star" then
            behind, node = true, node[2]
            out[i] = ("{table.unpack(%s, %d%s)}"):format(t, i, i < #list and ", " .. from_end or "")
        else out[i] = ("%s[%s]"):format(t, behind and from_end or i) end
        names[i] = target(node)
    end
    return table.concat(names, ", ") .. " = " .. table.concat(out, ", ")
end

-- What is assigned to a field that is a method or a function here; nil for any other.
local function setting(node, value)
    if node[1] == "index" and kind(node[2]) == "table" and node[3][1][1] == "range" then
        say "a part of a list is set by a loop"
    end
    if node[1] == "index" and kind(node[2]) == "tensor" and kind(value) == "table" then
        if value[1] == "list" and #value == 1 then say "x = x[mask] leaves rows out" end
        return ("%s = tensor(%s)"):format(emit(node), (emit(value)))
    end
    if node[1] ~= "field" then return nil end
    local name = (path(node) or ""):match "^torch%.backends%.(.*)$"
    if name then
        return settings[name] and ("cuda.%s(%s)"):format(settings[name], (emit(value)))
            or say "a setting of a library that is not here"
    end
    if node[3] == "requires_grad" then
        local off = value[2] ~= "true" and emit(value) or ""
        return ("%s:requires_grad_(%s)"):format(emit(node[2], 14), off)
    elseif node[3] == "data" then
        return ("no_grad(function() %s:copy_(%s) end)"):format(emit(node[2], 14), (emit(value)))
    end
end

local function one_value(to, list, value)
    if translate.is_sample(value) then
        local one = #list == 1 and list[1][1] ~= "tuple"
        return (one and "%s = {%s}" or "%s = %s"):format(to, (emit(value)))
    end
    if #list > 1 or list[1][1] == "tuple" then
        if value[1] == "list" or value[1] == "tuple" then
            return to .. " = " .. joined(value, emit, 2)
        end
        local batch = require "shell.loops.batches".next(value)
        if batch then return to .. " = " .. batch end
        if #list == 1 and #list[1] == 2 and value[1] == "call" then -- (r,) = f(x)
            return ("%s = %s[1]"):format(to, emit(value, 14))
        end
        local text = value[3] ~= "shape" and emit(value)
        local inner = text and text:match "^%b{}$" and text:sub(2, -2)
        if unpack.is_one(value) then text = emit(value, 14) .. ":unbind(1)" end
        if inner or text and kind(value) == "table" or text and text:find ":unbind%(1%)$" then
            return to .. " = " .. (inner or ("table.unpack(%s)"):format(text))
        end
    end
    if value[1] == "binary" then value = translate.as_choice(value) or value end
    if value[1] == "choice" then
        return ("if %s then %s = %s else %s = %s end"):format((condition(value[3])), to,
            emit(value[2]), to, (emit(value[4])))
    end
    return translate.once(to) and loops.filled(value, to) or to .. " = " .. emit(value)
end

-- What the k-th of several variables is set to, where it is known.
local function value_at(list, values, k)
    if #list == #values then return values[k] end
    if #values > 1 then return nil end
    local function part(of) return { "index", of, { { "number", tostring(k - 1) } } } end
    local of, f = values[1], values[1][1] == "call" and values[1][2]
    if translate.is_index(of) or translate.gives_indices(of) then return nil end
    if f and f[3] == "split" and kind(f[2]) == "string" then
        return { "raw", "", kind = "string" }
    end
    if f and f[3] == "tolist" then return { "call", { "field", part(f[2]), "item" }, {} } end
    return known.member(part(of)) or of[1] == "name" and kind(of) == "tensor" and part(of) or nil
end

-- From here on the variables hold the values.
local function tell_all(list, values)
    if #list == 1 and list[1][1] == "tuple" then list = { table.unpack(list[1], 2) } end
    local held = {}
    for k in ipairs(list) do
        local v = value_at(list, values, k)
        held[k] = v and known.constant(v) or v or false
    end
    for k, t in ipairs(list) do
        local v = held[k] or nil
        local of = #values == 1 and values[1]
        local second = k == 2 and of and translate.gives_indices(of)
        local each = not v and #list > 1 and of and translate.is_index(of)
        if t[1] == "name" then
            translate.tell(t[2], v, (second or each and kind(of) == "tensor") and "tensor"
                or v and (is_complex(v) and "complex" or kind(v)),
                second or each or v and translate.is_index(v))
        elseif t[1] == "star" and t[2][1] == "name" then -- of a list: what else it holds
            local rest = { "index", values[1], { { "range", { "number", tostring(k - 1) } } } }
            translate.tell(t[2][2], rest, "table", translate.is_index(values[1]))
        elseif t[1] == "index" or t[1] == "field" then known.changed(t[2]) end
    end
end

function write.assign(node)
    local out, values = {}, node[3]
    local all = node[2]
    for i, list in ipairs(all) do all[i] = unpack.targets(list) end
    local to, from, before
    if #all == 1 then to, from, before = unpack.flat(all[1], values) end
    if to then all[1], values = to, from end
    values = unpack.copied(all[1], values)
    for _, list in ipairs(all) do
        if #all > 1 and #list > 1 then say "two assignments, one after the other" end
    end
    for i = #all, 1, -1 do
        local list = all[i]
        if i < #all then out[#out + 1] = targets_of(list) .. " = " .. targets_of(all[i + 1])
        else
            local rest
            for _, t in ipairs(list) do rest = rest or t[1] == "star" end
            local set = #list == 1 and #values == 1 and setting(list[1], values[1])
            if rest then out[1] = with_rest(list, values[1])
            elseif set then out[1] = set
            elseif #values == 1 then out[1] = one_value(targets_of(list), list, values[1])
            else
                if #list == 1 then values = { { "list", table.unpack(values) } } end
                out[1] = targets_of(list) .. " = " .. joined(values, emit)
            end
        end
    end
    for _, list in ipairs(all) do tell_all(list, values) end
    local text = table.concat(out, "; ")
    if before and before ~= "" then return ("do %s%s end"):format(before, text) end
    if not node["local"] then return text end
    return text:find "^if " and "local " .. targets_of(all[1]) .. " " .. text or "local " .. text
end

local in_place = { ["+"] = "add_", ["-"] = "sub_", ["*"] = "mul_", ["/"] = "div_" }

function write.augment(node)
    local to, op, value = node[2], node[3], node[4]
    local method = in_place[op]
    if to[1] == "field" and to[3] == "data" and method then
        return ("no_grad(function() %s:%s(%s) end)"):format(emit(to[2], 14), method, (emit(value)))
    end
    local k = kind(to)
    if k == "tensor" and method and to[1] ~= "index" then
        return ("%s:%s(%s)"):format(emit(to, 14), method, (emit(value)))
    end
    if k == "table" or value[1] == "list" then
        if op ~= "+" then say "a list times a number: a loop" end
        return ("table.move(%s, 1, #%s, #%s + 1, %s)"):format(emit(value), emit(value, 14),
            emit(to, 14), (emit(to)))
    end
    if k == nil and method then
        translate.note(("of a tensor in place: %s:%s(…)"):format(emit(to, 14), method))
    end
    local text = ("%s = %s"):format(emit(to), (emit({ "binary", op, to, value[1] ~= "binary"
        and value or { "paren", value } })))
    if to[1] ~= "name" then known.changed(to[2])
    elseif translate.is_index(to) then translate.tell(to[2], nil, k)
    elseif k == "number" then
        translate.tell(to[2], known.constant { "binary", op, to, value } or nil, k)
    end
    return text
end

-- ---- other statements ----

local words = {
    import = "nothing to import: ones, nn, optim are here; require \"name\" reads a file",
    global = "nothing to declare: variables are global unless they are local",
    nonlocal = "nothing to declare: a function sees the local variables around it",
    annotation = "nothing to declare: variables have no types",
    continue = "goto continue, and ::continue:: before the loop's end" }
words.from, words.using = words.import, words.import
function write.word(node)
    if not node.beside then say(words[node[2]]) end
    translate.note(words[node[2]])
    return ""
end
write["continue"] = function() say(words.continue) end
function write.decorator(node)
    if (path(node[2]) or path(node[2][2]) or ""):find "no_grad" then
        say "no_grad(function() … end), or do local _ <close> = no_grad() … end"
    end
    if (path(node[2]) or path(node[2][2]) or ""):find "%f[%w]cuda%.jit$" then
        say "k = cuda.kernel(text), of a __global__ function in CUDA C; k(grid, block, x)"
    end
    say "f = decorator(f), after function f() … end"
end
function write.raw(node) return node[2] end

local function values(list) return joined(list, emit) end

write["return"] = function(node)
    local list = node[2]
    if #list == 1 and list[1][1] == "choice" then
        return ("if %s then return %s else return %s end"):format((condition(list[1][3])),
            emit(list[1][2]), (emit(list[1][4])))
    end
    if #list == 1 and translate.is_split(list[1]) then
        return "return " .. emit(list[1]):sub(2, -2)
    end
    return #list > 0 and "return " .. values(list) or "return"
end

-- del t[2:], del t[0], del d["a"]
local function removed(node)
    local item, of = node[3][1], emit(node[2], 14)
    if kind(node[2]) == "tensor" then
        say "a tensor's elements stay: x[mask], or cat of two parts"
    end
    if item[1] == "range" then
        if item[3] or item[4] then say "a part of a list: table.remove(t, i) in a loop" end
        local i = translate.unused "i"
        return ("for %s = #%s, %s, -1 do %s[%s] = nil end"):format(i, of,
            item[2] and place("#" .. of, item[2]) or "1", of, i)
    end
    local list = kind(item) == "number" and not loops.is_dict(node[2])
    return list and ("table.remove(%s, %s)"):format(of, emit(node):match "%[([^%]]*)%]$")
        or emit(node) .. " = nil"
end

function write.del(node)
    local out = {}
    for i, v in ipairs(node[2]) do
        out[i] = v[1] == "index" and removed(v) or emit(v) .. " = nil"
    end
    return table.concat(out, "; ")
end

function write.raise(node)
    local e = node[2]
    if not e then return "error(message)" end
    if e[1] == "call" and #e[3] > 0 then return ("error(%s)"):format((emit(e[3][1]))) end
    return ('error("%s")'):format(path(e[1] == "call" and e[2] or e) or "error")
end

function write.assert(node)
    return ("assert(%s%s)"):format(condition(node[2]), node[3] and ", " .. emit(node[3]) or "")
end

function write.yield(node) return ("coroutine.yield(%s)"):format(values(node[2])) end

-- print with sep, end or file.
local function print_call(args)
    local list, named, n = {}, {}, 0
    for _, a in ipairs(args) do
        if a[1] == "named" then named[a[2]] = a[3]
        else
            n = n + 1
            local k = kind(a)
            list[n] = (k == "number" or k == "string") and (emit(a))
                or ("tostring(%s)"):format((emit(a)))
        end
    end
    if not next(named) then return nil end
    if args[1] and args[1][1] == "star" then -- print(*a, sep = ", ")
        local a = { "name", translate.unused "a" }
        local over = n == 1 and args[1][2] or { "list", table.unpack(args, 1, n) }
        list = { ("table.unpack(%s)"):format((emit { "comprehension", "list", { "call",
            { "name", "str" }, { a } }, loops = { { targets = { a }, over = over } } })) }
    end
    local sep, last = named.sep and emit(named.sep) or '" "', named["end"] and emit(named["end"])
    local to = named.file and emit(named.file, 14) .. ":write" or "io.write"
    if named.file or last then
        local parts = table.concat(list, ", " .. sep .. ", ")
        return ("%s(%s, %s)"):format(to, parts, last or '"\\n"')
    end
    return named.sep and ("print(table.concat({%s}, %s))"):format(table.concat(list, ", "), sep)
        or ("print(%s)"):format(values { table.unpack(args, 1, n) })
end

function write.expression(node)
    local list = node[2]
    local e = list[1]
    if #list > 1 then return values(list) end
    if e[1] == "string" and not e.prefix:find "f" then
        return e.triple and "-- " .. e[2]:gsub("\n", " ") or (emit(e))
    end
    if e[1] == "choice" and nested then
        return write["if"] { "if", e[3], body = { { "expression", { e[2] } } } }:gsub(" end$", "")
            .. " else " .. write.expression { "expression", { e[4] } } .. " end"
    elseif e[1] == "constant" and nested then return ""
    elseif e[1] == "choice" then return write["return"] { "return", list } end
    if nested and e[1] == "comprehension" then return loops.statement(e) end
    local made = loops.returned(e)
    if made then return nested and "local _ = (function() " .. made .. " end)()" or made end
    if called(e, "torch.set_grad_enabled") then -- the value holds it
        translate.note "the variable holds it"
        return translate.unused "grad_mode" .. " = " .. emit(e)
    end
    local args = called(e, "print")
    local printed = args and print_call(args)
    if printed then return printed end
    local said = called(e, "println")
    if said and said[1] and said[1][1] == "string" and said[1][2]:find "%$[%a(]" then
        say '$ puts nothing into a text: print(("x = %s"):format(x))'
    end
    local model, file = e[1] == "call" and e[2][1] == "field" and e[2][3] == "load_state_dict"
        and e[2][2], e[1] == "call" and e[3][1]
    if model and file[1] == "call" and path(file[2]) == "torch.load" then
        return ("checkpoint.load(%s, %s, {rng = false})"):format(translate.weights(file[3][1]),
            translate.state(model))
    end
    return (emit(e))
end

-- ---- blocks ----

local function body_of(node)
    if #node.body == 0 then return node.open == nil and "…" or "" end
    local outer = nested
    nested = true -- what a line at the end returns ends no loop
    local text = known.looping(node.body, function() return statements.join(node.body) end)
    nested = outer
    return text
end

write["for"] = function(node)
    return loop(node[2], node[3], node.body, function() return body_of(node) end)
end
write["while"] = function(node)
    return ("while %s do %s end"):format((condition(node[2])), body_of(node))
end
write["if"] = function(node)
    local main = node[2][1] == "compare" and path(node[2][2]) == "__name__"
    if main then return ("do %s end"):format(body_of(node)) end
    return ("if %s then %s end"):format((condition(node[2])), body_of(node))
end
write["elif"] = function(node)
    return ("elseif %s then%s"):format((condition(node[2])),
        #node.body > 0 and " " .. body_of(node) or "")
end
write["else"] = function(node) return "else" .. (#node.body > 0 and " " .. body_of(node) or "") end
write["try"] = function(node)
    return ("local ok, message = pcall(function() %s end)"):format(body_of(node))
end
write["except"] = function(node)
    local name = node.name
    return ("if not ok then %s%s end"):format(name and ("local %s = message "):format(name) or "",
        body_of(node))
end
write["finally"] = function(node) return ("do %s end"):format(body_of(node)) end

-- Options of PyTorch's profiler that profile.run takes, too.
local recorded = { with_stack = true, record_shapes = true, profile_memory = true,
    with_flops = true }

local function recording(args, name)
    local list = {}
    for _, a in ipairs(args) do
        if a[1] == "named" and recorded[a[2]] then
            list[#list + 1] = a[2] .. " = " .. emit(a[3])
        end
    end
    return ("%s = profile.run(%sfunction() "):format(name or "prof", #list > 0 and "{"
        .. table.concat(list, ", ") .. "}, " or "")
end

write["with"] = function(node)
    local head, tail = "", ""
    for i = 1, #node do
        local value, as = node[i + 1] and node[i + 1][1], node[i + 1] and node[i + 1][2]
        if value then
            local name = value[1] == "call" and path(value[2]) or ""
            if name:find "profile$" then
                head, tail = head .. recording(value[3], as and as[2]), " end)" .. tail
            elseif value[1] == "call" and name:find "%.Stream$" then -- CuPy's
                head, tail = head .. emit(value, 14) .. ":use(function() ", " end)" .. tail
            elseif name == "torch.cuda.stream" then
                head, tail = head .. emit(value[3][1], 14) .. ":use(function() ", " end)" .. tail
            else
                head = head .. ("do local %s <close> = %s "):format(as and as[2] or "_",
                    translate.block(value))
                if as and name == "open" then translate.tell(as[2], value) end
                tail = " end" .. tail
            end
        end
    end
    return head .. body_of(node) .. tail
end

function write.def(node)
    local list, name = node[3], node[2]
    if list[1] and list[1][1] == "self" then
        list = { table.unpack(list, 2) }
        name = "Name:" .. name:gsub("^__init__$", "init"):gsub("^__call__$", "forward")
    end
    return ("function %s(%s) %s%s end"):format(name, translate.parameters(list, function()
        return body_of(node)
    end))
end

function write.class(node)
    local name, base = node[2], node[3][1] and path(node[3][1]) or ""
    local empty = #node.body == 1 and node.body[1][2] == "" -- class A: pass
    if base:find "Module$" then
        return ('%s = nn.module "%s"'):format(name, name)
            .. (empty and "" or (" function %s:forward(x) … end"):format(name))
    elseif base:find "Dataset$" then
        return ("%s = data.Dataset{size = n, get = function(self, i) … return … end}"):format(
            name)
    end
    return ("%s = {} %s.__index = %s function %s.new() %sreturn setmetatable({}, %s) end"):format(
        name, name, name, name, empty and "" or "… ", name)
end

local muted = { print = true, backward = true, step = true, train = true, eval = true }

-- Whether the expression's value is shown.
local function is_shown(node)
    local e = node[1] == "expression" and node[2][1]
    local f = e and e[1] == "call" and e[2]
    return e and not (f and muted[f[#f]])
end

-- Statements one after the other; the value of an expression at the end is returned.
function statements.join(nodes)
    local out = {}
    for _, node in ipairs(nodes) do node.beside = nodes[1][1] ~= nodes[#nodes][1] end
    for i, node in ipairs(nodes) do
        local e = i < #nodes and node[1] == "expression" and node[2][1]
        local text = e and e[1] == "comprehension" and loops.statement(e) or write[node[1]](node)
        if node.open then text = text:gsub(" end$", "") end
        local value = is_shown(node) and load("return " .. text)
        if value and nested and not load(text) then text = "local _ = " .. text
        elseif value and not nested and i > 1 and i == #nodes then text = "return " .. text end
        out[#out + 1] = (text ~= "" or #nodes == 1) and text or nil
    end
    return (table.concat(out, "; "):gsub("  +end", " end"))
end

-- The statements in Lua, and whether they are only a part of a chunk: elseif, else.
function statements.line(nodes, value)
    loops.value, nested = value, false
    local first, last = nodes[1] and nodes[1][1], nodes[#nodes]
    return statements.join(nodes), first == "elif" or first == "else" or last and last.open
end

return statements
