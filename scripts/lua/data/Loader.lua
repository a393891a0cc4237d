--!plain
-- data.Loader{dataset, batch = 1, shuffle = false, workers = 0, …}: batches of a
-- data set, made by threads while the step runs.
--
-- for step, x, y in loader() do … end runs one pass; the values after step are
-- those of dataset:get, with a dim in front.
--
-- dataset    a table with get(self, i) and size: data.Dataset,
--            data.TensorDataset, or your own
-- batch      samples of a batch
-- shuffle    another order in each pass, by Philox
-- workers    threads, each with a Lua state of its own: get, collate, their
--            upvalues and the globals that they name are copied into it, tensors
--            share their memory. 0: get runs here, when the batch is wanted
-- prefetch   batches that are under way or ready at most; by default one more
--            than workers, at least 2
-- drop_last  leaves out a last batch that is not full
-- sampler    "distributed": each rank of dist takes every size-th sample of one order, all as many:
--            the first samples fill up the last round, or drop_last leaves it out; seed is rank 0's
-- collate    function(samples): makes a batch of a list of samples; by default
--            tensors are stacked, numbers and booleans become tensors, strings
--            lists, tables tables of these
-- seed       decides the order and every sample's random numbers (with the pass
--            and the sample's index, whoever makes it); by default drawn from
--            the generator that manual_seed sets
-- pin        batches are built in host memory that a device copies from while
--            the host goes on; where there is only the cpu, that is plain memory
-- device     batches arrive there, copied without a wait; implies pin
--
-- loader.epoch counts the passes: set it to repeat one. loader:report() says who
-- waits for whom.
local require = ...
local gpush, data, composite = require "gpush", require "data", require "composite"
local registry = require "registry"
local loader, declared = require "loader", require "declared"

local Loader = {}
Loader.__index = Loader

local defaults = { batch = 1, shuffle = false, workers = 0, drop_last = false, pin = false }
local check_fields = require "check_fields"
local names = "any dataset, any batch, any shuffle, any workers, any prefetch, any drop_last, \z
    any collate, any seed, any pin, any device, any sampler"

local function fail(...) data.raise("data.Loader: " .. string.format(...)) end

local function check(name, value, low, high)
    if math.type(value) ~= "integer" or value < low or value > high then
        fail("option '%s' is %s (expected an integer, %d to %d)", name, tostring(value), low,
            high)
    end
end

local function check_options(o)
    check_fields("data.Loader", names, o)
    for name, default in pairs(defaults) do
        if type(default) == "boolean" and type(o[name]) ~= "boolean" then
            fail("option '%s': expected true or false, got %s", name,
                type(o[name]) == "number" and o[name] or type(o[name]))
        end
    end
    check("batch", o.batch, 1, 1 << 24)
    check("workers", o.workers, 0, 64)
    check("prefetch", o.prefetch, 1, 1 << 16)
    if o.seed ~= nil then check("seed", o.seed, math.mininteger, math.maxinteger) end
    if o.sampler ~= nil and o.sampler ~= "distributed" then
        fail("option 'sampler': expected \"distributed\", got %s", tostring(o.sampler))
    end
    if o.collate ~= nil and type(o.collate) ~= "function" then
        fail("option 'collate' is a %s (expected a function)", type(o.collate))
    end
    local d = o.dataset
    local indexable = type(d) == "table"
    if not indexable or type(d.get) ~= "function" then
        fail("the data set is %s (expected a table with a function get(self, index) and a size)",
            indexable and "a table without get" or "a " .. type(d))
    end
end

-- v, the result of collate, with its cpu tensors in pinned memory.
local function pinned(v)
    if type(v) == "userdata" and v.device == "cpu" then return v:pin_memory() end
    if type(v) ~= "table" or getmetatable(v) ~= nil then return v end
    local out = {}
    for k, x in pairs(v) do out[k] = pinned(x) end
    return out
end

-- Runs where batches are made, in a worker's state: completes the table {dataset, make, collate,
-- pin}; make, if present, builds the data set from the value in its place.
local function prepare(p)
    if p.make then p.dataset = p.make(p.dataset) end
    p.get = p.dataset.get
    local collate = p.collate
    if collate and p.pin then
        p.collate = function(samples) return table.unpack(pinned { collate(samples) }) end
    end
    p.random, p.randomseed = math.random, math.randomseed
    return p
end

-- Returns an iterator over the indices of the samples in the order of a pass: a lazy Fisher-Yates
-- shuffle, which remembers only the indices that it moved.
local function order(size, shuffle, seed, epoch)
    local i, moved = 0, {}
    return function()
        i = i + 1
        if i > size then return nil end
        if not shuffle then return i end
        local j = loader.draw(seed, epoch, i, i, size)
        local at_i, at_j = moved[i] or i, moved[j] or j
        moved[j], moved[i] = at_i, nil
        return at_j
    end
