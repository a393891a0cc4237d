--!plain
-- Parses a line of Python, with what other languages write in its place (&&, !, x++, A', 1:10) and
-- with Lua's own forms, into a tree: a tokenizer and a Pratt parser. parse.line(text) returns the
-- statement, or raises; parse.expression(text) an expression. A node is {kind, …}; translate.lua
-- says what each holds by what it writes for it.
local require = ...
local tokens = require "shell.parse.tokens"
local operators = require "shell.parse.binds"
local binds, forms, compares = operators.binds, operators.forms, operators.compares
local parse = {}

-- ---- the reader of tokens ----

local text, list, i -- of the line that is being parsed
local power -- whether ^ is a power, as in Lua, MATLAB and Julia; in Python it is xor

local function peek() return list[i] end
local function is(what) return list[i][2] == what and list[i][1] ~= "string" end
local function take(what)
    if not is(what) then return nil end
    i = i + 1
    return list[i - 1]
end
local function want(what)
    return take(what) or error("expected " .. what, 0)
end
local function name()
    if list[i][1] ~= "name" then error("expected a name", 0) end
    i = i + 1
    return list[i - 1][2]
end

local expression, tuple
local function arrow() return take "=>" or take "->" end

-- The rest of a comprehension after its value: for v in list if condition …
local function comprehension(node)
    node.loops = {}
    while take "for" do
        local loop = { targets = tuple(5, true) }
        want "in"
        loop.over = expression(1)
        while take "if" do loop.cond = expression(1) end
        node.loops[#node.loops + 1] = loop
    end
    return node
end

-- Values up to the closing mark, with a comma that may end them.
local function values(close, each)
    local out = {}
    while not is(close) do
        out[#out + 1] = each()
        if not (take "," or take ";") then break end
    end
    want(close)
    return out
end

-- A value in brackets: also *list.
local function element()
    return take "*" and { "star", expression() } or expression()
end

local function argument()
    if take "**" then return { "options", expression() } end
    local after = list[i + 1]
    if peek()[1] == "name" and after[1] == "op" and after[2] == "=" then
        local key = name()
        i = i + 1
        return { "named", key, expression() }
    end
    local e = element()
    return is "for" and comprehension { "comprehension", "generator", e } or e
end

-- One of the indices in brackets: a value or a range.
local function subscript()
    local first = not is ":" and expression() or nil
    if not is ":" then return first end
    local bounds = { "range", first }
    for k = 3, 4 do
        if take ":" and not (is ":" or is "," or is "]") then bounds[k] = expression() end
    end
    return bounds
end

-- {'a': 1}, {1, 2}, Lua's {a = 1}, and comprehensions of both.
local function braces()
    local out = { "table" }
    while not is "}" do
        local key
        if take "**" then key = { "options", expression() }
        elseif take "[" then
            key = { "key", expression() }
            want "]"
            if not take "=" then key = { "item", { "list", key[2] } } else key[3] = expression() end
        elseif list[i + 1][2] == "=" and peek()[1] == "name" then
            key = { "key", { "string", name(), quote = '"', prefix = "" } }
            want "="
            key[3] = expression()
        else
            local e = expression()
            key = take ":" and { "key", e, expression(), dict = true } or { "item", e }
            if is "for" then
                local kind = key.dict and "dict" or "set"
                key = comprehension { "comprehension", kind, e, key[3] }
                want "}"
                return key
            end
        end
        out[#out + 1] = key
        if not (take "," or take ";") then break end
    end
    want "}"
    return out
end

local function parameters(close)
    local out = {}
    while not is(close) do
        local star = take "*" or take "**"
        local p = { is "," and "_" or name(), star = star }
        if close == ")" and take ":" then expression() end
        if take "=" then p.default = expression() end
        out[#out + 1] = p
        if not take "," then break end
    end
    want(close)
    return out
end

-- Lua's function … end as it stands.
local function lua_function(at)
    local depth = 1
    while depth > 0 do
        local word = peek()[2]
        if peek()[1] == "end" then error("no end", 0) end
        if peek()[1] == "name" then
            if word == "end" then depth = depth - 1
            elseif word == "function" or word == "do" or word == "then" then depth = depth + 1 end
        end
        i = i + 1
    end
    return { "raw", text:sub(at, list[i - 1].stop - 1) }
end

local function parenthesis()
    if is ")" then
        i = i + 1
        return arrow() and { "lambda", {}, expression() } or { "tuple" }
    end
    local e = element()
    if is "for" then
        e = comprehension { "comprehension", "generator", e }
        want ")"
        return e
    end
    if not is "," then
        want ")"
        if arrow() then return { "lambda", { { e[2] } }, expression() } end
        return { "paren", e }
    end
    i = i + 1
    local out = values(")", element)
    if arrow() then
        local names = { { e[2] } }
        for k, v in ipairs(out) do names[k + 1] = { v[2] } end
        return { "lambda", names, expression() }
    end
    return { "tuple", e, table.unpack(out) }
end

local constants = { None = "nil", True = "true", False = "false", ["nil"] = "nil",
    ["true"] = "true", ["false"] = "false" }
local reserved = {}
for word in ("and or not in is if else elif for while def class with try except lambda then do \z
    end return import from del pass"):gmatch "%S+" do reserved[word] = true end

local function primary()
    local t = peek()
    i = i + 1
    if t[1] == "number" then return { "number", t[2] } end
    if t[1] == "string" then
        local node = { "string", t[2], prefix = t.prefix, quote = t.quote, triple = t.triple }
        if peek()[1] == "string" then
            return { "binary", "..", node, primary() }
        end
        return node
    end
    if t[2] == "(" then return parenthesis() end
    if t[2] == "[" then
        local out = {}
        if not is "]" then
            out[1] = argument()
            if out[1][1] == "comprehension" then
                want "]"
                out[1][2] = "list"
                return out[1]
            end
            if take "," then for _, v in ipairs(values("]", argument)) do out[#out + 1] = v end
            else want "]" end
        else i = i + 1 end
        return { "list", table.unpack(out) }
    end
    if t[2] == "{" then return braces() end
    if t[2] == "..." then return { "ellipsis" } end
    if t[1] == "name" then
        if t[2] == "lambda" then return { "lambda", parameters ":", expression() } end
        if t[2] == "function" then return lua_function(t.at) end
        if constants[t[2]] then return { "constant", constants[t[2]] } end
        if not reserved[t[2]] then return { "name", t[2] } end
    end
    error("unexpected " .. t[2], 0)
end

local function postfix(e)
    while true do
        local before = list[i - 1]
        if is "." and list[i + 1][2] == "(" then i = i + 1 end -- Julia's f.(A)
        if is "(" and e[1] ~= "number" then
            i = i + 1
            e = { "call", e, values(")", argument) }
        elseif is "!" and e[1] == "name" and list[i + 1][2] == "(" then -- Julia's push!(a, b)
            i = i + 1
            e = { "name", e[2] .. "!" }
        elseif is "[" and before.stop == peek().at then
            i = i + 1
            e = { "index", e, values("]", subscript) }
        elseif is "." and list[i + 1][1] == "name" then
            i = i + 1
            e = { "field", e, name() }
        elseif is ":" and list[i + 1][1] == "name" and before.stop == peek().at
            and list[i + 1].at == peek().stop
            and (list[i + 2][2] == "(" or list[i + 2][2] == "{" or list[i + 2][1] == "string") then
            i = i + 1
            e = { "method", e, name() }
        elseif is "{" and before.stop == peek().at then
            e = { "call", e, { primary() }, lua = true }
        elseif peek()[1] == "string" and peek().prefix == "" and (e[1] == "name" or e[1] == "field"
            or e[1] == "method") then
            e = { "call", e, { primary() }, lua = true }
        elseif is "'" then
            i = i + 1
            e = { "field", e, "T", quote = true }
        else return e end
    end
end

local function comparison_operator()
    local t = peek()
    if t[1] == "string" then return nil end
    if t[2] == "not" and list[i + 1][2] == "in" then
        i = i + 2
        return "not in"
    end
    local op = compares[t[2]]
    if not op then return nil end
    i = i + 1
    return t[2] == "is" and take "not" and "is not" or op
end

local function unary()
    local t = peek()
    if t[1] == "op" and (t[2] == "-" or t[2] == "+" or t[2] == "~" or t[2] == "#") then
        i = i + 1
        return { "unary", t[2], expression(11) }
    end
    if take "not" or take "!" then return { "not", expression(t[2] == "!" and 11 or 3) } end
    if take "await" then return expression(11) end
    return postfix(primary())
end

-- An expression of operators that bind at least as tightly as limit; 0: also a if c else b.
function expression(limit)
    limit = limit or 0
    local left = unary()
    while true do
        local op = peek()[1] ~= "string" and peek()[2]
        if op == "^" and power then op = "**" end
        local bind = binds[op]
        if bind and bind >= math.max(limit, 1) then
            i = i + 1
            local right = expression(bind == 12 and 11 or bind + 0.1)
            left = op == "|>" and { "call", right, { left } }
                or { "binary", forms[op] or op, left, right, each = op == ".*" }
        elseif limit <= 4 then
            op = comparison_operator()
            if not op then break end
            left = { "compare", left, op, expression(5) }
            local more = comparison_operator()
            while more do
                left[#left + 1], left[#left + 2] = more, expression(5)
                more = comparison_operator()
            end
        else break end
    end
    if limit > 0 then return left end
    if left[1] == "name" and take ":=" then return { "walrus", left[2], expression() } end
    if take "if" then
        local cond = expression(1)
        want "else"
        return { "choice", left, cond, expression() }
    end
    if take "?" then
        local yes = expression()
        want ":"
        return { "choice", yes, left, expression() }
    end
    if left[1] == "name" and arrow() then return { "lambda", { { left[2] } }, expression() } end
    return left
end

-- One expression or several: {targets…}; tight: those of a loop, which end before "in".
function tuple(limit, tight)
    local out = {}
    repeat
        if not tight and (is "=" or peek()[1] == "end" or is ":") or tight and is "in" then
            if #out == 1 then out[1] = { "tuple", out[1] } end -- a, = list
            break
        end
        if take "*" then out[#out + 1] = { "star", expression(limit) }
        else out[#out + 1] = expression(limit) end
    until not take ","
    return out
end

-- ---- statements ----

local statement

-- The statements after a colon, up to the end of the line.
local function suite()
    local out = {}
    while peek()[1] ~= "end" do
        if is "end" then break end
        out[#out + 1] = statement()
        local apart = peek()[1] == "name" and peek().at > list[i - 1].stop
        if not take ";" and not apart then break end
    end
    return out
end

local function block(node)
    if take ":" then node.body = suite()
    elseif take "do" or take "then" then
        node.body = suite()
        node.open = not take "end"
    else error("expected :", 0) end
    return node
end

local heads = {}
heads["for"] = function()
    local node = { "for", tuple(5, true) }
    want "in"
    local over = tuple()
    node[3] = #over == 1 and over[1] or { "list", table.unpack(over) }
    if not (is ":" and #over == 1 and over[1][1] == "number") then return block(node) end
    i = i + 1 -- Julia's for i in 1:3
    local stop = { "binary", "+", expression(), { "number", "1" } }
    node[3], node.body = { "call", { "name", "range" }, { over[1], stop } }, suite()
    node.open = not take "end"
    return node
end
heads["while"] = function() return block { "while", expression() } end
heads["if"] = function() return block { "if", expression() } end
heads["elif"] = function() return block { "elif", expression() } end
heads["else"] = function() return block { "else" } end
heads["try"] = function() return block { "try" } end
heads["finally"] = function() return block { "finally" } end
heads["except"] = function()
    local node = { "except" }
    if not is ":" then
        expression()
        if take "as" then node.name = name() end
    end
    return block(node)
end
heads["with"] = function()
    local node = { "with" }
    repeat
        local value = expression()
        node[#node + 1] = { value, take "as" and expression() or nil }
    until not take ","
    return block(node)
end
heads["def"] = function()
    local node = { "def", name() }
    want "("
    node[3] = parameters ")"
    if take "->" then expression() end
    return block(node)
end
heads["class"] = function()
    local node = { "class", name(), take "(" and values(")", argument) or {} }
    return block(node)
end
heads["async"] = function() return statement() end
heads["return"] = function()
    return { "return", peek()[1] == "end" and {} or tuple() }
end
heads["del"] = function() return { "del", tuple() } end
heads["raise"] = function() return { "raise", peek()[1] ~= "end" and expression() or nil } end
heads["pass"] = function() return { "raw", "" } end
heads["break"] = function() return { "raw", "break" } end
heads["continue"] = function() return { "continue" } end
heads["yield"] = function() return { "yield", tuple() } end
heads["assert"] = function()
    return { "assert", expression(), take "," and expression() or nil }
end
for _, word in ipairs { "import", "from", "global", "nonlocal", "using" } do
    heads[word] = function()
        repeat i = i + 1 until is ";" or peek()[1] == "end"
        return { "word", word }
    end
end

local function assignment()
    local left = tuple()
    local op = peek()[1] == "op" and peek()[2]:match "^([-+*/%%^@|&<>÷]+)=$"
    if op and op ~= "<" and op ~= ">" then
        i = i + 1
        if op == "^" and power then op = "**" end
        return { "augment", left[1], forms[op] or op, expression() }
    end
    if take "++" then return { "augment", left[1], "+", { "number", "1" } } end
    if #left == 1 and left[1][1] == "walrus" then
        return { "assign", { { { "name", left[1][2] } } }, { left[1][3] } }
    end
    if is ":" and left[1][1] == "name" and list[i + 1].at > peek().stop then
        i = i + 1
        expression()
        if not is "=" then return { "word", "annotation" } end
    end
    if take ".=" then -- Julia's, into what is there
        local value = expression()
        if left[1][1] == "index" then return { "assign", { left }, { value } } end
        return { "expression", { { "call", { "field", left[1], "set_to" }, { value } } } }
    end
    local all = { left }
    while take "=" do all[#all + 1] = tuple() end
    if #all == 1 then
        if is ":" and #left == 1 and left[1][1] == "number" then -- Julia's and MATLAB's 1:10
            i = i + 1
            return { "expression", { { "span", left[1], expression() } } }
        end
        return { "expression", left }
    end
    local value = table.remove(all)
    return { "assign", all, value }
end

function statement()
    local t, after = peek(), list[i + 1]
    local called = after[2] == "=" or after[2] == "." or after[2] == "("
    local head = t[1] == "name" and heads[t[2]]
    if head and not (called and (t[2] == "from" or t[2] == "using" or t[2] == "global")) then
        i = i + 1
        return head()
    end
    if take "@" then
        local e = expression()
        return { "decorator", e }
    end
    if t[1] == "name" and after[1] == "name" and (t[2] == "let" or t[2] == "var" or t[2] == "const"
        or t[2] == "local") then
        i = i + 1
        local s = statement()
        s["local"] = true
        return s
    end
    if is "print" and (after[1] == "name" or after[1] == "number" or after[1] == "string"
        and after.at > t.stop) then
        i = i + 1
        return { "expression", { { "call", { "name", "print" }, tuple() } } }
    end
    return assignment()
end

local function whole(line, f)
    text, list, i = line, tokens(line, f == expression), 1
    power = power or list.powers
    local result = f()
    return peek()[1] == "end" and result or error("unexpected " .. peek()[2], 0)
end

-- The statements of a line; powers: ^ is a power in it.
function parse.line(line, powers)
    power = powers
    return whole(line, suite)
end
function parse.expression(e)
    local outer, tokens_before, at = text, list, i
    local result = whole(e, expression)
    text, list, i = outer, tokens_before, at
    return result
end

return parse
