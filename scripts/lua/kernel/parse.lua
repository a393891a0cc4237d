--!plain
-- Reads formulas of C, as CUDA's kernels have them, into a tree: assignments of expressions, such
-- as "d = x - y; z = d * d". What isn't a formula (loops, pointers, calls of other kernels) is an
-- error that shows the place.
--
-- A statement is {name =, type =, value =}; a node is {kind, ...}:
--   {"number", value}  {"name", text}  {"at", name, index}     an element of a raw argument
--   {"unary", op, x}   {"binary", op, a, b}   {"choose", cond, a, b}
--   {"call", name, {args}}             {"cast", type, x}
-- Precedence and associativity are those of C (ISO/IEC 9899:2018, 6.5).
local require = ...
local fail, types = require "fail", require "kernel.types"

-- By precedence, the lowest first. ?: is below all of them.
local LEVELS <const> = {
    { ["||"] = true }, { ["&&"] = true }, { ["|"] = true }, { ["^"] = true }, { ["&"] = true },
    { ["=="] = true, ["!="] = true },
    { ["<"] = true, ["<="] = true, [">"] = true, [">="] = true },
    { ["<<"] = true, [">>"] = true }, { ["+"] = true, ["-"] = true },
    { ["*"] = true, ["/"] = true, ["%"] = true },
}
local LONG <const> = { "<<=", ">>=", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=",
    "*=", "/=", "%=", "|=", "&=", "^=", "++", "--", "->" }
local DEEPEST <const> = 100
local CONSTANTS <const> = { ["true"] = true, ["false"] = false, INFINITY = math.huge,
    NAN = 0 / 0, M_PI = math.pi, M_E = math.exp(1) }

-- ---- tokens ----

-- The number that begins at that place of the text, and its length; nil where that is none of C's.
local function number_at(text, at)
    local word = text:match("^[%d.]+[eE][+-]%d+[%w.]*", at) or text:match("^[%w.]+", at)
    local digits = word:match "^(0[xX]%x+)[uUlL]*$" or word:match "^([%d.]+[eE]?[+-]?%d*)[fF]$"
    if digits and word:find "^%d+[fF]$" then digits = nil end
    digits = digits or word:match "^([%d.]+[eE]?[+-]?%d*)[uUlL]*$"
    if digits and digits:find "^0%d+$" then digits = nil end -- octal
    return digits and tonumber(digits), #word
end

