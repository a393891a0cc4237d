--!plain
-- Writes what goes through a DataLoader, for loops and builtins.lua: a pass gives step, x, y for
-- each batch, for step, x, y in loader() do, where PyTorch has a list of tensors.
local require = ...
local translate, elsewhere = require "shell.translate", require "shell.elsewhere"
local emit, path = translate.expression, translate.path
local known = require "shell.known"
local batches = {}

local function called(node, name) return node[1] == "call" and path(node[2]) == name and node[3] end

-- The loader that the expression is, and whether tqdm or progress shows how far it is; nil of
-- others.
function batches.loader(node)
    if node[1] == "paren" then return batches.loader(node[2]) end
    local shown = called(node, "tqdm") or called(node, "tqdm.tqdm") or called(node, "progress")
    if shown and shown[1] then return batches.loader(shown[1]), true end
    local of = translate.origin(node)
    if of[1] == "call" then
        return elsewhere.name(path(of[2]) or "") == "data.Loader" and node or nil
    end
    local v = known.value(node)
    if v ~= nil then
        local is = type(v) == "table" and getmetatable(v) and rawget(v, "dataset") ~= nil
        return is and node or nil
    end
    local name = translate.kind(node) == nil and path(node) or ""
    return (name:find "[lL]oader$" or name:find "_dl$") and node or nil
end

-- How many tensors a batch has, where its data set is known.
local function count(node)
    local of = translate.origin(node)
    local v = known.value(node)
    local tensors = type(v) == "table" and type(v.dataset) == "table" and v.dataset.tensors
    local ds = of[1] == "call" and of[3][1]
    if ds then
        v, of = known.value(ds), translate.origin(ds)
        tensors = type(v) == "table" and v.tensors
        if of[1] == "call" and elsewhere.name(path(of[2]) or "") == "data.TensorDataset" then
            return #of[3]
        end
    end
    return tensors and #tensors or nil
end

-- How many values of a batch the trees use, batch[1] or x, y = batch; nil where they do not say.
local function used(tree, name)
    if type(tree) ~= "table" then return nil end
    local n
    local function at_least(k) if k and (not n or k > n) then n = k end end
    if tree[1] == "index" and tree[2][2] == name and #tree[3] == 1 then
        local at = known.number(tree[3][1])
        at_least(at and at >= 0 and at + 1)
    elseif tree[1] == "assign" and #tree[3] == 1 and tree[3][1][2] == name then
        local list = tree[2][1]
        if #list == 1 and list[1][1] == "tuple" then list = { table.unpack(list[1], 2) } end
        at_least(#list > 1 and #list)
    end
    for _, part in next, tree do at_least(used(part, name)) end
    return n
end

-- Names for the values of a batch, none of them one of the loop's own.
local function letters(n, ...)
    local out, taken, code = {}, {}, 96
    for _, name in ipairs { ... } do taken[name] = true end
    while #out < n do
        code = code + 1
        local name = translate.unused(string.char(code))
        if not taken[name] then out[#out + 1] = name end
    end
    return table.concat(out, ", ")
end

-- A loop over the batches, and its body; step: its variable that counts them, from 1.
function batches.loop(step, targets, over, trees, body)
    local loader, shown = batches.loader(over)
    local head = shown and ("for %s, %%s in progress(%s) do "):format(step, (emit(loader)))
        or ("for %s, %%s in %s() do "):format(step, emit(loader, 14))
    local one = #targets == 1 and targets[1][1] == "name" and targets[1][2]
    local n = one and (count(loader) or used(trees, one))
    if n then -- a list of tensors in PyTorch
        local names = letters(n, step, one)
        return head:format(names) .. ("local %s = {%s} "):format(one, names),
            translate.looping({ one }, "tensors", body)
    end
    if #targets == 1 and targets[1][1] == "tuple" then targets = { table.unpack(targets[1], 2) } end
    local names = {}
    for k, t in ipairs(targets) do names[k] = t[2] end
    return head:format(table.concat(names, ", ")),
        translate.looping(names, one and "unknown" or "tensor", body)
end

-- All batches as a list of lists.
function batches.list(node)
    local loader = batches.loader(node)
    local n = count(loader)
    local text = n and ("(function() local t = {} for _, %s in %s() do t[#t + 1] = {%s} end \z
        return t end)()"):format(letters(n), emit(loader, 14), letters(n))
        or ("(function() local t, get = {}, %s() local b = {get()} while b[1] do \z
        t[#t + 1] = {table.unpack(b, 2)} b = {get()} end return t end)()"):format(emit(loader, 14))
    return translate.renamed(text, n and "t" or "t get b")
end

-- The values of the next batch of iter(loader), or of what it was set to; nil of other expressions.
function batches.next(node)
    local of = called(node, "next")
    if not of or #of ~= 1 then return nil end
    local it = translate.origin(of[1])
    local loader = called(it, "iter") and batches.loader(it[3][1])
    if not loader then return nil end
    if it ~= of[1] then return ("select(2, %s())"):format(emit(of[1], 14)) end
    return ("select(2, %s()())"):format(emit(loader, 14))
end

return batches
