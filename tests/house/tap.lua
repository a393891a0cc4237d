-- The test library itself: failing assertions fail, and skipped ones keep their reason.
local t = require "tap"

-- Runs body as a test file; returns its output and exit status.
local function run(body)
    local path = os.tmpname()
    local f = assert(io.open(path, "w"))
    f:write('local t = require "tap"\n', body, "\n")
    f:close()
    local p = io.popen("lua5.4 " .. path .. " 2>/dev/null")
    local out = p:read "a"
    local _, _, status = p:close()
    os.remove(path)
    return out, status
end

local function fails(body, name)
    local out, status = run(body .. " t.done()")
    t.ok(status == 1 and out:find "not ok 1" and out:find "1%.%.1\n$", name)
end

fails("t.ok(false, 'x')", "ok(false)")
fails("t.is(1, 2, 'x')", "different numbers")
fails("t.is({1, {2}}, {1, {3}}, 'x')", "different tables")
fails("t.is({1, 2, 3}, {1, 2}, 'x')", "a table too long")
fails("t.close(1, 1.1, 1e-3, 'x')", "numbers too far apart")
fails("t.close(0/0, 1, 'x')", "NaN is not close to a number")
fails("t.error(function() end, 'x')", "nothing was raised")
fails("t.error(function() error 'a' end, 'not this one')", "another message")

local out, status = run "t.is(0/0, 0/0, 'n') t.close({1, {2}}, {1 + 1e-9, {2}}, 'c') t.done()"
t.ok(status == 0 and out == "ok 1 - n\nok 2 - c\n1..2\n", "what holds passes")
out, status = run "t.skip(2, 'no device') t.done()"
t.is(out, "ok 1 # SKIP no device\nok 2 # SKIP no device\n1..2\n",
    "skipped assertions are counted, with the reason")
out, status = run "t.done()"
t.is(status, 1, "no assertion at all is a failure")
out = run "t.ok(true, 'a # SKIP b') t.done()"
t.is(out, "ok 1 - a \\# SKIP b\n1..1\n", "a name cannot pose as a directive")
t.done()