local function tokens(text, where)
    local list, at = {}, 1
    while true do
        at = text:find("%S", at)
        if not at then break end
        local token = { at = at }
        local word = text:match("^[%a_][%w_]*", at)
        if word then
            token.word, token.text = word, word
        elseif text:find("^%.?%d", at) then
            local value, length = number_at(text, at)
            token.text, token.number = text:sub(at, at + length - 1), value
            if not value then where(at, "'" .. token.text .. "' is not a decimal or hex number") end
        else
            for _, long in ipairs(LONG) do
                if text:sub(at, at + #long - 1) == long then token.text = long break end
            end
            token.text = token.text or text:sub(at, at)
        end
        list[#list + 1] = token
        at = at + #token.text
    end
    list[#list + 1] = { at = #text + 1, text = "the end", last = true }
    return list
end

-- Comments become spaces, so that places stay.
local function without_comments(text)
    local function blank(s) return (s:gsub("[^\n]", " ")) end
    return (text:gsub("/%*.-%*/", blank):gsub("//[^\n]*", blank))
end

-- ---- expressions ----

local Reader = {}
Reader.__index = Reader

function Reader:peek() return self.list[self.i].text end

function Reader:accept(text)
    local token = self.list[self.i]
    if token.last or token.text ~= text then return false end
    self.i = self.i + 1
    return true
end

function Reader:expect(text, after)
    if not self:accept(text) then
        self:wrong(("expected '%s' %s, got %s"):format(text, after, self:shown()))
    end
end

function Reader:shown()
    local token = self.list[self.i]
    return token.last and "the end" or "'" .. token.text .. "'"
end

function Reader:wrong(message, i) self.where(self.list[i or self.i].at, message) end

-- The arguments of a call, after its parenthesis.
function Reader:arguments()
    local list = {}
    if self:accept ")" then return list end
    repeat list[#list + 1] = self:expression() until not self:accept ","
    self:expect(")", "after the arguments")
    return list
end

function Reader:primary()
    local token = self.list[self.i]
    if self:accept "(" then
        local inner = self:expression()
        self:expect(")", "after an expression in parentheses")
        return inner
    end
    self.i = self.i + 1
    if token.number ~= nil then return { "number", token.number } end
    if not token.word then
        self.i = self.i - 1
        self:wrong("expected a value, got " .. self:shown())
    end
    if CONSTANTS[token.word] ~= nil then return { "number", CONSTANTS[token.word] } end
    if self:accept "(" then
        local args = self:arguments()
        if types.dtype(token.word) or self.letters[token.word] then
            if #args ~= 1 then self:wrong("a conversion takes one value", self.i - 1) end
            return { "cast", token.word, args[1] }
        end
        return { "call", token.word, args, at = token.at }
    end
    local node = { "name", token.word, at = token.at }
    if self:accept "[" then
        local index = self:expression()
        self:expect("]", "after an index")
        node = { "at", token.word, index, at = token.at }
    end
    if self:peek() == "." or self:peek() == "->" then self:wrong "fields are not formulas" end
    return node
end

-- "(float)" at this place: the type's name.
function Reader:conversion()
    local word, after = self.list[self.i + 1], self.list[self.i + 2]
    local there = self:peek() == "(" and word and word.word and after and after.text == ")"
    if not there then return nil end
    local known = types.dtype(word.word) or self.letters[word.word]
    if known then self.i = self.i + 3 end
    return known and word.word
end

function Reader:unary()
    self.depth = self.depth + 1
    if self.depth > DEEPEST then self:wrong(("over %d levels deep"):format(DEEPEST)) end
    local node
    local to = self:conversion()
    if to then node = { "cast", to, self:unary() }
    elseif self:accept "-" then node = { "unary", "-", self:unary() }
    elseif self:accept "+" then node = self:unary()
    elseif self:accept "!" then node = { "unary", "!", self:unary() }
    elseif self:accept "~" then node = { "unary", "~", self:unary() }
    else node = self:primary() end
    self.depth = self.depth - 1
    return node
end

function Reader:binary(level)
    if not LEVELS[level] then return self:unary() end
    local node = self:binary(level + 1)
    while LEVELS[level][self:peek()] do
        local op = self:peek()
        self.i = self.i + 1
        node = { "binary", op, node, self:binary(level + 1) }
    end
    return node
end

function Reader:expression()
    self.depth = self.depth + 1
    if self.depth > DEEPEST then self:wrong(("over %d levels deep"):format(DEEPEST)) end
    local node = self:binary(1)
    if self:accept "?" then
        local yes = self:expression()
        self:expect(":", "between the two values of '?'")
        node = { "choose", node, yes, self:expression() }
    end
    self.depth = self.depth - 1
    return node
end

-- ---- statements ----

local LOOPS <const> = { ["for"] = true, ["while"] = true, ["do"] = true, ["if"] = true,
    ["return"] = true, ["switch"] = true, ["goto"] = true }

function Reader:statement()
    local token, following = self.list[self.i], self.list[self.i + 1]
    if LOOPS[token.word] then
        self:wrong(("'%s' is not a formula; write values, as in z = x > 0 ? x : 0"):format(
            token.word))
    end
    if token.word == "const" then self.i = self.i + 1 return self:statement() end
    local type
    if token.word and following.word then
        type = token.word
        if type ~= "auto" and not (types.dtype(type) or self.letters[type]) then
            self:wrong(("unknown type '%s' (expected %s)"):format(type, types.names()))
        end
        self.i = self.i + 1
        token = self.list[self.i]
    end
    if not token.word then self:wrong("expected 'name = value', got " .. self:shown()) end
    self.i = self.i + 1
    local op = self:peek():match "^([-+*/%%|&^<>]+)=$"
    if self:peek() == "[" then self:wrong "elements of raw arguments can be read, not written" end
    if op and op ~= "<" and op ~= ">" then self.i = self.i + 1
    else
        op = nil
        self:expect("=", "after '" .. token.word .. "'")
    end
    local value = self:expression()
    if op then value = { "binary", op, { "name", token.word, at = token.at }, value } end
    return { name = token.word, type = type ~= "auto" and type or nil, value = value,
        at = token.at }
end

local function reader(text, what, letters)
    text = without_comments(text)
    local function where(at, message)
        local line = select(2, text:sub(1, at - 1):gsub("\n", "")) + 1
        local start = at
        while start > 1 and text:byte(start - 1) ~= 10 do start = start - 1 end
        local shown = text:match("^[^\n]*", start)
        fail("%s: %s\n    %s\n    %s^", what,
            message .. (line > 1 and (" (line %d)"):format(line) or ""), shown,
            (" "):rep(at - start))
    end
    return setmetatable({ list = tokens(text, where), i = 1, depth = 0, where = where,
        letters = letters }, Reader)
end

-- The statements of a text. what: for messages; letters: the type variables, {T = true}.
local function statements(text, what, letters)
    local r, list = reader(text, what, letters), {}
    repeat
        while r:accept ";" do end
        if r.list[r.i].last then break end
        list[#list + 1] = r:statement()
        if not r.list[r.i].last then r:expect(";", "after a value") end
    until r.list[r.i].last
    list.where = r.where
    return list
end

-- One expression, as the text of `map`.
local function expression(text, what, letters)
    local r = reader(text, what, letters)
    local node = r:expression()
    if not r.list[r.i].last then r:wrong("expected the end, got " .. r:shown()) end
    return { { name = "", value = node, at = 1 }, where = r.where }
end

return { statements = statements, expression = expression }
