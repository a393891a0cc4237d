--!plain
-- Arrays of a thread's own, as float acc[8]: each becomes a member of a struct that has room before
-- and after it, which nothing may touch, and is made known to the checks where it begins and ends
-- (kernels/common/simt/own.inc). In C++ a reference has its name; in C each use is changed. What is
-- not understood stays as it is, and is not looked at.
local require = ...
local lexer, TYPES = require "kernel.tokens", require "kernel.parameters".TYPES
local casts = require "kernel.casts"
local closing, OPEN = lexer.closing, lexer.OPEN

local function set(text)
    local words = {}
    for word in text:gmatch "%S+" do words[word] = true end
    return words
end
local NO_TYPE <const> = set "return else case goto throw delete new do typedef using if while for \z
    switch default break continue sizeof asm __asm__ namespace template"
local NOT_OWN <const> = set "static extern __shared__ __constant__ constexpr register volatile auto"
local DECLARES <const> = set "struct class union enum"
local ATTRIBUTES <const> = set "__align__ __attribute__ alignas"

-- The index of the first declarator of the declaration at index i; nil: it is none.
local function declarators_at(w, i, last)
    local list, k, words = w.list, i, 0
    while k < last do
        local t, next = list[k], list[k + 1].text
        if t.kind == "word" then
            if NO_TYPE[t.text] or NOT_OWN[t.text] then return nil end
            if words > 0 and (next == "[" or next == "=" or next == "," or next == ";") then
                return k
            end
            if ATTRIBUTES[t.text] and next == "(" then k = closing(list, k + 1) or last
            else words = words + 1 end
        elseif w.cxx and t.text == "<" and words > 0 then
            repeat k = k + 1 until k >= last or list[k].text == ">" or list[k].text == ";"
        elseif t.text == "*" and words > 0 then
            return (TYPES[list[i].text] or list[i].text == "const" or words > 1) and k or nil
        elseif not (w.cxx and t.text == ":" and words > 0) then return nil end
        k = k + 1
    end
end

-- The declarators from index k on: {name =, first =, stop = the , or ; after it, dims = their last
-- ], rank =, init = the =}; dims: where it is an array of given size.
local function declarators(list, k, last)
    local found = {}
    while k <= last do
        local d = { first = k, rank = 0 }
        while list[k].text == "*" or list[k].text == "const" do k = k + 1 end
        if list[k].kind ~= "word" then return nil end
        d.name, k = k, k + 1
        while list[k].text == "[" do
            local stop = closing(list, k)
            if not stop or stop > last then return nil end
            d.empty = d.empty or stop == k + 1
            d.rank, d.dims, k = d.rank + 1, stop, stop + 1
        end
        if list[k].text == "=" then d.init = k
        elseif list[k].text ~= "," and list[k].text ~= ";" then return nil end
        while list[k].text ~= "," and list[k].text ~= ";" do
            k = OPEN[list[k].text] and closing(list, k) or k
            k = k + 1
            if k > last then return nil end
        end
        if d.empty then d.dims = nil end
        d.stop, k = k, k + 1
        found[#found + 1] = d
        if list[d.stop].text == ";" then return found end
    end
end

-- Indices of the uses of the name from index i to `last`; nil: they cannot be told from others'.
local function uses(w, name, i, last)
    local list, found = w.list, {}
    for k = i, last do
        local before, t = list[k - 1], list[k]
        if t.text == name then
            if before.kind == "word" and not NO_TYPE[before.text] then return nil end
            local member = before.text == "." or
                (before.text == ">" and list[k - 2].text == "-" and list[k - 2].at + 1 == before.at)
            if not member then found[#found + 1] = k end
        end
    end
    for _, t in ipairs(list) do
        if t.kind == "directive" and t.text:find("%f[%w_]" .. name .. "%f[^%w_]") then
            return nil
        end
    end
    return found
end

-- Makes the array a member of a struct; used: where it is used. Returns what makes it known.
local function wrap_one(w, d, used)
    local list, name = w.list, w.list[d.name].text
    w.arrays = w.arrays + 1
    w:insert(list[d.dims].at, (" GP_ARRAY_END(%d)"):format(w.arrays))
    if d.init then
        w:insert(list[d.init].at, (" GP_ARRAY_INIT(%s)"):format(name))
        w:insert(list[d.stop].at - 1, " GP_ARRAY_INIT_END")
    end
    for _, k in ipairs(used) do
        w:insert(list[k].at - 1, ("GP_ARRAY_OF(%d)"):format(w.arrays))
    end
    return (" GP_ARRAY_KNOWN(%d, %s, %s, %d);"):format(w.arrays, name, ("[0]"):rep(d.rank),
        d.init and 1 or 0)
end

-- Does so for the arrays among the declarators; first: where the declaration begins; stop: where
-- its block ends.
local function wrap(w, first, found, stop)
    local list = w.list
    local type = w.text:sub(list[first].at, list[found[1].first].at - 1):gsub("%s+", " ")
    local after = "" -- what makes the one before known
    for n, d in ipairs(found) do
        local used = d.dims and (w.cxx and {} or uses(w, list[d.name].text, d.dims + 1, stop))
        local begin = used and "GP_ARRAY " or ""
        if n == 1 then w:insert(list[first].at - 1, begin)
        elseif after ~= "" or used then
            w.bytes[list[found[n - 1].stop].at] = ";" .. after .. " " .. begin .. type
        end
        if d.init and d.rank == 0 and d.first == d.name then
            casts.of_value(w, first, found[1].first - 1, d.init, d.stop)
        end
        after = used and wrap_one(w, d, used) or ""
    end
    local stop_at = list[found[#found].stop].at
    w.bytes[stop_at] = w.bytes[stop_at] .. after
end

-- The index of the } that ends the struct or enum that is defined at index i; nil: none is.
local function definition_end(list, i)
    if not DECLARES[list[i].text] then return nil end
    for k = i + 1, i + 4 do
        if not list[k] or list[k].text == ";" then return nil end
        if list[k].text == "{" then return closing(list, k) end
    end
end

-- The arrays of the function whose body is from the { at index i to `last`.
local function of_body(w, i, last)
    local list, ends, k, begins = w.list, {}, i, false
    while k <= last do
        local t = list[k].text
        local skip = begins and definition_end(list, k)
        local at = begins and not skip and declarators_at(w, k, last)
        local found = at and declarators(list, at, last)
        begins = t == "{" or t == "}" or t == ";"
        if skip then k = skip
        elseif found then
            wrap(w, k, found, ends[#ends])
            k, begins = found[#found].stop, true
        elseif t == "{" then ends[#ends + 1] = closing(list, k) or last
        elseif t == "}" then ends[#ends] = nil
        elseif t == "(" then k = closing(list, k) or last end
        k = k + 1
    end
end

return { of_body = of_body }
