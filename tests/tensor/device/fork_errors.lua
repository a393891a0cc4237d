-- An op of a fork that fails raises wherever its result, or the fork, is waited for; never nowhere.
local t = require "tap"

for _, dev in ipairs { "cpu", "sim" } do
    local on = { device = dev }
    local x, nine = rand(64, 64, on), tensor({ 9 }, on)
    local labels = tensor({ 1, 2, 70, 4 }, on)
    local function bad() return x:index_select(1, nine * 10) end
    local function loss() return nn.CrossEntropyLoss()(x["1:4"], labels) end
    local pattern = "index_select: index 90 is out of range.*fork_errors.lua:8 on " .. dev

    -- where it is raised
    local readers = {
        item = function(y) return y:sum():item() end,
        tolist = function(y) return y:tolist() end,
        text = function(y) return tostring(y) end,
        branch = function(y) return y:sum() > 0 and 1 or 0 end,
        save = function(y) npy.save(os.tmpname(), y) end,
        copy = function(y) return y:to(dev == "cpu" and "sim" or "cpu"):sum():item() end,
        synchronize = function() synchronize() end,
        device = function() synchronize(dev) end,
    }
    for name, reader in pairs(readers) do
        local y
        fork(function() y = bad() end)
        t.error(function() return reader(y) end, pattern, dev .. ": " .. name)
        t.error(function() return y:sum():item() end, "out of range",
            dev .. ": " .. name .. ", the value raises again")
        t.ok(pcall(synchronize), dev .. ": " .. name .. ", nothing else does")
    end

    -- wait itself, on the cpu, where the host waits
    local f = fork(bad)
    if dev == "cpu" then
        t.error(function() wait(f) end, pattern, "cpu: wait raises")
        local y = wait(f)
        t.error(function() return (y + 1):sum():item() end, "out of range",
            "cpu: and an op of the caller")
        t.error(function() wait { fork(bad) } end, pattern, "cpu: wait for a list raises")
    else
        local y = wait(f)
        t.error(function() return (y + 1):sum():item() end, "out of range", "sim: what follows")
    end

    -- what failed is good again once it is overwritten
    local y
    fork(function() y = bad() end)
    pcall(synchronize)
    y:fill_(2)
    t.is(y:sum():item(), 128, dev .. ": overwritten as a whole")

    -- a fork of a fork, and what was computed from it on another stream
    local g = fork(function()
        local inner = fork(bad)
        return fork(function() return wait(inner) * 2 end)
    end)
    t.error(function() return wait(wait(g)):sum():item() end, pattern,
        dev .. ": through three streams")
    pcall(synchronize)

    -- labels, forward and backward
    t.error(function() return wait(fork(loss)):item() end, "70", dev .. ": a label")
    pcall(synchronize)
    local w = rand(64, 64, { device = dev, requires_grad = true })
    t.error(function()
        local l = wait(fork(function()
            return nn.CrossEntropyLoss()(x["1:4"]:matmul(w), labels)
        end))
        l:backward()
        return w.grad:sum():item()
    end, "70", dev .. ": a gradient")
    pcall(synchronize)
    t.is((x * 0):sum():item(), 0, dev .. ": everything else goes on")

    -- fn's own errors, and the streams afterwards
    local here = tostring(current_stream(dev))
    t.error(function() fork(function() error "no" end) end, "no", dev .. ": fn's error at once")
    t.is(tostring(current_stream(dev)), here, dev .. ": and the stream is the old one")
end

-- Exit status and output of a program.
local function run(script)
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(script)
    file:close()
    local out <close> = io.popen(("%s %s 2>&1; echo $?"):format(arg[-1], path))
    local text, code = out:read "a":match "^(.-)(%d+)\n$"
    os.remove(path)
    return tonumber(code), text
end

-- a program that never asks
for _, dev in ipairs { "cpu", "sim" } do
    local script = ([[local x = rand(4, 4, {device = "%s"})
        local f = fork(function() return x:index_select(1, tensor({9}, {device = "%s"})) end)
        %s]])
    for _, last in ipairs { "", "os.exit(0)", "os.exit(0, true)" } do
        local code, text = run(script:format(dev, dev, last))
        t.ok(code == 1 and text:find "index 9 is out of range",
            dev .. ": never read, the program fails at its end: " .. last)
    end
end
t.done()
