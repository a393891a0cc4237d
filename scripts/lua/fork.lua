--!plain
-- fork and wait: a function's ops go to separate streams, in parallel to work queued meanwhile. f =
-- fork(fn, …) calls fn at once, like any function, but with another stream as the current one of
-- each asynchronous device in use, and returns a future; wait(f) returns fn's results. Neither
-- makes the host wait: ops run after those whose tensors they take, on any stream. On the cpu,
-- which has no queue, fn is just called. Source: torch.jit.fork and wait.
local gpush, fail, _, _, declared = ...
local check_list = debug.getregistry()["gpush.check_list"]
local STREAMS = 8 -- per device; more forks than that share them

local pools = {} -- device name -> its streams and the next of them

-- An idle stream of the device, or else the next one in turn.
local function pick(device)
    local pool = pools[device]
    if not pool then
        pool = { next = 0 }
        pools[device] = pool
    end
    for _, s in ipairs(pool) do
        if not s:busy() then return s end
    end
    if #pool < STREAMS then
        pool[#pool + 1] = gpush.stream(device)
        return pool[#pool]
    end
    pool.next = pool.next % STREAMS + 1
    return pool[pool.next]
end

local Future = {}
Future.__index = Future
Future.__name = "gpush.future"

--- Whether everything that the function queued is done. Does not wait.
function Future:done()
    for _, event in ipairs(self.events) do
        if not event:done() then return false end
    end
    return true
end

--- What the function returned; as wait(f).
function Future:wait() return table.unpack(self.values, 1, self.values.n) end

function Future:__tostring()
    return ("future: %d value%s, %s"):format(
        self.values.n, self.values.n == 1 and "" or "s", self:done() and "done" or "at work")
end

debug.getregistry()["gpush.future"] = Future
declared(Future, "future.", { done = "self future", wait = "self future" })

local function callable(fn)
    local meta = getmetatable(fn)
    return type(fn) == "function" or type(meta) == "table" and meta.__call ~= nil
end

-- Calls fn(…) with the streams, from the i-th on, as the current ones of their devices; restores
-- those even when fn raises.
local function on(streams, i, fn, ...)
    if i > #streams then return table.pack(fn(...)) end
    local _ <close> = streams[i]:use()
    return on(streams, i + 1, fn, ...)
end

local function fork(fn, ...)
    if not callable(fn) then
        fail("fork: fn: expected a function or a module, got %s",
            gpush.is_tensor(fn) and "a tensor" or type(fn))
    end
    local streams, events = {}, {}
    for _, device in ipairs(gpush.devices()) do
        if device ~= "cpu" then streams[#streams + 1] = pick(device) end
    end
    local values = on(streams, 1, fn, ...)
    for i, s in ipairs(streams) do events[i] = s:record() end
    return setmetatable({ values = values, events = events }, Future)
end

-- wait(f): what the function returned. wait{f, g, …}: a list of the first value of each.
local function wait(f)
    if getmetatable(f) == Future then return f:wait() end
    if type(f) ~= "table" then
        fail("wait: expected a future, or a list of futures, got %s",
            gpush.is_tensor(f) and "a tensor" or type(f))
    end
    check_list("wait", "future", f)
    local values = {}
    for i = 1, #f do
        if getmetatable(f[i]) ~= Future then
            fail("wait: number %d of the list: expected a future, got %s", i, type(f[i]))
        end
        values[i] = f[i]:wait()
    end
    return values
end

return { fork = fork, wait = wait }
