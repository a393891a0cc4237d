--!plain
-- Types of formulas: names of C, CUDA and CuPy, and gpush's dtypes; and lists of parameters, such
-- as "T x, raw float y, i64 n".
local require = ...
local fail = require "fail"

local DTYPES <const> = { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool" }
local NAMES <const> = {
    double = "f64", float64 = "f64", float = "f32", float32 = "f32", half = "f16", __half = "f16",
    float16 = "f16", bfloat16 = "bf16", __nv_bfloat16 = "bf16", long = "i64", int64 = "i64",
    int64_t = "i64", int = "i32", int32 = "i32", int32_t = "i32", short = "i16", int16 = "i16",
    int16_t = "i16", char = "i8", int8 = "i8", int8_t = "i8", uint8 = "u8", uint8_t = "u8",
}
for _, name in ipairs(DTYPES) do NAMES[name] = name end

local function dtype(name) return NAMES[name] end
local function names() return table.concat(DTYPES, ", ") .. ", float, int … or a capital" end

-- Parameters of a text: {name =, type =, raw =}, each. A type of one capital is a variable.
local function parameters(text, what, kind)
    local list, seen = {}, {}
    for part in (text .. ","):gmatch "%s*([^,]*),%s*" do
        part = part:gsub("%s+$", ""):gsub("^const%s+", "")
        local raw, rest = part:match "^(raw)%s+(.*)"
        local type, name = (rest or part):match "^([%a_][%w_]*)%s+([%a_][%w_]*)$"
        if not type then
            if part == "" and text:match "^%s*$" then break end
            fail("%s: %s '%s': expected 'type name', as in 'T x'", what, kind, part)
        end
        if not (NAMES[type] or type:find "^%u$") then
            fail("%s: %s '%s': unknown type '%s' (expected %s)", what, kind, name, type, names())
        end
        if seen[name] then fail("%s: %s '%s' is there twice", what, kind, name) end
        seen[name] = true
        list[#list + 1] = { name = name, type = type, raw = raw ~= nil }
    end
    return list
end

-- The type variables of the lists: {T = true}.
local function letters(...)
    local set = {}
    for _, list in ipairs { ... } do
        for _, p in ipairs(list) do if not NAMES[p.type] then set[p.type] = true end end
    end
    return set
end

return { dtype = dtype, names = names, parameters = parameters, letters = letters }
