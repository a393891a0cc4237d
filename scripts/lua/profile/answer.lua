--!plain
-- What a profile says, as one table for programs: gpush analyze --json and others print it as
-- JSON, in the form of docs/answer.schema.json. Its numbers are those of the texts: prof:verdict(),
-- sync(), rows(), devices(), queues(), launches(), idle() and critical_path(). Times are in whole
-- nanoseconds. What a record does not have is left out; a list may be empty.
local require = ...
local gpush, registry = require "gpush", require "registry"

local SCHEMA <const> = 1 -- the version: a field that goes, or changes its meaning, raises it
local LIMIT <const> = 15 -- rows of ops and kernels

local Array = { __jsontype = "array" }

local function utf8_only(s) return utf8.len(s) and s or (s:gsub("[\x80-\xff]", "?")) end

-- A whole number of nanoseconds or bytes; a text that JSON can hold; other values as they are.
local function value(v)
    if type(v) == "string" then return utf8_only(v) end
    if math.type(v) == "float" then
        if v ~= v or v == math.huge or v == -math.huge then return nil end
        return math.tointeger(v) or v
    end
    return v
end

-- The fields of a row by the names that they have outside: a name is a field, or {name, field}.
local function fields(row, names)
    local out = {}
    for _, it in ipairs(names) do
        local name, field = it, it
        if type(it) == "table" then name, field = it[1], it[2] end
        out[name] = value(row[field])
    end
    return out
end

local function rows(list, names, limit)
    local out = setmetatable({}, Array)
    for i, row in ipairs(list) do
        if limit and i > limit then break end
        out[i] = fields(row, names)
    end
    return out
end

local CAUSE <const> = { "cause", "label", "times", { "time_ns", "ns" }, { "worth_ns", "worth" },
    "share", "more", "nothing", "unknown", { "at_most_ns", "at_most" },
    "where", "file", "line", "rank", "advice", "advised" }
local WAIT <const> = { "file", "line", "region", "rank", "device", "why", "what", "advice", "count",
    { "waited_ns", "waited" }, { "longest_ns", "longest" }, "drained", { "idle_ns", "idle" },
    { "saves_ns", "saves" }, { "at_most_ns", "at_most" }, "more", "mixed" }
local READ <const> = { "file", "line", "region", "rank", "why", "what", "advice", "count" }
local OP <const> = { "name", "count", { "self_host_ns", "self_cpu_time_total" },
    { "host_ns", "cpu_time_total" }, { "self_device_ns", "self_device_time_total" },
    { "device_ns", "device_time_total" } }
local KERNEL <const> = { "name", "count", { "device_ns", "self_device_time_total" },
    { "shortest_ns", "device_time_min" }, { "longest_ns", "device_time_max" }, "blocks_per_sm",
    "occupancy", "grid", "block", "registers", "shared_memory", "tensor_cores" }
local DEVICE <const> = { "device", "rank", "streams", "kernels", "copies", "short", "busy",
    { "span_ns", "span" }, { "idle_ns", "idle" }, { "compute_ns", "compute" },
    { "other_ns", "other" }, { "kernel_ns", "kernel_time" },
    { "copy_ns", "copy_time" }, { "collective_ns", "collective" }, { "overlapped_ns", "beside" } }
local STREAM <const> = { "device", "stream", "rank", "work", { "busy_ns", "busy" },
    { "host_wait_ns", "host_wait" }, { "kernel_wait_ns", "kernel_wait" }, { "other_ns", "other" },
    "changes", { "queued_mean", "mean" }, { "queued_std", "std" },
    { "queued_min", "min" }, { "queued_q25", "q25" }, { "queued_median", "median" },
    { "queued_q75", "q75" }, { "queued_max", "max" } }
local LAUNCH <const> = { "device", "call", "rank", "times", "work", { "called_ns", "called" },
    { "called_most_ns", "called_most" }, { "work_ns", "busy" }, { "delay_ns", "delay" },
    { "delay_median_ns", "delay_median" }, { "delay_most_ns", "delay_most" }, "short", "slow",
    "late" }
local IDLE <const> = { "rank", { "wall_ns", "wall" }, { "kernels_ns", "kernels" },
    { "copies_ns", "copies" }, { "latency_ns", "latency" }, { "waiting_ns", "waiting" },
    { "loader_ns", "loader" }, { "op_ns", "op" }, { "script_ns", "script" },
    { "queued_mean", "depth" }, { "queued_most", "most" } }
