--!plain
-- ModuleList: a list of modules whose parameters count, without a forward of its own; for i, m in
-- ipairs(list) walks it.
local _, nn, _, _, _, declared = ...
local ModuleList = nn.module { "ModuleList", sig = "list? modules",
    help = "a list of modules whose parameters count, without a forward of its own" }

--- nn.ModuleList{a, b, …}
function ModuleList:init(list)
    if nn.is_module(list) then
        nn.raise "nn.ModuleList: expected a list of modules, got a module"
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
