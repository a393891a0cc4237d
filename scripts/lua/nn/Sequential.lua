--!plain
-- nn.Sequential(a, b, …), or of a list: modules one after the other, each applied
-- to the result of the one before; model[2] is the second.
local require = ...
local nn, declared = require "nn", require "declared"
local Sequential = nn.module "Sequential"
local check_list, expect = require "check_list", require "nn.module.expect"

--- nn.Sequential(a, b, …) or nn.Sequential{a, b, …}
function Sequential:init(...)
    local list = table.pack(...)
    local one = list.n == 1 and type(list[1]) == "table" and list[1]
    if one and not nn.is_module(one) and not rawget(one, "__module") then
        list = one
        check_list("nn.Sequential", "modules", list)
    end
    for i = 1, list.n or #list do self:append(list[i]) end
end

function Sequential:append(module)
    expect(module, "nn.Sequential: entry " .. #self + 1)
    self[#self + 1] = module
    return self
end

function Sequential:forward(x, ...)
    local n = #self
    if n == 0 then return x end
    for i = 1, n do
        if type(self[i]) ~= "table" then self:children() end -- which names the entry that is none
    end
    if n == 1 then return self[1](x, ...) end
    x = self[1](x, ...)
    for i = 2, n - 1 do x = self[i](x) end
    return self[n](x)
end
declared(Sequential, "nn.Sequential.", { append = "self module, any module" })
return Sequential
