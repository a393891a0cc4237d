--!plain
-- dist: many processes, started by mpirun, srun or `gpush run`, that compute one thing together.
-- Ranks count from 0, as in MPI. Names are those of torch.distributed. Loaded on first use; MPI,
-- when the first of its functions or dist.rank or dist.size is read.
local require = ...
local gpush, dist, declared = require "gpush", require "dist", require "declared"
local registry = require "registry"
local raise = require "raise"
local core = registry["gpush.dist"]

-- The rows of the op table, by the names of functions here.
local rows = {}
for _, name in ipairs { "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
    "all_to_all", "gather", "scatter", "send", "recv" } do
    rows[name] = core.row("dist_" .. name)
end

-- ---- the job ----

local joined
local function join()
    if joined then return end
    core.open()
    joined = true
end

local fields = { rank = core.rank, size = core.size, engine = core.engine }
local meta = getmetatable(dist)
local find = meta.__index
function meta.__index(t, name)
    local get = fields[name]
    if not get then return find(t, name) end
    join()
    return get()
end
function meta.__newindex(t, name, value)
    if fields[name] then raise("dist.%s: cannot be set", name) end
    rawset(t, name, value)
end

function dist.init(timeout)
    if not (timeout > 0 and timeout < 1e6) then
        raise("dist.init: option 'timeout': expected seconds above 0, got %s", timeout)
    end
    core.timeout(timeout)
    join()
end

function dist.is_available() return core.mpi() ~= nil end

-- ---- groups ----

-- By the numbers of groups: a function's name in profiles and errors, with the group's ranks.
local names = {}
local function label(group, text)
    names[group] = setmetatable({}, { __index = function(t, name)
        t[name] = "dist." .. name .. text
        return t[name]
    end })
end
label(0, "")
local Group = { __name = "group" }
Group.__index = Group
function Group:__tostring()
    return ("group of ranks %s"):format(table.concat(self.ranks, ", "))
end

-- The number of a group; that of all ranks without one.
local function number(name, group)
    join()
    if group == nil then return 0 end
    if getmetatable(group) ~= Group then
        raise("%s: option 'group': expected what dist.group returned, got a %s", name, type(group))
    end
    if not group.number then raise("%s: rank %d is not in the %s", name, core.rank(), group) end
    return group.number
end

local function whole(name, x)
    if math.type(x) == "integer" then return x end
    raise("%s: expected ranks, got %s", name, tostring(x))
end

-- The groups that were made, by their ranks as text, in the order in which all ranks made them.
-- Each has its number, and `group`, what the script got, as long as that is not collected. MPI has
-- few communicators: those of a group that is collected on every rank serve the next one of its
-- ranks.
local made = {}

-- The place of a group that is free in the list, 0: none is. One that has sent messages stays:
-- they may not have been received.
local function find_free(list)
    for i, it in ipairs(list) do if not it.group[1] and not it.kept then return i end end
    return 0
end

