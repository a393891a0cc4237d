-- Stacks in profiles: functions, the user's frames only, coroutines, and the module that is called.
local t = require "tap"

local function find(rows, name)
    for _, r in ipairs(rows) do if r.name == name then return r end end
end
local function frames(stack)
    local list = {}
    for frame in (stack .. " < "):gmatch "[^:]*:%d+(.-) < " do list[#list + 1] = frame end
    return list
end

-- ---- functions ----
local x = ones(2, 2)
local function inner(v)
    local y = v:exp()
    return y
end
local tools = { ["a < b:1"] = function(v) local y = v:log() return y end }
function tools.outer(v)
    local y = inner(v)
    return y
end
local prof = profile.run({ stack = true }, function()
    local _ = tools.outer(x)
    _ = tools["a < b:1"](x)
end)
local rows = prof:rows { group = "stack" }
t.is(frames(find(rows, "exp").stack), { " (inner)", " (outer)", "", "" }, "with their functions")
t.is(frames(find(rows, "log").stack), { "", "", "" }, "those whose name is no word have none")
local text = prof:table { group = "stack", width = 300 }
t.ok(text:find("%(inner%) < .-%(outer%)"), "a table shows them")

local path = os.tmpname()
prof:speedscope(path)
local file <close> = assert(io.open(path))
local names = {}
for _, frame in ipairs(json.decode(file:read "a").shared.frames) do
    names[frame.name] = frame.line or true
end
t.ok(math.type(names.inner) == "integer" and names.outer, "speedscope has functions and lines")
prof:save(path)
t.is(profile.load(path):rows { group = "stack" }, rows, "a saved profile keeps them")
os.remove(path)

-- ---- chosen depth ----
local function depths(options)
    local found = {}
    for _, r in ipairs(profile.run(options, function()
        local y = tools.outer(x)
        return y
    end):rows { group = "stack" }) do
        if r.name == "exp" then found[#found + 1] = #frames(r.stack) end
    end
    return found
end
t.is({ depths { stack = 1 }, depths { stack = 2 }, depths { with_stack = 32 },
    depths { stack = true } }, { { 1 }, { 2 }, { 5 }, { 5 } },
    "the number of innermost calls that was asked for")
for _, n in ipairs { 0, 33, -1, 1.5, "2" } do
    local message = ": stack: expected true, false or 1 to 32 frames, got "
        .. tostring(n):gsub("[-.]", "%%%0")
    t.error(function() profile.run({ stack = n }, function() end) end, "profile.run" .. message,
        "run" .. message)
    t.error(function() profile.start { stack = n } end, "profile.start" .. message,
        "start: it is refused, too")
    t.error(function() profile.schedule { wait = 9, stack = n } end, "profile.schedule" .. message,
        "schedule: at once")
end
local recorded
local steps = profile.schedule { active = 1, repeats = 1, stack = 1,
    on_trace_ready = function(p) recorded = p end }
tools.outer(x)
steps:step()
t.is(#frames(find(recorded:rows { group = "stack" }, "exp").stack), 1, "a schedule passes it on")

-- ---- coroutines, and the library's frames ----
local co = coroutine.wrap(function()
    local y = inner(x)
    return y
end)
prof = profile.run({ stack = true }, function() local _ = co() end)
t.is(#frames(find(prof:rows { group = "stack" }, "exp").stack), 4,
    "a coroutine's stack goes on with who resumed it")
local linear = nn.Linear(2, 2)
prof = profile.run({ stack = true }, function() local _ = linear(x) end)
local stack = find(prof:rows { group = "stack" }, "linear").stack
t.ok(not stack:find "scripts/lua", "the library's frames are hidden: " .. stack)
t.is(#frames(stack), 2, "and the user's are there")

-- ---- modules ----
local Block = nn.module "Block"
function Block:init() self.lin = nn.Linear(2, 2) end
function Block:forward(v) return self.lin(v):relu() end
local Net = nn.module "Net"
function Net:init()
    self.features = nn.Sequential(Block(), Block())
    self.head = nn.Linear(2, 1)
end
function Net:forward(v) return self.head(self.features(v)) end
local net, other = Net(), Net()
prof = profile.run({ stack = true }, function()
    for _ = 1, 3 do net(x) end
    other(x)
    local _ = x + 1
end)
local calls = {}
for _, r in ipairs(prof:rows { group = "module" }) do calls[r.name] = r.count end
t.is(calls["Net.features.1.lin"], 4, "an op's module is named by its path")
t.is(calls["Net.features.2"], 4, "what a module computes itself is its own")
t.is(calls["Net.head"], 4, "each in its place")
t.is(calls["(no module)"], 1, "outside of any module")
local sum = 0
for _, r in ipairs(prof:rows { group = "module" }) do sum = sum + r.self_cpu_time_total end
t.is(sum, prof.wall_ns, "the rows by module add up to the wall time")
local relu = find(prof:rows { group = "stack" }, "relu")
t.ok(relu.module:find "^Net%.features%.%d$", "a row by stack has its module")
local function fails()
    local _ = profile.run(function() end):rows { group = "module" }
end
t.error(fails, 'group = "module" needs a profile with stack = true',
    "without stacks there are none")

t.done()
