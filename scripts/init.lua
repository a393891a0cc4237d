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

-- The columns of nonzero, one tensor for each dim.
local nonzero, where = gpush.nonzero, gpush.where
local function as_tuple(x)
    local rows, columns = nonzero(x), {}
    for d = 1, rows.shape[2] do columns[d] = rows:select(2, d) end
    return table.unpack(columns)
end

--- nonzero(x): the indices of the elements that are not zero, a row each; nonzero(x, {as_tuple = true}): a tensor for each dim.
define("nonzero", function(x, opt)
    if type(opt) == "table" and opt.as_tuple then return as_tuple(x) end
    if opt == nil or (type(opt) == "table" and opt.as_tuple == false) then return nonzero(x) end
    return nonzero(x, opt)
end, true)

--- where(cond, a, b), or where(cond): what nonzero(cond, {as_tuple = true}) gives.
define("where", function(cond, ...)
    if select("#", ...) == 0 then return as_tuple(cond) end
    return where(cond, ...)
end, true)
