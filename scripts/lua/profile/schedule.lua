--!plain
-- The part of the profiler that is written in Lua: recording by a schedule.
local require = ...
local gpush, declared, fail = require "gpush", require "declared", require "fail"
local registry = require "registry"
local profile = gpush.profile

local Schedule = {}
Schedule.__index = Schedule

-- The place of the coming step in its cycle; nil: before the first one, or after the last.
local function place(self)
    local n = self.done - self.skip_first
    local over = self.repeats > 0 and n >= self.cycle * self.repeats
    return n >= 0 and not over and n % self.cycle or nil
end

-- A region marks each recorded step.
local function end_mark(self)
    if self.mark then getmetatable(self.mark).__close(self.mark) end
    self.mark = nil
end

-- Begins the phase of the coming step: "wait" records nothing, "warmup" records and drops it, so
-- that the first costs of recording are not in "active", which is kept.
local function enter(self)
    local at = place(self)
    local phase = (not at or at < self.wait) and "wait" or at < self.wait + self.warmup and "warmup"
        or "active"
    if phase ~= self.phase and phase ~= "wait" then profile.start(self.record) end
    self.phase = phase
    if phase ~= "wait" then self.mark = profile.region(("step %d"):format(self.done + 1)) end
end

local function leave(self)
    local phase = self.phase
    if phase == "wait" then return end
    end_mark(self)
    local ok, prof = pcall(profile.stop)
    self.phase = "wait" -- in any case: what runs later is not of this schedule
    if not ok then error(prof, 0) end
    if phase ~= "active" then return prof:free() end
    self.result = prof
    if self.on_trace_ready then self.on_trace_ready(prof) end
end

--- Ends a step.
function Schedule:step()
    self.done = self.done + 1
    end_mark(self)
    local at = math.max(self.done - self.skip_first, 0) % self.cycle
    if at == 0 or at == self.wait or at == self.wait + self.warmup then leave(self) end
    enter(self)
end

--- Ends it early: an incomplete active phase is kept like a complete one. local s <close> does so,
--- too.
function Schedule:close()
    leave(self)
    self.repeats, self.done = 1, self.skip_first + self.cycle
end
Schedule.__close = Schedule.close

local capturing = registry["gpush.capture.running"]

-- A schedule that nobody holds any more ends its recording, which would otherwise go on: later
-- where a function is being captured, which may not wait.
function Schedule:__gc()
    if self.phase == "wait" then return end
    if capturing() then return setmetatable(self, Schedule) end
    self.mark = nil
    local ok, prof = pcall(profile.stop)
    if ok then prof:free() end
end

--- profile.schedule{skip_first = 10, wait = 1, warmup = 4, active = 3, repeats = 1, on_trace_ready
--- = fn, and profile.run's options}: call its step() after each step of a loop. It skips the first
--- steps once; then it rests for `wait` steps, warms up, records `active` ones, each in a region
--- "step N", and gives their profile to on_trace_ready (and keeps it as .result); repeats times,
--- without end if 0. Source: torch.profiler.
local function schedule(wait, warmup, active, repeats, on_trace_ready, stack, memory, shapes,
    limit, flops, skip_first, lua)
    local ok, message = pcall(registry["gpush.check_depth"], stack, "profile.schedule")
    if not ok then fail("%s", message) end
    local self = setmetatable({ done = 0, phase = "wait", on_trace_ready = on_trace_ready,
        record = { stack = stack, memory = memory, shapes = shapes, limit = limit,
            flops = flops, lua = lua } }, Schedule)
    for _, it in ipairs { { "skip_first", skip_first, 0 }, { "wait", wait, 0 },
        { "warmup", warmup, 0 }, { "active", active, 1 }, { "repeats", repeats, 0 } }
    do
        if it[2] < it[3] then
            fail("profile.schedule: %s: expected an integer of at least %d, got %d", it[1],
                it[3], it[2])
        end
        self[it[1]] = it[2]
    end
    self.cycle = self.wait + self.warmup + self.active
    enter(self)
    return self
end

registry["gpush.recording"] = Schedule
declared(Schedule, "recording.", { step = "self recording", close = "self recording" })
return { schedule = schedule }