end

-- The samples of a rank of n, from 0: every nth of the order, the same number on all ranks.
local function part_of(next_index, size, rank, n, drop_last)
    local rounds = drop_last and size // n or (size + n - 1) // n
    local i, at, first = 0, 0, {}
    local function take()
        at = at + 1
        if at > size then return first[(at - size - 1) % size + 1] end
        local index = next_index()
        if at < n then first[at] = index end
        return index
    end
    return function()
        if i == rounds then return nil end
        i = i + 1
        local mine
        for r = 0, n - 1 do
            local index = take()
            if r == rank then mine = index end
        end
        return mine
    end
end

-- The number of samples in a pass of this process.
local function samples(self)
    local size = data.size(self.dataset, "data.Loader")
    if not self.sampler then return size end
    local n = gpush.dist.size
    return self.drop_last and size // n or (size + n - 1) // n
end

local function to_device(device, v)
    if gpush.is_tensor(v) then return v:to(device, { non_blocking = true }) end
    if type(v) ~= "table" or getmetatable(v) ~= nil then return v end
    local out = {}
    for k, x in pairs(v) do out[k] = to_device(device, x) end
    return out
end

local function all_to_device(device, n, v, ...)
    if n == 0 then return end
    return to_device(device, v), all_to_device(device, n - 1, ...)
end

-- A pass: gives batches to the workers while there is room, and takes them in order.
local function start_pass(self, ...)
    if select("#", ...) > 0 then -- `for` calls what it is given with two arguments
        fail("a pass takes no arguments; in a loop write for step, … in loader() do, with brackets")
    end
    self.epoch = self.epoch + 1
    local size = data.size(self.dataset, "data.Loader")
    local next_index = order(size, self.shuffle, self.seed, self.epoch)
    if self.sampler then
        next_index = part_of(next_index, size, gpush.dist.rank, gpush.dist.size, self.drop_last)
    end
    local source, make = data.source(self.dataset)
    local team = loader.start { workers = self.workers, prefetch = self.prefetch, pin = self.pin,
        stacked = not self.collate, seed = self.seed, epoch = self.epoch,
        program = { dataset = source, make = make, collate = self.collate, pin = self.pin,
            prepare = prepare } }
    local pending, over = 0, false

    local function fill()
        while not over and team:accepts() do
            local indices = {}
            for k = 1, self.batch do
                indices[k] = next_index()
                if not indices[k] then break end
            end
            over = #indices < self.batch
            if #indices == 0 or (over and self.drop_last) then return end
            team:add(indices)
            pending = pending + 1
        end
    end

    local step = 0
    local function keep_going(...)
        step = step + 1
        fill()
        if self.device then return step, all_to_device(self.device, select("#", ...), ...) end
        return step, ...
    end
    self.team = team
    return function()
        fill()
        if pending == 0 then team:stop() return end
        pending = pending - 1
        return keep_going(team:next())
    end, nil, nil, team
end

-- for step, … in loader() do: the fourth value, closed when the loop is left, stops the workers.
Loader.__call = start_pass

function Loader:__len()
    local size = samples(self)
    return self.drop_last and size // self.batch or (size + self.batch - 1) // self.batch
end

function Loader:__tostring()
    return ("data.Loader: %d samples in %d batches of %d, %d workers%s"):format(
        data.size(self.dataset, "data.Loader"), #self, self.batch, self.workers,
            self.shuffle and ", shuffled" or "")
end

Loader.report = require "data.report"

registry["gpush.loader"] = Loader
declared(Loader, "data.Loader.", { report = "self loader, bool print=true" })

local function new(first, options)
    local o = {}
    if type(first) == "table" and options == nil and (first[1] ~= nil or first.dataset ~= nil) and
        first.get == nil then
        options = first
        o.dataset = first[1]
    else
        o.dataset = first
    end
    for name, value in pairs(defaults) do o[name] = value end
    for name, value in pairs(options or {}) do
        if name == "dataset" and o.dataset ~= nil then
            fail "'dataset' is given twice, as argument #1 and as an option"
        end
        o[name] = value
    end
    if options == first then o[1] = nil end
    if o.prefetch == nil and math.type(o.workers) == "integer" then
        o.prefetch = math.max(o.workers + 1, 2)
    end
    check_options(o)
    if o.device then o.pin = o.pin or gpush.empty(0, { device = o.device }).device ~= "cpu" end
    o.seed = o.seed or loader.seed()
    if o.sampler then
        o.seed = gpush.dist.broadcast(gpush.tensor { o.seed }, 0):item()
    end
    o.epoch = 0
    return setmetatable(o, Loader)
end

return composite { name = "data.Loader", sig = "value dataset, table? options", help = "",
    fn = new }
