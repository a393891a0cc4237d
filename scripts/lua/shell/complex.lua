--!plain
-- Writes operations on complex numbers in Lua, for translate.lua. Here these are pairs in a last
-- dim of size 2, so what takes a complex tensor there is another op here, or is said in words.
local require = ...
local gpush = require "gpush"
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, path, say = translate.expression, translate.path, translate.say
local complex = {}

-- Functions of PyTorch's that return complex tensors, by their names here.
local returns = {}
for name in ("fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.rfft2 fft.rfftn \z
    fft.ihfft stft complex polar view_as_complex"):gmatch "%S+" do
    returns[name] = true
end
local keeps = { conj = true, clone = true,
    detach = true, conj_physical = true }
-- What pairs have in their place.
local forms = { real = 'Z["..., 1"]', imag = 'Z["..., 2"]', abs = "linalg.vector_norm(Z, 2, -1)",
    angle = 'atan2(Z["..., 2"], Z["..., 1"])', conj = "Z * tensor{1, -1}",
    conj_physical = "Z * tensor{1, -1}", view_as_real = "Z", resolve_conj = "Z" }

local function none(what)
    say(("complex numbers are pairs in a last dim of size 2, and there is no %s of them"):format(
        what))
end

-- Raises where an index would reach the pairs' dim.
function complex.index(node)
    for _, item in ipairs(complex.is(node[2]) and node[3] or {}) do
        if item[1] == "ellipsis" then none "index from the end" end
    end
end

-- The name of a function of a package, without the package.
local function function_name(node)
    local full = node[1] == "call" and path(node[2])
    return full and elsewhere.keys(full)[1]:gsub("^torch%.", ""):gsub("^np%.", "") or nil
end

-- Whether the expression is complex there.
function complex.is(node)
    local k, name = node[1], function_name(node)
    if k == "name" then return translate.told(node[2]) == "complex" end
    if k == "paren" then return complex.is(node[2]) end
    if k == "index" then return complex.is(node[2]) end
    if k == "unary" then return complex.is(node[3]) end
    if k == "binary" then return complex.is(node[3]) or complex.is(node[4]) end
    if returns[name] then return true end
    local f = k == "call" and node[2]
    if name and keeps[name] then return node[3][1] ~= nil and complex.is(node[3][1]) end
    return f and f[1] == "field" and keeps[f[3]] and complex.is(f[2]) or false
end

local function form_of(name, z)
    if not forms[name] then none(name) end
    return (forms[name]:gsub("Z", function() return (emit(z, 14)) end)),
        name:find "^conj" and 10 or 14
end

-- A call of a function, torch.abs(z), or method, z.abs(), of a complex tensor; nil of any other.
function complex.call(node)
    local name, f, args = function_name(node), node[2], node[3]
    local z = args[1]
    local held = f[1] == "field" and f[3] == "abs" and path(f[2])
    local v = held and translate.value(held)
    if gpush.is_tensor(v) and v.ndim > 1 and v:size(-1) == 2 and v:is_floating_point() then
        translate.note(("of complex pairs: linalg.vector_norm(%s, 2, -1)"):format((emit(f[2]))))
    end
    if f[1] == "field" and complex.is(f[2]) then name, z = f[3], f[2]
    elseif not z or z[1] == "named" or not complex.is(z) then return nil end
    if name == "clone" or name == "detach" then return nil end
    if name:find "^fft%." then
        if #args > 1 or name:find "shift$" then none "such transform over chosen dims" end
        return nil
    end
    return form_of(name, z)
end

-- The field of a complex tensor; nil of any other value.
function complex.field(node)
    if complex.is(node[2]) then return form_of(node[3], node[2]) end
end

local PRODUCT <const> = [[(function(a, b) return stack({a["..., 1"] * b["..., 1"] - a["..., 2"]
    * b["..., 2"], a["..., 1"] * b["..., 2"] + a["..., 2"] * b["..., 1"]}, -1) end)]]

-- An operator of complex tensors; nil where the values are none, or the operator is the same here.
function complex.binary(op, left, right)
    local a, b = complex.is(left), complex.is(right)
    if not (a or b) or a and b and (op == "+" or op == "-") then return nil end
    if a and b and op == "*" then
        return ("%s(%s, %s)"):format(PRODUCT:gsub("\n +", " "), emit(left), (emit(right)))
    end
    local real = a and right or left
    if a and b or op ~= "*" and not (op == "/" and a) then none("operator " .. op) end
    if translate.kind(real) == "number" then return nil end
    return ("%s %s %s:unsqueeze(-1)"):format(emit(a and left or right, 10), op, emit(real, 14)), 10
end

return complex
