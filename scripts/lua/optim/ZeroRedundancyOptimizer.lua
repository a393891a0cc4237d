--!plain
-- optim.ZeroRedundancyOptimizer: an optimizer whose state is divided among the ranks of a job. Each
-- rank steps its own parameters and then gives them to the others. Source: ZeRO's first stage
-- (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
-- 2020); the name is that of torch.distributed.optim.
local require = ...
local gpush, optim, composite = require "gpush", require "optim", require "composite"
local registry = require "registry"
local Optimizer = registry["gpush.optimizer"]
local NAME <const> = "ZeroRedundancyOptimizer"
local BUCKET <const> = 25e6 -- bytes of parameters that are sent together

local Sharding = {}
Sharding.__index = Sharding

-- ---- whose parameters ----

-- Gives each new parameter, in the order of the groups, to the rank with the fewest bytes so far:
-- every rank comes to the same, and a later group moves none.
local function assign(self, groups)
    for _, group in ipairs(groups) do
        for _, p in ipairs(group.params) do
            if not self.owner[p] then
                local least = 0
                for r = 1, self.size - 1 do
                    if self.load[r] < self.load[least] then least = r end
                end
                self.owner[p] = least
                self.load[least] = self.load[least] + p:numel() * p:element_size()
                self.params[#self.params + 1] = p
            end
        end
    end
end

-- Whether this rank steps p.
function Sharding:owns(p)
    if not self.owner[p] then assign(self, self.groups) end
    return self.owner[p] == self.rank
end

-- ---- after a step ----

-- Lists of parameters that are sent as one tensor: of one owner, dtype and device.
local function make_buckets(self)
    local buckets, last = {}, {}
    for _, p in ipairs(self.params) do
        local key = ("%d %s %s"):format(self.owner[p], p.dtype, p.device)
        local n, bucket = p:numel() * p:element_size(), last[key]
        if not bucket or bucket.bytes + n > BUCKET then
            bucket = { owner = self.owner[p], bytes = 0 }
            last[key], buckets[#buckets + 1] = bucket, bucket
        end
        bucket[#bucket + 1] = p
        bucket.bytes = bucket.bytes + n
    end
    return buckets
end

-- The bucket's parameters one after the other.
local function flatten(bucket)
    local parts = {}
    for i, p in ipairs(bucket) do parts[i] = p:detach():reshape(-1) end
    return gpush.cat(parts, 1)
end

-- Every rank gets the parameters that the others have stepped. A collective, without gradients.
function Sharding:share()
    if self.size == 1 then return end
    assign(self, self.groups)
    local ranks = self.group and self.group.ranks
    local flats, futures = {}, {}
    local buckets = make_buckets(self)
    for i, bucket in ipairs(buckets) do
        flats[i] = flatten(bucket)
        futures[i] = gpush.dist.broadcast_(flats[i], ranks and ranks[bucket.owner + 1]
            or bucket.owner, { group = self.group, async = true })
    end
    for i, bucket in ipairs(buckets) do
        gpush.wait(futures[i])
        local at = 1
        for _, p in ipairs(bucket) do
            local n = p:numel()
            if bucket.owner ~= self.rank then p:copy_(flats[i]:narrow(1, at, n):view(p.shape)) end
            at = at + n
        end
    end
end

-- ---- the optimizer ----

local function is_optimizer(value)
    local class = type(value) == "table" and getmetatable(value)
    return class and getmetatable(class) == Optimizer
end

-- The optimizer itself, or the message of why there is none.
local function make(params, class, options)
    local meta = getmetatable(class)
    if type(class) ~= "function" and not (type(meta) == "table" and meta.__call) then
        return nil, ("argument 'class' (#2): expected one such as optim.Adam, got a %s"):format(
            gpush.is_tensor(class) and "tensor" or type(class))
    end
    local ok, self = pcall(class, params, options)
    if not ok then return nil, (tostring(self):gsub("^.-:%d+: ", "")) end
    if is_optimizer(self) then return self end
    return nil, "argument 'class' (#2): expected one such as optim.Adam, got what makes no \z
        optimizer"
end

-- A part is no state: a plain checkpoint of one rank would lack the others'.
local function state_dict(self)
    if self.sharding.size == 1 then return Optimizer.state_dict(self) end
    optim.raise("optim.%s: state_dict: each of %d ranks has a part; save with \z
        checkpoint.save(file, {…}, {sharded = true})", NAME, self.sharding.size)
end

return composite {
    name = "optim." .. NAME,
    sig = "any params, any class, table? options",
    help = "an optimizer of class, such as optim.AdamW, whose state is divided among the ranks: \z
        each updates its part of the parameters and sends it to the others. Results are those of \z
        the optimizer itself, bit for bit. Gradients must be the same on all ranks, as \z
        nn.parallel.DistributedDataParallel makes them",
    fn = function(params, class, options)
        local rest, group = {}, nil
        for k, v in pairs(options or {}) do
            if k == "group" then group = v else rest[k] = v end
        end
        local self, problem = make(params, class, rest)
        if not self then optim.raise("optim.%s: %s", NAME, problem) end
        if group ~= nil and not (type(group) == "table" and group.ranks) then
            optim.raise("optim.%s: option 'group': expected what dist.group returned, got a %s",
                NAME, type(group))
        end
        local dist = gpush.dist
        local size = group and group.size or dist.size
        local sharding = setmetatable({ group = group, size = size,
            rank = group and group.rank or dist.rank, owner = setmetatable({}, { __mode = "k" }),
            load = {}, params = {}, groups = self.param_groups }, Sharding)
        if not sharding.rank then optim.raise("optim.%s: this rank is not in the group", NAME) end
        for r = 0, size - 1 do sharding.load[r] = 0 end
        self.sharding, self.state_dict = sharding, state_dict
        self.local_state_dict = Optimizer.state_dict
        return self
    end,
}
