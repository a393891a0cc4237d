--!plain
-- The types and parameters of a kernel in CUDA C, as far as a launch needs them.
local require = ...
local fail, OPEN = require "fail", require "kernel.tokens".OPEN

local FLOAT <const>, SIGNED <const>, UNSIGNED <const> = 0, 1, 2
local HALF <const>, BFLOAT16 <const> = 3, 4
-- Of a type's words in alphabetical order: kind, bytes, and the dtype that a pointer takes.
local TYPES <const> = {
    ["float"] = { FLOAT, 4, "f32" }, ["double"] = { FLOAT, 8, "f64" },
    ["int"] = { SIGNED, 4, "i32" }, ["unsigned"] = { UNSIGNED, 4, "i32" },
    ["int unsigned"] = { UNSIGNED, 4, "i32" }, ["int32_t"] = { SIGNED, 4, "i32" },
    ["uint32_t"] = { UNSIGNED, 4, "i32" }, ["uint"] = { UNSIGNED, 4, "i32" },
    ["short"] = { SIGNED, 2, "i16" }, ["short unsigned"] = { UNSIGNED, 2, "i16" },
    ["int16_t"] = { SIGNED, 2, "i16" }, ["uint16_t"] = { UNSIGNED, 2, "i16" },
    ["char"] = { SIGNED, 1, "i8" }, ["char signed"] = { SIGNED, 1, "i8" },
    ["int8_t"] = { SIGNED, 1, "i8" }, ["char unsigned"] = { UNSIGNED, 1, "u8" },
    ["ushort"] = { UNSIGNED, 2, "i16" },
    ["uint8_t"] = { UNSIGNED, 1, "u8" }, ["uchar"] = { UNSIGNED, 1, "u8" },
    ["bool"] = { UNSIGNED, 1, "bool" }, ["size_t"] = { UNSIGNED, 8, "i64" },
    ["long"] = { SIGNED, 8, "i64" }, ["long unsigned"] = { UNSIGNED, 8, "i64" },
    ["int long"] = { SIGNED, 8, "i64" }, ["int64_t"] = { SIGNED, 8, "i64" },
    ["long long"] = { SIGNED, 8, "i64" }, ["long long unsigned"] = { UNSIGNED, 8, "i64" },
    ["int long long"] = { SIGNED, 8, "i64" }, ["uint64_t"] = { UNSIGNED, 8, "i64" },
    ["__half"] = { HALF, 2, "f16" }, ["half"] = { HALF, 2, "f16" },
    ["__nv_bfloat16"] = { BFLOAT16, 2, "bf16" }, ["nv_bfloat16"] = { BFLOAT16, 2, "bf16" },
    ["void"] = { UNSIGNED, 0 },
}
-- A pointer to float4 takes what one to float does.
for name, of in pairs { float = "float", double = "double", int = "int", uint = "uint",
    char = "char", uchar = "uchar", short = "short", ushort = "ushort", long = "long",
    ulong = "size_t", longlong = "long", ulonglong = "size_t" } do
    for n = 2, 4 do TYPES[name .. n] = { TYPES[of][1], 0, TYPES[of][3] } end
end
for name, of in pairs { half2 = "half", __half2 = "half", nv_bfloat162 = "nv_bfloat16",
    __nv_bfloat162 = "nv_bfloat16" } do
    TYPES[name] = { TYPES[of][1], 0, TYPES[of][3] }
