-- What of the module is written in Lua: loaded by luaopen_gpush with the module table, the folder of these files and the table of methods.
local gpush, dir, methods = ...

--- Adds fn as gpush.NAME and, if it takes a tensor first, as the method x:NAME.
local function define(name, fn, is_method)
    gpush[name] = fn
    if is_method then methods[name] = fn end
end

for name, value in pairs { zeros = 0, ones = 1 } do
    define(name .. "_like", function(x, opt)
        opt = opt or {}
        return gpush.full(x.shape, value, { dtype = opt.dtype or x.dtype, device = opt.device or x.device })
    end)
end

--- Have two tensors the same shape and the same elements? A Lua boolean, so a wait (why = item) for tensors on a device.
define("equal", function(a, b)
    local x, y = a.shape, b.shape
    if #x ~= #y then return false end
    for i = 1, #x do
        if x[i] ~= y[i] then return false end
    end
    return a:eq(b):all():item()
end, true)

--- |a - b| <= atol + rtol * |b| everywhere? Source: numpy.allclose. Infinities of one sign are close; NaNs only if equal_nan.
define("isclose", function(a, b, opt)
    opt = opt or {}
    local close = (a - b):abs():le(b:abs() * (opt.rtol or 1e-5) + (opt.atol or 1e-8)) & b:abs():lt(math.huge) | a:eq(b)
    if opt.equal_nan then close = close | a:ne(a) & b:ne(b) end
    return close
end, true)

define("allclose", function(a, b, opt) return a:isclose(b, opt):all():item() end, true)
