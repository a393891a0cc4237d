--!plain
-- ModuleList: a list of modules whose parameters count, without a forward of its own; for i, m in ipairs(list) walks it.
local gpush, nn = ...
local ModuleList = nn.module "ModuleList"

--- nn.ModuleList{a, b, …}
function ModuleList:init(list)
    for _, module in ipairs(list or {}) do self:append(module) end
end

function ModuleList:append(module)
    if not nn.is_module(module) then
        nn.raise("nn.ModuleList: entry %d: expected a module, got %s", #self + 1, type(module))
    end
    self[#self + 1] = module
    return self
end
return ModuleList
