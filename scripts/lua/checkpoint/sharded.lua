--!plain
-- Checkpoints that all ranks of a job write together, each a part of the tensors to a file of its
-- own (a shard), and that load on any number of ranks. The checkpoint's own file names the shards.
-- It is replaced last: until then an earlier checkpoint is whole.
local require = ...
local gpush, raise = require "gpush", require "raise"
local checkpoint = gpush.checkpoint
local json, safetensors = gpush.json, gpush.safetensors
local ranks, encode = require "dist.text", require "checkpoint.init".encode
local list_folder = require "loader".list
local FORMAT <const>, SHARD <const> = "gpush checkpoint", "gpush checkpoint shard"

local function shard_name(file, generation, rank, size)
    local stem = file:gsub("%.safetensors$", "")
    return ("%s-%d-%05d-of-%05d.safetensors"):format(stem, generation, rank + 1, size)
end

local function folder_of(file) return file:match "^.*/" or "" end

-- ---- what the ranks have ----

local function join(path, key) return path == "" and tostring(key) or path .. "." .. key end

-- The union of trees of several ranks: what two have must be equal.
local function merge(a, b, path, rank)
    if type(a) == "table" and type(b) == "table" and not a["$number"] and not b["$number"] then
        for k, v in pairs(b) do
            if a[k] == nil then a[k] = v
            else a[k] = merge(a[k], v, join(path, k), rank) end
        end
        return a
    end
    local x, y = json.encode(a), json.encode(b)
    if x == y then return a end
    raise("checkpoint.save: '%s' differs between ranks: %s on rank 0, %s on rank %d; give what is \z
        the same on all, such as dist.all_reduce's result", path, x, y, rank)
end

-- For each tensor the rank that writes it: of those that have it the one with the fewest bytes so
-- far; rank 0, or the first that has it, for what may differ (buffers, tensors by themselves).
local function divide(all)
    local names, owner, load = {}, {}, {}
    for r, rank in ipairs(all) do
        load[r] = 0
        for name in pairs(rank.bytes) do
            if not names[name] then
                names[#names + 1] = name
                names[name] = true
            end
        end
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local best
        for r, rank in ipairs(all) do
            local has = rank.bytes[name]
            if has and (not best or not rank.first[name] and load[r] < load[best]) then best = r end
        end
        owner[name] = best
        load[best] = load[best] + all[best].bytes[name]
    end
    return owner
end

-- ---- saving ----

-- The texts of an earlier checkpoint in file; {} where there is none, or what is there is damaged.
-- One that cannot be read now may be whole: its shards must not be taken for nobody's.
local function earlier(file)
    if not checkpoint.exists(file) then return {} end
    local ok, message, texts = pcall(safetensors.load, file)
    if ok then return texts.format == FORMAT and texts or {} end
    for _, reason in ipairs { "cannot open", "cannot read", "cannot map", "memory" } do
        if message:find(reason, 1, true) then
            raise("%s", (message:gsub("^.-safetensors%.load: ", "")))
        end
    end
    return {}
end

local function describe(generation, objects)
    local out = { tensors = {}, first = {}, parts = true }
    local data = encode(objects, "", out)
    local bytes = {}
    for name, x in pairs(out.tensors) do bytes[name] = x:numel() * x:element_size() end
    return out.tensors, json.encode { data = data, bytes = bytes, first = out.first,
        rng = gpush.get_rng_state(), generation = generation }
end

local function write_shard(path, tensors, owner, rank, save)
    local mine = {}
    for name, x in pairs(tensors) do if owner[name] == rank + 1 then mine[name] = x end end
    safetensors.save(path, mine, { metadata = { format = SHARD, save = save } })
end

-- pcall(fn) on all ranks, and fn's value; raises on all where it failed on one, after undo.
local function all(fn, undo)
    local ok, value, rank = ranks.together(fn)
    if ok then return value end
    if undo then undo() end
    value = value:gsub("^.-safetensors%.save: ", ""):gsub("^.-checkpoint%.save: ", "")
    raise("checkpoint.save: %s%s", gpush.dist.size > 1 and ("on rank %d: "):format(rank) or "",
        value)
end

-- Removes the shards of other saves, which names does not list: of the earlier one, and of those
-- that were killed.
local function remove_others(file, names)
    local within, stem, keep = folder_of(file), file:match "[^/]*$":gsub("%.safetensors$", ""), {}
    for _, name in ipairs(names) do keep[name] = true end
    for _, name in ipairs(list_folder(within == "" and "." or within) or {}) do
        local rest = name:sub(1, #stem) == stem and not keep[name] and name:sub(#stem + 1) or ""
        if rest:find "^%-%d+%-%d%d%d%d%d%-of%-%d%d%d%d%d%.safetensors$" then
            local ok, _, own = pcall(safetensors.load, within .. name)
            if ok and own.format == SHARD then os.remove(within .. name) end
        end
    end
end

local function save(file, objects, rng)
    local rank, size = gpush.dist.rank, gpush.dist.size
    local tensors, mine
    all(function() tensors, mine = describe(earlier(file).generation, objects) end)
    local list = ranks.gather(mine)
    for r, text in ipairs(list) do list[r] = json.decode(text) end
    local generation = math.tointeger(tonumber(list[1].generation or 0)) + 1
    local shards, states, data = {}, {}, list[1].data
    all(function()
        for r, each in ipairs(list) do
            if r > 1 then data = merge(data, each.data, "", r - 1) end
            shards[r] = shard_name(file, generation, r - 1, size)
            states[r] = each.rng
        end
    end)
    local id = ("%d of %d ranks"):format(generation, size)
    all(function() write_shard(shards[rank + 1], tensors, divide(list), rank, id) end,
        function() os.remove(shards[rank + 1]) end)
    local names = {}
    for r, path in ipairs(shards) do names[r] = path:sub(#folder_of(file) + 1) end
    all(function()
        if rank > 0 then return end
        safetensors.save(file, {}, { metadata = { format = FORMAT, version = "2", save = id,
            generation = tostring(generation), data = json.encode(data),
            shards = json.encode(names), rng = rng and json.encode(states) or nil } })
    end, function() os.remove(shards[rank + 1]) end)
    -- What is left, for lack of memory, the next save removes.
    if rank == 0 then pcall(remove_others, file, names) end
end

-- ---- loading ----

-- The tensors of all shards that the checkpoint's texts name, by name.
local function load(file, texts)
    local tensors = {}
    for _, name in ipairs(json.decode(texts.shards)) do
        local path = folder_of(file) .. name
        local ok, found, own = pcall(safetensors.load, path)
        if not ok then
            raise("checkpoint.load: %s: %s", file, (found:gsub("^.-safetensors%.load: ", "")))
        end
        if own.format ~= SHARD or own.save ~= texts.save then
            raise("checkpoint.load: %s: %s is a part of another checkpoint", file, path)
        end
        for key, x in pairs(found) do tensors[key] = x end
    end
    return tensors
end

-- This rank's state of the random generator, of the list of those that were saved: a rank that was
-- not there goes on as one that was, counted round.
local function rng_state(list) return list[gpush.dist.rank % #list + 1] end

return { save = save, load = load, rng_state = rng_state }
