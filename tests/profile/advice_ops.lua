-- A tensor of a device in place of each number of each op's valid call (tests/support/audit): it
-- stays on the device, or its number is read, which waits in the op's name and is advised by the
-- type of the parameter.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit.samples"
local dev <const> = "sim"

local function there(v)
    if g.is_tensor(v) then return v:to(dev) end
    if type(v) ~= "table" or getmetatable(v) then return v end
    local copy = {}
    for k, e in pairs(v) do copy[k] = there(e) end
    return copy
end

-- Calls try(args) with a tensor in place of each number of the arguments and of their tables.
local function each_number(args, try)
    for i = 1, args.n do
        local v = args[i]
        local function put(value)
            local other = table.move(args, 1, args.n, 1, { n = args.n })
            other[i] = value
            return other
        end
        if math.type(v) then try(put(g.tensor(v):to(dev)), i) end
        for k, e in pairs(type(v) == "table" and not getmetatable(v) and v or {}) do
            local list = there(v)
            list[k] = math.type(e) and g.tensor(e):to(dev)
            if list[k] then try(put(list), i) end
        end
    end
end

local y = g.ones(500, 500, { device = dev })
local function waits_of(fn, args)
    g.synchronize()
    for _ = 1, 3 do local _ = y:matmul(y) end
    g.sync.reset()
    pcall(fn, table.unpack(args, 1, args.n))
    local events = g.sync.events()
    g.synchronize()
    return events
end

local tried, read, wrong = 0, 0, {}
for name, row in pairs(g.ops(true)) do
    local text = S.call(name, row)
    if text and not row.own then
        local fn, public = S.function_of(g, name)
        local args = table.pack(load("return " .. text, "=args", "t", A.env)())
        for i = 1, args.n do args[i] = there(args[i]) end
        local own = #waits_of(fn, args)
        each_number(args, function(with, i)
            tried = tried + 1
            local events = waits_of(fn, with)
            local e = events[1]
            if #events <= own then return end
            read = read + 1
            local what = e.why == "item" and (e.what == public or e.what == name)
                or e.why == "shape" and e.what == name -- repeat_interleave(x, t)
                or name == "ctc_loss" -- reads its lengths on the host
            if not what or not e.advice:find "%a+ = t:item%(%)" and e.why == "item"
                and not (name == "narrow" or name == "select" or name == "full") then
                wrong[#wrong + 1] = ("%s, argument %d: %s: %s: %s"):format(public, i, e.why, e.what,
                    e.advice)
            end
        end)
    end
end
table.sort(wrong)
t.is(wrong, {}, ("%d numbers, %d of them read"):format(tried, read))
t.ok(tried > 200 and read > 180, "ops of each kind have numbers")
t.done()
