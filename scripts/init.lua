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
