--!plain
-- elementwise of what is no formula: C with loops, branches or variables, as CuPy's
-- ElementwiseKernel takes it. It becomes the body of a kernel with a thread for each element, for
-- each list of dtypes that it is called with, which kernel/cuda.lua compiles, checks and launches.
local require = ...
local gpush, fail, source = require "gpush", require "fail", require "source"
local cuda, types, lexer = require "kernel.cuda", require "kernel.types", require "kernel.tokens"
local parts = require "kernel".parts
local is_tensor = gpush.is_tensor

local C_NAMES <const> = { f64 = "double", f32 = "float", f16 = "__half", bf16 = "__nv_bfloat16",
    i64 = "long long", i32 = "int", i16 = "short", i8 = "signed char", u8 = "unsigned char",
    bool = "bool" }
-- What a result is that no statement gives a value: NaN, or
local UNSET <const> = { i64 = "-0x7fffffffffffffffLL - 1", i32 = "-0x7fffffff - 1", i16 = "-32768",
    i8 = "-128", u8 = "0", bool = "0" }
local C_WORDS <const> = { unsigned = true, signed = true, sizeof = true, static_cast = true,
    reinterpret_cast = true }
local STATEMENTS <const> = {}
for word in ("for while do if else switch break continue return goto struct typedef printf \z
    assert"):gmatch "%S+" do STATEMENTS[word] = true end

-- Whether the declaration with the = at index i is one of several, as in int a = 1, b = 2.
local function of_several(list, i)
    local depth = 0
    for k = i, #list do
        local t = list[k].text
        if t == "(" or t == "[" then depth = depth + 1
        elseif t == ")" or t == "]" then depth = depth - 1
        elseif t == ";" then return false
        elseif t == "," and depth == 0 then return true end
    end
    return false
end

-- What formulas have not, and C has: types of several words, octal numbers, casts of C++, and names
-- of CUDA's intrinsics.
local function is_of_c(t, next)
    if t.kind == "number" then return t.text:find "^0[0-7]+$" end
    return C_WORDS[t.text] or (t.text:find "^__%l" and not types.dtype(t.text)) or
        (t.text == "long" and (next.text == "long" or next.text == "int"))
end

-- Whether the text is more than formulas: it has statements or blocks, counts up or down, or
-- declares a variable that gets no value, several of them, or an array.
local function is_body(text)
    local list = lexer.tokens(text)
    for i, t in ipairs(list) do
        local next, after = list[i + 1] or {}, (list[i + 2] or {}).text
        if is_of_c(t, next) then return true end
        if t.kind == "word" and next.kind == "word" and after == "=" and
            of_several(list, i + 2) then
            return true
        end
        if STATEMENTS[t.text] or t.text == "{" or t.kind == "directive" then return true end
        if (t.text == "+" or t.text == "-") and next.text == t.text and next.at == t.at + 1 then
            return true
        end
        if t.kind == "word" and next.kind == "word" and
            (after == ";" or after == "," or after == "[") then
            return true
        end
    end
    return false
end

-- Refuses what would end the kernel around it, or leave it without writing results.
local function check_body(kernel, text)
    local depth = 0
    for _, t in ipairs(lexer.tokens(text)) do
        depth = depth + (t.text == "{" and 1 or t.text == "}" and -1 or 0)
        if depth < 0 then fail("%s: a '}' that no '{' is before", kernel.name) end
        if t.text == "return" then
            fail("%s: 'return' would leave a result without its value; use 'if' or '?:'",
                kernel.name)
        end
    end
    if depth > 0 then fail("%s: a '{' that no '}' is after", kernel.name) end
end

-- gpush's and CuPy's names of types that the text has, and its type variables, as C takes them.
local function typedefs(text, letters)
    local list, seen = {}, {}
    for _, t in ipairs(lexer.tokens(text)) do
        local name = t.kind == "word" and t.text
        local dtype = name and (letters[name] or types.dtype(name))
        if dtype and not seen[name] and C_NAMES[dtype] ~= name and
            (letters[name] or name:find "%d$") and not name:find "_t$" then
            seen[name] = true
            list[#list + 1] = ("typedef %s %s;"):format(C_NAMES[dtype], name)
        end
    end
    return table.concat(list, " ")
end

-- The kernel's text for those dtypes: what is before the body, on its first line, and the whole.
-- numbers: which operands are given as numbers.
local function text_of(kernel, letters, numbers)
    local params, reads, results, writes = {}, {}, {}, {}
    local has_i = false
    local function type_of(p) return C_NAMES[types.dtype(p.type) or letters[p.type]] end
    for k, p in ipairs(kernel.inputs) do
        local name = (p.raw or numbers[k]) and p.name or "gp_of_" .. p.name
        has_i = has_i or p.name == "i"
        params[k] = ("const %s %s%s"):format(type_of(p), numbers[k] and "" or "*", name)
        if name ~= p.name then
            reads[#reads + 1] = ("const %s %s = %s[gp_i];"):format(type_of(p), p.name, name)
        end
    end
    for k, p in ipairs(kernel.outputs) do
        params[#params + 1] = ("%s *gp_of_%s"):format(type_of(p), p.name)
        results[k] = ("%s %s = %s;"):format(type_of(p), p.name,
            UNSET[types.dtype(p.type) or letters[p.type]] or "NAN")
        writes[k] = ("gp_of_%s[gp_i] = %s;"):format(p.name, p.name)
    end
    local before = ("__global__ void %s(%s, long long gp_n) { const long long gp_i = blockIdx.x * \z
        (long long)blockDim.x + threadIdx.x; if (gp_i < gp_n) { %s %s %s %s{ "):format(kernel.name,
        table.concat(params, ", "), typedefs(kernel.body, letters), table.concat(reads, " "),
        table.concat(results, " "), has_i and "" or "const long long i = gp_i; ")
    return before, before .. kernel.body .. "\n;} " .. table.concat(writes, " ") .. " } }"
end

-- The launches of the kernel for those dtypes, which are kept.
local function compiled(kernel, letters, numbers)
    local key = {}
    for k, p in ipairs(kernel.inputs) do
        key[k] = (letters[p.type] or "") .. (numbers[k] and "=" or "")
    end
    key = table.concat(key, ",")
    local known = kernel.compiled[key]
    if not known then
        local before, text = text_of(kernel, letters, numbers)
        known = cuda.made(text, kernel.name, kernel.name, kernel.checked, { file = kernel.at.file,
            line = kernel.at.line, before = before })
        kernel.compiled[key] = known
    end
    return known
end

-- The operands as the kernel reads them: each element of the common shape, one after another.
local function operands(kernel, args, letters, shape)
    local list, numbers = {}, {}
    for k, p in ipairs(kernel.inputs) do
        local x = args[k]
        numbers[k] = not is_tensor(x)
        if is_tensor(x) then
            x = x:to(types.dtype(p.type) or letters[p.type])
            x = (p.raw and x or x:expand(shape)):contiguous()
        end
        list[k] = x
    end
    return list, numbers
end

local function call(kernel, ...)
    local args, n, options, device, letters = parts.arguments(kernel, "size", ...)
    local shape, count = parts.shape_of(kernel, args, options), 1
    local list, numbers = operands(kernel, args, letters, shape)
    local results = {}
    for _, size in ipairs(shape) do count = count * size end
    for k, p in ipairs(kernel.outputs) do
        results[k] = gpush.empty(shape, { dtype = types.dtype(p.type) or letters[p.type],
            device = device })
        list[n + k] = results[k]
    end
    list[n + #results + 1] = count
    if count > 0 then compiled(kernel, letters, numbers):over(count)(table.unpack(list)) end
    return table.unpack(results)
end

-- Makes `kernel`, whose names and types are read, one with that body; at: where it stands.
local function start(kernel, text, check)
    check_body(kernel, text)
    kernel.body, kernel.compiled, kernel.checked = text, {}, check
    kernel.at = source.place_of(text)
    if not next(kernel.letters) then compiled(kernel, {}, {}) end
    function kernel.run(...) return gpush.no_grad(call, kernel, ...) end
end

return { is_body = is_body, start = start }
