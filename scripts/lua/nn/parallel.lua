--!plain
-- nn.parallel.DistributedDataParallel(model, {bucket = "25MB"}): a model of which each rank trains
-- a copy on its part of every batch. Gradients are averaged over ranks in buckets, each as soon as
-- its gradients are complete, while backward goes on. Source: torch.nn.parallel.
local require = ...
local gpush, nn, declared = require "gpush", require "nn", require "declared"
local registry = require "registry"
local dist = gpush.dist
local core = registry["gpush.dist"]
local check_fields = require "check_fields"
local ranks = require "dist.text"
local NAME <const> = "nn.parallel.DistributedDataParallel"

local DDP = nn.module { "DistributedDataParallel", sig = "value model, table? options" }

-- ---- the same model on every rank ----

local function described(model)
    local list = {}
    nn.tensors(model, function(path, x, kind)
        local shape = #x.shape > 0 and table.concat(x.shape, "x") or "scalar"
        list[#list + 1] = ("%s '%s' %s %s%s"):format(kind == "parameter" and kind or "buffer", path,
            x.dtype, shape, x.requires_grad and "" or " without gradients")
    end)
    return list
end

-- Raises on every rank where one has other tensors than rank 0.
local function compare(model, group)
    local all = ranks.gather(gpush.json.encode(described(model)), group)
    for r, text in ipairs(all) do all[r] = gpush.json.decode(text) end
    for r = 2, #all do
        for i = 1, math.max(#all[1], #all[r]) do
            local first, other = all[1][i] or "nothing", all[r][i] or "nothing"
            if first ~= other then
                nn.raise("%s: models differ: tensor %d is %s on the first rank, %s on number %d",
                    NAME, i, first, other, r)
            end
        end
    end
end

local function equal_start(model, group, root)
    local futures = {}
    gpush.no_grad(function()
        nn.tensors(model, function(_, x)
            futures[#futures + 1] = dist.broadcast_(x, root, { group = group, async = true })
        end)
        gpush.wait(futures)
    end)
end

-- ---- buckets ----

local units = { [""] = 1, B = 1, KB = 1e3, MB = 1e6, GB = 1e9 }
local function bytes(size)
    local number, unit = tostring(size):match "^([%d.]+) *(%u*)$"
    local n = tonumber(number) and units[unit] and tonumber(number) * units[unit]
    if not n or n < 1 then
        nn.raise("%s: option 'bucket': expected a size such as \"25MB\", got %s", NAME,
            tostring(size))
    end
    return n
end

-- Parameters in the order in which backward reaches them, about: the last ones first. A step leaves
-- all fields as they were, so that it can be captured.
local function make_buckets(parameters, most)
    local buckets, last = {}, nil
    for i = #parameters, 1, -1 do
        local p = parameters[i]
        local n = p:numel() * p:element_size()
        local joins = last and last.dtype == p.dtype and last.device == p.device
        if not joins or last.bytes + n > most then
            last = { bytes = 0, dtype = p.dtype, device = p.device, unused = false, grads = {},
                had = {} }
            buckets[#buckets + 1] = last
        end
        last[#last + 1] = p
        last.bytes = last.bytes + n
        last.left, last.had[#last] = #last, true
    end
    return buckets
end

-- Starts the average of a bucket's gradients: they become one tensor, and after them comes a flag
-- for each parameter: whether it had one. Flags are made by ops, which a captured step can replay.
local function launch(self, bucket)
    local parts, flags, like = {}, {}, { dtype = bucket.dtype, device = bucket.device }
    for i, p in ipairs(bucket) do
        local g = bucket.grads[i]
        if not g then flags[i] = gpush.zeros(1, like) end
        parts[i] = (g or gpush.zeros(p.shape, like)):reshape(-1)
    end
    if not next(flags) then parts[#parts + 1] = gpush.ones(#bucket, like)
    else
        for i = 1, #bucket do parts[#parts + 1] = flags[i] or gpush.ones(1, like) end
    end
    bucket.flat = gpush.cat(parts, 1)
    bucket.unused = bucket.left > 0
    for i = 1, #bucket do bucket.had[i], bucket.grads[i] = bucket.grads[i] ~= nil, nil end
    local options = { group = self.options.group, async = true }
    bucket.future = dist.all_reduce_(bucket.flat, "mean", options)
end

-- The averages become the parameters' gradients. A parameter that no rank has used gets none.
local function give(bucket)
    gpush.wait(bucket.future)
    local at, flags = 1, nil
    if bucket.unused then
        flags = bucket.flat:narrow(1, bucket.flat:numel() - #bucket + 1, #bucket):tolist()
    end
    for i, p in ipairs(bucket) do
        local n = p:numel()
        if bucket.had[i] or flags[i] > 0 then
            p.grad = bucket.flat:narrow(1, at, n):view(p.shape)
        end
        at = at + n
    end
    bucket.flat, bucket.future, bucket.left = nil, nil, #bucket
end

-- When backward is over. Every rank starts all buckets, in the same order.
local function finish(self, ok)
    local state = self.state
    local first = state.next
    state.next, state.begun = 1, false
    if not ok then
        for _, bucket in ipairs(state.buckets) do
            for i = 1, #bucket do bucket.grads[i] = nil end
            bucket.left, bucket.flat, bucket.future = #bucket, nil, nil
        end
        return
    end
    gpush.no_grad(function()
        for k = first, #state.buckets do launch(self, state.buckets[k]) end
        for _, bucket in ipairs(state.buckets) do give(bucket) end
    end)
end

-- The gradient g of parameter number i of a bucket is complete; true: it is taken.
local function gradient(self, bucket, i, g)
    local state = self.state
    if not state.sync then return false end
    if not state.begun then
        state.begun = core.after(function(ok) finish(self, ok) end)
        if not state.begun then
            nn.raise("%s: two of them in one backward; wrap the model that has both", NAME)
        end
    end
    local p = bucket[i]
    bucket.grads[i] = p.grad and p.grad + g or g
    bucket.left = bucket.left - 1
    while state.next <= #state.buckets and state.buckets[state.next].left == 0 do
        launch(self, state.buckets[state.next])
        state.next = state.next + 1
    end
    return true
end

-- ---- the module ----

--- nn.parallel.DistributedDataParallel(model, {bucket = "25MB", group = all ranks})
function DDP:init(model, options)
    if not nn.is_module(model) then
        nn.raise("%s: argument 'model' (#1): expected a module, got %s", NAME, type(model))
    end
    options = options or {}
    check_fields(NAME, "any bucket, any group", options)
    local most = bytes(options.bucket or "25MB")
    self.module = model
    self.options = { group = options.group, root = options.group and options.group.ranks[1] or 0,
        size = options.group and options.group.size or dist.size }
    compare(model, options.group)
    equal_start(model, options.group, self.options.root)
    local learned = {}
    for _, p in ipairs(model:parameters()) do
        if p.requires_grad then learned[#learned + 1] = p end
    end
    if #learned == 0 then nn.raise("%s: the model has no parameter with gradients", NAME) end
    self.state = { buckets = make_buckets(learned, most), next = 1, begun = false, sync = true }
    if self.options.size == 1 then return end
    for _, bucket in ipairs(self.state.buckets) do
        for i, p in ipairs(bucket) do
            core.ready(p, function(g) return gradient(self, bucket, i, g) end)
        end
    end
end

-- Buffers, such as running means, are the first rank's.
function DDP:forward(...)
    if self.training and self.state.sync and gpush.is_grad_enabled() and self.options.size > 1 then
        gpush.no_grad(function()
            for _, x in ipairs(self.module:buffers()) do
                dist.broadcast_(x, self.options.root, { group = self.options.group })
            end
        end)
    end
    return self.module(...)
end

-- Runs fn, in which gradients add up on each rank without being averaged: the next backward
-- outside averages the sums.
function DDP:no_sync(fn, ...)
    local state = self.state
    local was = state.sync
    state.sync = false
    local out = table.pack(pcall(fn, ...))
    state.sync = was
    if not out[1] then error(out[2], 0) end
    return table.unpack(out, 2, out.n)
end

declared(DDP, NAME .. ".", { no_sync = "self module, function fn, rest args" })
nn.parallel = { DistributedDataParallel = DDP }