local STEP <const> = { "kind", "name", "count", { "time_ns", "ns" } }

-- What f(prof, …) returns; nil where it raises: the record does not have it, or the build.
local function try(f, ...)
    local ok, result = pcall(f, ...)
    return ok and result or nil
end

-- The kernels and copies by name; rows of host time are left out.
local function kernels_of(prof)
    local list = {}
    for _, row in ipairs(prof:rows { group = "kernel" }) do
        if row.count > 0 then list[#list + 1] = row end
    end
    return list
end

-- The time of kernels that are named after tensor cores.
local function on_tensor_cores(kernels)
    local ns = 0
    for _, row in ipairs(kernels) do
        if row.tensor_cores then ns = ns + row.self_device_time_total end
    end
    return ns
end

local function verdict(list)
    if not list then return nil end
    local out = fields(list, { "cause", "sentence", "untold", "kind", { "wall_ns", "wall" },
        { "recorded_ns", "recorded" }, { "busy_ns", "busy" } })
    out.causes = rows(list, CAUSE)
    for i, row in ipairs(list) do
        -- without a verdict nothing was replayed, but where it would be one of bounds
        local told = not list.untold or list.untold == "bound"
        local known = told and not row.unknown
        if not known then
            out.causes[i].worth_ns, out.causes[i].share, out.causes[i].unknown = nil, nil, true
        end
    end
    return out
end

local function waits(list)
    local out = fields(list, { "count", { "waited_ns", "waited" }, { "idle_ns", "idle" },
        "unknown", { "accuracy", "predicted" } })
    out.lines = rows(list, WAIT)
    return out
end

local M = {}

--- What a profile says: a table for json.encode. limit: the ops and kernels, 15.
function M.of(prof, limit)
    limit = limit or LIMIT
    local job = rawget(registry["gpush.replay"], "job")
    local _ <const>, _ <const> = job and job(prof), registry["gpush.usage"].of(prof) -- held here
    local sync = prof:sync()
    local out = fields(prof, { "kind", "wall_ns", "dropped", "predicted", "accuracy", "modelled",
        { "events", "count" }, { "source", "how" } })
    local devices = prof:devices()
    local sort = #devices > 0 and "self_device_time_total" or "self_cpu_time_total"
    out.schema, out.gpush = SCHEMA, gpush._VERSION
    out.verdict = verdict(sync.verdict)
    out.waits = waits(sync)
    out.would_wait = rows(sync.reads, READ)
    out.ops = rows(prof:rows { sort = sort }, OP, limit)
    local kernels = #devices > 0 and kernels_of(prof) or {}
    out.kernels = rows(kernels, KERNEL, limit)
    out.tensor_core_ns = #devices > 0 and on_tensor_cores(kernels) or nil
    out.devices, out.streams = rows(devices, DEVICE), rows(prof:queues(), STREAM)
    out.launches = rows(prof:launches(), LAUNCH)
    local idle = try(prof.idle, prof)
    out.idle = idle and rows(#idle.ranks > 0 and idle.ranks or { idle }, IDLE)
    local path = try(prof.critical_path, prof)
    out.critical_path = path and rows(path, STEP, limit)
    return out
end

--- What sync.lines() says, by the same schema: the waits of a run that was not recorded.
function M.of_waits(lines)
    local list = { count = 0, waited = 0.0 }
    for _, row in ipairs(lines) do
        if row.watched and not row.reason then
            local ns = function(s) return math.floor(s * 1e9 + 0.5) end
            list[#list + 1] = { file = row.file, line = row.line, device = row.device,
                why = row.why, what = row.what, advice = row.advice, count = row.times,
                waited = ns(row.wait), longest = ns(row.longest), drained = row.drained }
            list.count, list.waited = list.count + row.times, list.waited + ns(row.wait)
            list.kind = list.kind or row.kind
        end
    end
    local out = { schema = SCHEMA, gpush = gpush._VERSION, kind = list.kind or "measured" }
    out.waits = waits(list)
    return out
end

--- Prints such a table on standard output as one line of JSON.
function M.print(answer)
    io.stdout:write(gpush.json.encode(answer), "\n")
    io.stdout:flush()
end

return M
