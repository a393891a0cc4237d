--!plain
-- ModuleList: a list of modules whose parameters count, without a forward of its own; for i, m in
-- ipairs(list) walks it.
local _, nn, _, _, _, declared = ...
local ModuleList = nn.module { "ModuleList", sig = "any? modules",
    help = "a list of modules whose parameters count, without a forward of its own" }

--- nn.ModuleList{a, b, …}
function ModuleList:init(list)
    if list ~= nil and (type(list) ~= "table" or nn.is_module(list)) then
        nn.raise("nn.ModuleList: expected a list of modules, got %s",
            nn.is_module(list) and "a module" or type(list))
    end
    for _, module in ipairs(list or {}) do self:append(module) end
end

function ModuleList:append(module)
    if not nn.is_module(module) then
        nn.raise("nn.ModuleList: entry %d: expected a module, got %s", #self + 1, type(module))
    end
    self[#self + 1] = module
    return self
end
declared(ModuleList, "nn.ModuleList.", { append = "self module, any module" })
return ModuleList
