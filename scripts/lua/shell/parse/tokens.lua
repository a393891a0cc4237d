--!plain
-- Divides a line for parse into tokens: {kind, text, at = its first byte, stop = the byte after
-- it}, the last of the kind "end". A string has its prefix, quote and whether there are three.
local operators = {}
for op in ("**= //= >>= <<= ... == != ~= <> <= >= -> => := += -= *= /= %= ^= &= |= @= ** // << >> \z
    && || ++ .. .+ .- .* ./ .^ \\ .= .< .> .<= .>= \z
    .== .!= |> ÷ ÷= + - * / % ^ & | ~ @ < > = ( ) [ ] { } , : ; . ! ? #")
    :gmatch "%S+" do
    operators[#op] = operators[#op] or {}
    operators[#op][op] = true
end

-- The end of the string whose quote is at byte `at`, and the number of its quotes, 1 or 3.
local function string_end(text, at)
    local quote = text:sub(at, at)
    local triple = text:sub(at, at + 2) == quote:rep(3) and 3 or 1
    local i = at + triple
    while i <= #text and text:sub(i, i + triple - 1) ~= quote:rep(triple) do
        i = i + (text:sub(i, i) == "\\" and 2 or 1)
    end
    if i > #text then error("unfinished string", 0) end
    return i + triple - 1, triple
end

local function string_token(text, at)
    local prefix, quote = text:match("^([rbufRBUF]?[rbRBfF]?)([\"'])", at)
    if not quote then return nil end
    local stop, n = string_end(text, at + #prefix)
    return { "string", text:sub(at + #prefix + n, stop - n), at = at, stop = stop + 1,
        prefix = prefix:lower(), quote = quote, triple = n == 3 }
end

-- Whether the byte is MATLAB's and Julia's A' rather than the start of a string.
local function transposes(text, at)
    return text:find("^'", at) and text:find("^[%w_%)%]]", at - 1) and at > 1
        and not text:find("'", at + 1, true)
end

local function token(text, at)
    local c = text:sub(at, at)
    if c == "#" and text:find("^#+[%s!]", at) or text:find("^%-%-", at) then return nil end
    if transposes(text, at) then return { "op", "'", at = at, stop = at + 1 } end
    local found = string_token(text, at)
    if found then return found end
    local word = text:match("^[%a_][%w_]*", at)
    if word then return { "name", word, at = at, stop = at + #word } end
    local base, digits = text:match("^0([bBoO])([%d_]+)", at)
    if base then
        local value = tonumber((digits:gsub("_", "")), base:lower() == "b" and 2 or 8)
        return { "number", tostring(value), at = at, stop = at + 2 + #digits }
    end
    local number = text:match("^0[xX]%x[%x_]*", at)
        or text:match("^%d[%d_]*%.?[%d_]*[eE][-+]?%d+", at)
        or text:match("^%.%d[%d_]*[eE][-+]?%d+", at) or text:match("^%.%d[%d_]*", at)
        or text:match("^%d[%d_]*%.%f[^.%a]%d*", at) or text:match("^%d[%d_]*", at)
    if number then
        return { "number", (number:gsub("_", "")), at = at, stop = at + #number }
    end
    for n = 3, 1, -1 do
        local op = text:sub(at, at + n - 1)
        if #op == n and operators[n][op] then
            return { "op", op, at = at, stop = at + n }
        end
    end
    error("unexpected character", 0)
end

-- ---- names that are words of Lua ----

local function set(text)
    local out = {}
    for word in text:gmatch "%S+" do out[word] = true end
    return out
end
local of_lua = set "end then do repeat until local function goto"
local before = set ": [ + - * / // % ** for" -- an operand comes next
local sets = set "= += -= *= /= //= %= **="

-- Whether the kth token, at that depth of brackets, is a variable, which none of Lua's words is
-- there; alone: the text is an expression.
local function is_variable(list, k, depth, alone)
    local left, right = list[k - 1], list[k + 1][2]
    local first = k == 1 and alone and list[1][2] ~= "function"
    if first or left and before[left[2]] and right ~= "(" then return true end
    if depth > 0 then return false end -- print(x, end="")
    return sets[right] or right == "," and (not left or left[2] == "," or left[2] == ";")
end

-- start, end = 2, 5 sets end_ here.
local function rename(list, alone)
    local open, names, keys = {}, {}, {} -- the brackets that are open
    for k, t in ipairs(list) do
        local c = t[1] == "op" and t[2]
        if c == "(" or c == "[" or c == "{" then open[#open + 1] = c
        elseif c == ")" or c == "]" or c == "}" then open[#open] = nil
        elseif t[1] == "name" and of_lua[t[2]] then
            local last = t[2] == "end" and open[#open] == "[" and list[k + 1][2] ~= ")" -- x[1, end]
            names[t[2]] = names[t[2]] or last or is_variable(list, k, #open, alone)
            keys[k] = #open > 0 and list[k + 1][2] == "="
        end
    end
    for k, t in ipairs(list) do
        local field = k > 1 and list[k - 1][2] == "."
        if t[1] == "name" and names[t[2]] and not keys[k] and not field then t[2] = t[2] .. "_" end
    end
end

-- Operators and functions of Julia and MATLAB alone, where ^ is a power.
local of_powers = set "÷ ÷= .+ .- .* ./ .^ .= .< .> .<= .>= .== .!= |> \\ -> ' println disp"

local function has_powers(list)
    for k, t in ipairs(list) do
        local typed = t[2] == "->" and list[1][2] == "def"
        local kind = t[1] == "op" or t[1] == "name" and list[k + 1][2] == "("
        local each = t[2] == "." and t[1] == "op" and list[k + 1][2] == "(" -- f.(A)
        if each or kind and of_powers[t[2]] and not typed then return true end
    end
    return false
end

-- alone: the text is an expression, not a statement; the list's powers: ^ is a power in it.
local function tokens(text, alone)
    local list, at = {}, text:match "^%s*()"
    while at <= #text do
        local t = token(text, at)
        if not t then break end
        list[#list + 1] = t
        local ended = text:match("^%s*\\%s*()$", t.stop) -- by Python's \, which joins lines
        at = text:match("^%s*()", ended or t.stop)
    end
    list[#list + 1] = { "end", "", at = #text + 1, stop = #text + 1 }
    rename(list, alone)
    list.powers = has_powers(list)
    return list
end

return tokens
