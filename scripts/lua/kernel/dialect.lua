--!plain
-- Whether a kernel's text needs C++: by words that C has not, references, default arguments, and
-- functions of one name.
local require = ...
local fail, tokens = require "fail", require "kernel.tokens"
local TYPES = require "kernel.parameters".TYPES
local closing = tokens.closing

local CXX <const> = {}
for word in ("template typename class namespace using constexpr auto static_cast reinterpret_cast \z
    const_cast operator decltype nullptr private public protected friend virtual noexcept mutable \z
    explicit this alignas alignof static_assert cooperative_groups virtual"):gmatch "%S+" do
    CXX[word] = true
end

-- In the parameters between the brackets at first and last: what only C++ has there.
local function of_parameters(list, first, last)
    for i = first + 1, last - 1 do
        if list[i].text == "&" or list[i].text == "=" then return i end
    end
end

-- Of functions' definitions outside of all braces: the index of one whose name was there before, or
-- of a parameter that C has not.
local function of_functions(list)
    local seen, i = {}, 1
    while list[i] do
        if list[i].text == "(" and list[i - 1] and list[i - 1].kind == "word" then
            local last = closing(list, i) or #list
            if list[last + 1] and list[last + 1].text == "{" then
                local found = of_parameters(list, i, last)
                if found or seen[list[i - 1].text] then return found or i - 1 end
                seen[list[i - 1].text] = true
            end
            i = last
        elseif list[i].text == "{" then i = closing(list, i) or #list end
        i = i + 1
    end
end

-- Whether the token names CUDA's half types, or includes their headers.
local function of_half(t)
    if t.kind == "directive" then return t.text:find "cuda_[bf][fp]16" ~= nil end
    return t.kind == "word" and (t.text == "half2" or t.text == "nv_bfloat162" or
        t.text:find "^__half" or t.text:find "^__nv_bfloat16") or false
end

local function is_cxx(list, i)
    local t, before, next = list[i], list[i - 1] or {}, list[i + 1] or {}
    local after = list[i + 2] or {}
    if (t.kind == "word" and CXX[t.text]) or of_half(t) then return true end
    if t.text == ":" then return next.text == ":" and next.at == t.at + 1 end
    if t.text == "&" then -- a reference: T &x = …
        return before.kind == "word" and next.kind == "word" and after.text == "=" and
            (list[i + 3] or {}).text ~= "="
    end
    if t.text == "struct" or t.text == "union" then
        return before.text ~= "typedef" and next.kind == "word" and after.text == "{"
    end
    if t.text == "[" then
        return next.text == "&" or next.text == "=" or (next.text == "]" and after.text == "(")
    end
    if t.kind == "word" and TYPES[t.text] then -- int(x)
        return next.text == "(" and after.text ~= "*" and before.text ~= "("
    end
    return t.kind == "word" and t.text:find "^%l+[234]$" and next.text == "{"
        and before.text ~= "struct" or false
end

-- The token that only C++ has; nil: there is none.
local function reason(list)
    for i = 1, #list do
        if is_cxx(list, i) then return list[i] end
    end
    local found = of_functions(list)
    return found and list[found]
end

-- An error where the text asks for memory of the device's heap. line(i): that of a place.
local function refuse_heap(list, what, line)
    for i, t in ipairs(list) do
        local called = (list[i + 1] or {}).text == "("
        if t.kind == "word" and (t.text == "new" or t.text == "delete" or
            (called and (t.text == "malloc" or t.text == "free"))) then
            fail("%s: '%s' (line %d): kernels have no heap here; pass a tensor for the memory",
                what, t.text, line(t.at))
        end
    end
end

local function uses_half(list)
    for _, t in ipairs(list) do
        if of_half(t) then return true end
    end
    return false
end

return { refuse_heap = refuse_heap, reason = reason, uses_half = uses_half }
