--!plain
-- data.Subset(dataset, indices): the samples of a data set with these indices, a list or a tensor.
-- data.ConcatDataset{a, b, …}: data sets one after the other. data.random_split(dataset, lengths):
-- subsets of given sizes, at random, or of shares that add up to 1.
local require = ...
local gpush, data, composite = require "gpush", require "data", require "composite"

local function check_dataset(what, d)
    if type(d) ~= "table" or type(d.get) ~= "function" then
        data.raise("%s: expected a data set, with get and size, got %s", what,
            type(d) == "table" and "a table without get" or type(d))
    end
end

-- A data set of others, which workers build from their sources. parts: a list of them; rest: a
-- table of what `build` needs besides.
local function derive(parts, rest, build)
    local spec, made = { rest = rest, build = build }, false
    for i, d in ipairs(parts) do
        local value, make = data.source(d)
        spec[i], made = { value = value, make = make or false }, made or make ~= nil
    end
    local self = build(parts, rest)
    setmetatable(self, getmetatable(data.Dataset { size = 0, get = self.get }))
    if made then
        self.origin = { spec = spec, make = function(s)
            local own = {}
            for i, part in ipairs(s) do
                own[i] = part.make and part.make(part.value) or part.value
            end
            return s.build(own, s.rest)
        end }
    end
    return self
end

-- ---- some of the samples ----

local function of_subset(parts, indices)
    return { size = indices:numel(), dataset = parts[1], indices = indices,
        get = function(self, i) return self.dataset:get(self.indices[i]:item()) end }
end

-- A vector of indices on the cpu, each checked.
local function check_indices(dataset, indices)
    local what = "data.Subset: argument 'indices' (#2)"
    if type(indices) == "table" then
        indices = #indices > 0 and gpush.tensor(indices) or gpush.empty({ 0 }, { dtype = "i64" })
    end
    if not gpush.is_tensor(indices) or indices.ndim ~= 1 or not indices.dtype:find "^[iu]%d" then
        data.raise("%s: expected a list of integers, got %s", what, gpush.is_tensor(indices)
            and indices.dtype .. " " .. table.concat(indices.shape, "x") or type(indices))
    end
    indices = indices:to("cpu"):to "i64"
    local size = data.size(dataset, "data.Subset")
    if indices:numel() > 0 then
        local low, high = indices:min():item(), indices:max():item()
        local wrong = low < 1 and low or high > size and high
        if wrong then data.raise("%s: %d is no sample (expected 1 to %d)", what, wrong, size) end
    end
    return indices
end

local function subset(dataset, indices)
    check_dataset("data.Subset: argument 'dataset' (#1)", dataset)
    return derive({ dataset }, check_indices(dataset, indices), of_subset)
end
data.Subset = composite { name = "data.Subset", sig = "value dataset, value indices", help = "",
    fn = subset, plain = true }

-- ---- one after the other ----

local function of_all(parts, ends)
    return { size = ends[#ends], datasets = parts, ends = ends, get = function(self, i)
        local low, high = 1, #self.ends -- the first set that ends at i or later
        while low < high do
            local middle = (low + high) // 2
            if self.ends[middle] < i then low = middle + 1 else high = middle end
        end
        return self.datasets[low]:get(i - (low > 1 and self.ends[low - 1] or 0))
    end }
end

local function concat(datasets)
    if type(datasets) ~= "table" or datasets.get or #datasets == 0 then
        data.raise("data.ConcatDataset: argument 'datasets' (#1): expected a list of data sets, \z
            got %s", type(datasets) == "table" and "a table without any" or type(datasets))
    end
    local ends, all = {}, 0
    for i, d in ipairs(datasets) do
        check_dataset(("data.ConcatDataset: entry %d"):format(i), d)
        all = all + data.size(d, "data.ConcatDataset")
        ends[i] = all
    end
    return derive(table.move(datasets, 1, #datasets, 1, {}), ends, of_all)
end
data.ConcatDataset = composite { name = "data.ConcatDataset", sig = "value datasets", help = "",
    fn = concat, plain = true }

-- ---- at random ----

-- The numbers of samples: lengths, or shares of size, whose remainder the first ones get.
local function counts_of(lengths, size)
    local counts, sum, shares = {}, 0, 0
    for i, n in ipairs(lengths) do
        if type(n) ~= "number" or n ~= n or n < 0 then
            data.raise("data.random_split: argument 'lengths' (#2): entry %d is %s (expected a \z
                number from 0)", i, tostring(n))
        end
        shares = shares + n
    end
    local parts = math.abs(shares - 1) < 1e-6 and #lengths > 0 and size ~= 1
    for i, n in ipairs(lengths) do
        counts[i] = parts and math.floor(size * n) or math.tointeger(n)
        sum = sum + (counts[i] or 0)
    end
    if parts then
        for i = 1, size - sum do
            local k = (i - 1) % #counts + 1
            counts[k] = counts[k] + 1
        end
    elseif shares ~= size or sum ~= size then
        data.raise("data.random_split: argument 'lengths' (#2): they add up to %s (expected %d, \z
            the number of samples, or shares that add up to 1)", shares, size)
    end
    return counts
end

local function random_split(dataset, lengths, seed)
    check_dataset("data.random_split: argument 'dataset' (#1)", dataset)
    if type(lengths) ~= "table" or #lengths == 0 then
        data.raise("data.random_split: argument 'lengths' (#2): expected a list of numbers, got %s",
            type(lengths) == "table" and "an empty table" or type(lengths))
    end
    local size = data.size(dataset, "data.random_split")
    local counts, parts, at = counts_of(lengths, size), {}, 1
    local state = seed and gpush.get_rng_state()
    if seed then gpush.manual_seed(seed) end
    local order = gpush.randperm(size, { device = "cpu" })
    if state then gpush.set_rng_state(state) end
    for i, n in ipairs(counts) do
        parts[i] = subset(dataset, order:narrow(1, at, n):clone())
        at = at + n
    end
    return table.unpack(parts)
end
data.random_split = composite { name = "data.random_split",
    sig = "value dataset, value lengths, int? seed", help = "", fn = random_split }

return data.Subset