-- The group's place in `made`, whose number is known where it is used again. free: that of each
-- rank's free one.
local function place_of(list, free)
    local same = true
    for _, i in ipairs(free) do same = same and i == free[1] end
    if same and free[1] > 0 then return list[free[1]] end
    local it = { kept = true, new = true, group = setmetatable({}, { __mode = "v" }) }
    list[#list + 1] = it
    return it
end

function dist.group(ranks)
    join()
    local size = core.size()
    -- compared before MPI is asked, which would wait for ranks that ask for something else
    local mine = gpush.zeros(size + 1, { dtype = "i64" })
    if #ranks > size then raise("dist.group: %d ranks (the job has %d)", #ranks, size) end
    for i, r in ipairs(ranks) do mine[i] = whole("dist.group", r) + 1 end
    local key = table.concat(ranks, " ")
    made[key] = made[key] or {}
    if #made[key] > 0 and find_free(made[key]) == 0 then collectgarbage() end
    mine[size + 1] = find_free(made[key])
    local all = core.run("dist.group", rows.all_gather, 0, mine, nil, nil, "new", false)
    all = all:reshape(size, size + 1):tolist()
    local free = {}
    for r = 1, size do free[r] = all[r][size + 1] end
    for r = 2, size do
        for i = 1, size do
            if all[r][i] ~= all[1][i] then
                raise("dist.group: ranks differ: number %d of the list is %d on rank 0, and %d on "
                    .. "rank %d", i, all[1][i] - 1, all[r][i] - 1, r - 1)
            end
        end
    end
    local it, at = place_of(made[key], free), nil
    if it.new then
        it.number = core.group(ranks)
        if it.number then label(it.number, (" (ranks %s)"):format(table.concat(ranks, ", "))) end
        it.kept, it.new = nil, nil
    end
    for i, r in ipairs(ranks) do if r == core.rank() then at = i - 1 end end
    it.group[1] = setmetatable({ number = it.number, size = #ranks, rank = at, place = it,
        ranks = table.move(ranks, 1, #ranks, 1, {}) }, Group)
    return it.group[1]
end

-- ---- collectives ----

-- Each queues on the device's communication stream. Without async what follows comes after it: on
-- the cpu the host waits (why = collective). With async it gives a future.
local function run(name, group, ...)
    return core.run(names[group][name], rows[name], group, ...)
end

local function is_root(group, root)
    return (root or 0) == core.rank() and "new" or "none"
end

function dist.all_reduce(x, op, group, async)
    return run("all_reduce", number("dist.all_reduce", group), x, op, nil, "new", async)
end
function dist.all_reduce_(x, op, group, async)
    return run("all_reduce", number("dist.all_reduce_", group), x, op, nil, "in place", async)
end
function dist.reduce(x, root, op, group, async)
    local g = number("dist.reduce", group)
    return run("reduce", g, x, op, root, is_root(group, root), async, "root")
end
function dist.broadcast(x, root, group, async)
    return run("broadcast", number("dist.broadcast", group), x, nil, root, "new", async, "root")
end
function dist.broadcast_(x, root, group, async)
    return run("broadcast", number("dist.broadcast_", group), x, nil, root, "in place", async,
        "root")
end
function dist.all_gather(x, group, async)
    return run("all_gather", number("dist.all_gather", group), x, nil, nil, "new", async)
end
function dist.reduce_scatter(x, op, group, async)
    return run("reduce_scatter", number("dist.reduce_scatter", group), x, op, nil, "new", async)
end
function dist.all_to_all(x, group, async)
    return run("all_to_all", number("dist.all_to_all", group), x, nil, nil, "new", async)
end
function dist.gather(x, root, group, async)
    local g = number("dist.gather", group)
    return run("gather", g, x, nil, root, is_root(group, root), async, "root")
end
function dist.scatter(x, root, group, async)
    return run("scatter", number("dist.scatter", group), x, nil, root, "new", async, "root")
end
function dist.send(x, to, group, async)
    local g = number("dist.send", group)
    if group then group.place.kept = true end
    return run("send", g, x, nil, to, "none", async, "dst")
end
function dist.recv(x, from, group, async)
    return run("recv", number("dist.recv", group), x, nil, from, "in place", async, "src")
end

function dist.barrier(group)
    local g = number("dist.barrier", group)
    core.run(names[g].barrier, rows.all_reduce, g,
        gpush.zeros({}, { dtype = "u8" }), "max", nil, "none", false)
end

-- A signal may come to one rank alone, and at any time: all are asked, so that all answer alike.
function dist.preempted()
    local own = registry["gpush.preempted"]()
    join()
    if core.size() == 1 then return own end
    local flag = gpush.full({}, own and 1 or 0, { dtype = "u8" })
    return core.run("dist.preempted", rows.all_reduce, 0, flag, "max", nil, "new", false):item()
        ~= 0
end

local G <const> = ", any? group, bool async=false"
declared(dist, "dist.", {
    init = "float timeout=60", group = "list ranks", barrier = "any? group",
    preempted = "", is_available = "",
    all_reduce = "tensor x, str op=\"sum\"" .. G, all_reduce_ = "tensor x, str op=\"sum\"" .. G,
    reduce = "tensor x, int root=0, str op=\"sum\"" .. G,
    broadcast = "tensor x, int root=0" .. G, broadcast_ = "tensor x, int root=0" .. G,
    all_gather = "tensor x" .. G, reduce_scatter = "tensor x, str op=\"sum\"" .. G,
    all_to_all = "tensor x" .. G, gather = "tensor x, int root=0" .. G,
    scatter = "tensor x, int root=0" .. G, send = "tensor x, int dst" .. G,
    recv = "tensor x, int src" .. G,
})
