--!plain
-- Conversions to whole numbers, which a card makes to the nearest that there is, and GCC not:
-- (int)x, int(x), static_cast<int>(x), and int i = x become GP_CAST of math.inc in
-- kernels/common/simt.
local require = ...
local lexer = require "kernel.tokens"
local closing = lexer.closing

local KINDS <const> = { ["int"] = "i32", ["unsigned"] = "u32", ["unsigned int"] = "u32",
    ["uint"] = "u32", ["int32_t"] = "i32", ["uint32_t"] = "u32", ["signed"] = "i32",
    ["signed int"] = "i32", ["long"] = "i64", ["long int"] = "i64", ["long long"] = "i64",
    ["long long int"] = "i64", ["int64_t"] = "i64", ["unsigned long"] = "u64",
    ["unsigned long long"] = "u64", ["ulong"] = "u64", ["size_t"] = "u64", ["uint64_t"] = "u64",
    ["short"] = "i16", ["short int"] = "i16", ["int16_t"] = "i16", ["unsigned short"] = "u16",
    ["ushort"] = "u16", ["uint16_t"] = "u16", ["char"] = "i8", ["signed char"] = "i8",
    ["int8_t"] = "i8", ["unsigned char"] = "u8", ["uchar"] = "u8", ["uint8_t"] = "u8" }

-- The words from index i up to the one before `stop`, and what kind of whole number they name.
local function type_of(list, i, stop)
    local words = {}
    for k = i, stop - 1 do
        if list[k].kind ~= "word" then return nil end
        if list[k].text ~= "const" then words[#words + 1] = list[k].text end
    end
    local text = table.concat(words, " ")
    return text, KINDS[text]
end

local BEFORE_VALUE <const> = { ["return"] = true, ["case"] = true, ["else"] = true, ["do"] = true }

-- Whether a value, and not an operator, may begin at index i.
local function begins_value(list, i)
    local before = list[i - 1]
    if before.kind == "word" then return BEFORE_VALUE[before.text] or false end
    return before.kind == "sign" and before.text ~= ")" and before.text ~= "]"
end

-- The > that closes the < at index i, with ( after it; nil: it is no list of a template's.
local function angle_end(list, i)
    for k = i + 1, math.min(i + 16, #list) do
        local t = list[k].text
        if t == ">" then return (list[k + 1] or {}).text == "(" and k or nil end
        if list[k].kind == "sign" and t ~= "," and t ~= ":" then return nil end
    end
end

local function adjacent(list, i, text)
    return list[i + 1] and list[i].text == text and list[i + 1].text == text and
        list[i + 1].at == list[i].at + 1
end

-- The last index of what stands after the value that ends at index i: calls, [], members, ++.
local function postfix_end(w, i)
    local list = w.list
    while list[i + 1] do
        local t = list[i + 1].text
        if t == "(" or t == "[" then i = closing(list, i + 1) or #list
        elseif w.cxx and t == "<" and angle_end(list, i + 1) then i = angle_end(list, i + 1)
        elseif t == "." then i = i + 2
        elseif t == "-" and list[i + 2].text == ">" and list[i + 2].at == list[i + 1].at + 1 then
            i = i + 3
        elseif w.cxx and adjacent(list, i + 1, ":") then i = i + 3
        elseif adjacent(list, i + 1, "+") or adjacent(list, i + 1, "-") then i = i + 2
        else break end
    end
    return i
end

local PREFIX <const> = { ["-"] = true, ["+"] = true, ["!"] = true, ["~"] = true, ["*"] = true,
    ["&"] = true }
local operand_end

-- Whether the brackets at index i and `stop` are a cast: types alone, and a value after them.
local function is_cast(list, i, stop)
    local next = list[stop + 1]
    if not next or stop == i + 1 then return false end
    for k = i + 1, stop - 1 do
        local t = list[k]
        if t.kind ~= "word" and t.text ~= "*" then return false end
    end
    local last = list[stop - 1].text
    if next.kind == "number" then return true end
    if next.kind == "word" then return true end
    return next.text == "(" and (last == "*" or KINDS[last] or last == "float" or last == "double")
end

-- The last index of the operand of a cast that begins at index i; nil: it is not understood.
function operand_end(w, i)
    local list = w.list
    while list[i] and PREFIX[list[i].text] do i = i + 1 end
    local t = list[i]
    if not t then return nil end
    if t.text == "(" then
        local stop = closing(list, i)
        if stop and is_cast(list, i, stop) then return operand_end(w, stop + 1) end
        return stop and postfix_end(w, stop)
    end
    if t.text == "sizeof" and (list[i + 1] or {}).text ~= "(" then return nil end
    if t.kind == "word" or t.kind == "number" then return postfix_end(w, i) end
end

-- Writes a conversion in place of the tokens from index i to `stop`, of the values up to `last`.
local function convert(w, i, stop, last, kind, type)
    local list = w.list
    w:blank(list[i].at, list[stop].at + #list[stop].text - 1)
    w:insert(list[i].at, ("GP_CAST(%s, %s, "):format(kind, type))
    w:insert(list[last].at + #list[last].text - 1, ")")
    w.casts = w.casts + 1
end

-- The conversion at index i, if there is one.
local function at(w, i)
    local list, t = w.list, w.list[i]
    if t.text == "(" and begins_value(list, i) then
        local stop = closing(list, i)
        local type, kind = type_of(list, i + 1, stop or i)
        local last = kind and operand_end(w, stop + 1)
        if last then convert(w, i, stop, last, kind, type) end
    elseif w.cxx and KINDS[t.text] and begins_value(list, i) and list[i - 1].text ~= "<" and
        (list[i + 1] or {}).text == "(" and list[i + 2].text ~= "*" then
        local last = closing(list, i + 1)
        local empty = last == i + 2
        if last and not empty then convert(w, i, i, last, KINDS[t.text], t.text) end
    elseif w.cxx and t.text == "static_cast" then
        local stop = angle_end(list, i + 1)
        local type, kind = type_of(list, i + 2, stop or i)
        local last = kind and closing(list, stop + 1)
        if last then convert(w, i, stop, last, kind, type) end
    end
end

-- Those of the function whose body is from the { at index i to `last`.
local function of_body(w, i, last)
    for k = i + 1, last do at(w, k) end
end

-- The value of a variable of its declaration: the type's first token, and its last; the value's =,
-- and the , or ; after it.
local function of_value(w, first, last, equals, stop)
    local type, kind = type_of(w.list, first, last + 1)
    if not kind or stop <= equals + 2 or w.list[equals + 1].text == "{" then return end
    w:insert(w.list[equals].at, (" GP_CAST(%s, %s, "):format(kind, type))
    w:insert(w.list[stop].at - 1, ")")
    w.casts = w.casts + 1
end

return { of_body = of_body, of_value = of_value }