end
local MOST <const> = 32 -- parameters
local TAGS <const> = { struct = true, union = true, class = true, enum = true }
local QUALIFIERS <const> = {}
for word in ("const volatile static __device__ __constant__ __managed__ constexpr inline \z
    __restrict__ restrict __restrict"):gmatch "%S+" do QUALIFIERS[word] = true end

-- Adds the tokens of a type to t = {words =, stars =, const =}; names that stand for other types,
-- in env, are replaced. Returns the token that no type has, or nil.
local function add_type(t, list, first, last, env, depth)
    for i = first, last do
        local text = list[i].text
        local known = list[i].kind == "word" and env[text]
        if text == "*" then t.stars = t.stars + 1
        elseif text == "const" then t.const = t.const or t.stars == 0
        elseif text == "volatile" then t.volatile = t.volatile or t.stars == 0
        elseif known and depth < 8 then
            local bad = add_type(t, known, 1, #known, env, depth + 1)
            if bad then return bad end
        elseif list[i].kind == "word" and not QUALIFIERS[text] then t.words[#t.words + 1] = text
        elseif list[i].kind ~= "word" then return text end
    end
end

-- The last token of a parameter without its default, and without the brackets of an array, which is
-- a pointer; and whether there were any.
local function without_end(list, first, last)
    for i = first, last do
        if list[i].text == "=" then last = i - 1 break end
    end
    if list[last].text ~= "]" then return last, false end
    for i = last, first, -1 do
        if list[i].text == "[" then return i - 1, true end
    end
    return last, false
end

-- The type of those words: one of C's, or that the text declares (env[""]).
local function type_of(words, stars, env)
    table.sort(words)
    local found = TYPES[table.concat(words, " ")]
    if found then return found end
    local name
    for _, word in ipairs(words) do
        if not TAGS[word] then name = name == nil and word end
    end
    local declared = name and (env[""] or {})[name]
    if declared == "enum" and stars == 0 then return TYPES.int end
    return declared and stars == 1 and { UNSIGNED, 0 } or nil
end

-- What a kernel takes, from the tokens first … last of a parameter.
local function parameter(list, first, last, what, k, env)
    local is_array
    last, is_array = without_end(list, first, last)
    local name = last > first and list[last].kind == "word" and list[last].text
    local t = { words = {}, stars = 0, const = false }
    local bad = add_type(t, list, first, name and last - 1 or last, env, 0)
    if bad then
        fail("%s: parameter %d: '%s' is not taken here (expected a type of C, perhaps with \z
            *, and a name)", what, k, bad)
    end
    if not name or QUALIFIERS[name] then fail("%s: parameter %d has no name", what, k) end
    t.stars = t.stars + (is_array and 1 or 0)
    local plain = table.concat(t.words, " ")
    local shown = (t.const and "const " or "") .. (t.volatile and "volatile " or "") .. plain ..
        (t.stars > 0 and " " .. ("*"):rep(t.stars) or "")
    local type = type_of(t.words, t.stars, env)
    if not type or t.stars > 1 or (t.stars == 0 and type[2] == 0) then
        fail("%s: parameter %d '%s': a launch cannot pass %s (expected a number, or a pointer to \z
            numbers)", what, k, name, shown)
    end
    if k > MOST then fail("%s: more than %d parameters", what, MOST) end
    return { name = name, text = shown, pointer = t.stars == 1, const = t.const, plain = plain,
        kind = type[1], size = type[2], dtype = t.stars == 1 and type[3] or nil }
end

-- The parameters in the brackets from index i to `last`; env: the tokens of names of types.
local function parameters(list, i, last, what, env)
    local params, first, depth = {}, i + 1, 0
    if first == last or (first + 1 == last and list[first].text == "void") then return params end
    for k = first, last do
        local t = list[k].text
        if OPEN[t] then depth = depth + 1 end
        if (t == "," and depth == 0) or k == last then
            params[#params + 1] = parameter(list, first, k - 1, what, #params + 1, env)
            first = k + 1
        end
        if t == ")" or t == "]" then depth = depth - 1 end
    end
    return params
end

-- The dtype of a variable whose type is made of the tokens first … last; nil: none is like it.
local function dtype_of(list, first, last, env)
    local t = { words = {}, stars = 0, const = false }
    if add_type(t, list, first, last, env, 0) or t.stars > 0 then return nil end
    table.sort(t.words)
    local type = TYPES[table.concat(t.words, " ")]
    return type and type[2] > 0 and type[3] or nil
end

return { parameters = parameters, dtype_of = dtype_of, TYPES = TYPES }
