#!/usr/bin/env bash
# Profiles of ranks become one: clocks are compared by the collectives, and prof:collectives() names
# the rank that the others waited for and the line that kept it.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >x.lua <<'E2'
dist.init{timeout = 60}
local busy = 0
local function delay(seconds)
    local t = clock()
    while clock() - t < seconds do end
    busy = busy + clock() - t
end
local function step(x)
    local y = x * 2
    if dist.rank == 1 then delay(0.04) end
    y = y + 1
    return dist.all_reduce(y)
end
local function slow_op(x)
    local y = x * 2
    if dist.rank == 0 then for _ = 1, 6 do y = (y:reshape(400, 400) @ y:reshape(400, 400)):reshape(-1):clamp(0, 1) end end
    return dist.all_reduce_(y)
end
local pair = dist.group{0, 1}
step(ones(100))
busy = 0
local prof = profile.run(function()
    for _ = 1, 4 do step(ones(100)) end
    local x = rand(160000, {device = "sim"})
    for _ = 1, 2 do slow_op(x) end
    for _ = 1, 20 do dist.barrier() end
    dist.all_reduce(ones(3), {group = pair})
end)
prof:save(("r%d.prof"):format(dist.rank))
print(("busy %d %.0f"):format(dist.rank, busy * 1e9))
E2
ranks 2 x.lua
tap_is "$status $(head -c 300 err)" "0 " "it runs"
cat >y.lua <<'E2'
local failed = 0
local function check(ok, name, ...)
    print(ok and "ok" or "WRONG", name, ...)
end
local planted = tonumber(arg[1])
local both = profile.load{"r1.prof", "r0.prof"}
local list = both:collectives()
local rows = {}
for _, row in ipairs(list) do rows[("%s %s"):format(row.op, row.line)] = row end
local r = rows["dist.all_reduce 12"]
check(r.count == 4 and r.last == 1, "the late rank", r.count, r.last)
check(r.meanwhile == "between x.lua:9 and 11", "the line that kept it", r.meanwhile)
check(r.excess > 0.7 * planted and r.excess < 1.5 * planted, "how long", r.excess, planted)
check(r.waited > 0.7 * planted, "how long the other one waited", r.waited)
r = rows["dist.all_reduce_ 17"]
check(r.count == 2 and r.last == 0 and r.meanwhile:find "x.lua:16", "an op of a device", r.last, r.meanwhile)
check(rows["dist.all_reduce (ranks 0, 1) 27"] ~= nil, "a group has a row of its own")
check(rows["dist.barrier 26"].count == 20, "barriers")
for i, x in ipairs(list.ranks) do
    check(x.rank == i - 1 and math.abs(x.exposed + x.hidden - x.collectives) < 2, "exposed and hidden", x.rank)
end
check(list.imbalance > 1, "load imbalance", list.imbalance)
local text = tostring(list)
check(text:find "last" and text:find "hidden", "as text")

-- Clocks: rank 1's file, moved by an hour, gives the same profile within the stated error.
local how = "2 of 2 ranks, from r1.prof and 1 more; the ranks' clocks agree within ([%d.]+) us, by 26 collectives"
local error_us = tonumber(both.how:match(how))
check(error_us, "the error is stated", both.how)
local function text_of(name) local f <close> = io.open(name) return f:read "a" end
local function write(name, text) local f <close> = io.open(name, "w") f:write(text) end
local r1 = text_of "r1.prof"
write("moved.prof", (r1:gsub('"t0":(%d+)', function(t) return ('"t0":%d'):format(t + 3600000000000) end)))
local other = profile.load{"r0.prof", "moved.prof"}
local moved_us = tonumber(other.how:match("agree within ([%d.]+) us"))
local function starts(p)
    local list = {}
    for _, e in ipairs(p:events()) do if e.rank == 1 then list[#list + 1] = e.start end end
    return list
end
local a, b, most = starts(both), starts(other), 0
for i = 1, #a do most = math.max(most, math.abs(a[i] - b[i])) end
check(#a == #b and most <= (error_us + moved_us) * 1e3 + 1, "a clock that is an hour ahead", most, moved_us)
check(moved_us <= error_us + 0.1, "is compared as well", moved_us, error_us)

-- What cannot be joined.
local function fails(pattern, files)
    local ok, message = pcall(profile.load, files)
    check(not ok and message:find(pattern), pattern, message)
end
fails("r0.prof: .*rank 0 for a second time", {"r0.prof", "r0.prof"})
local alone = profile.run(function() ones(2):sum() end)
alone:save "alone.prof"
fails("alone.prof: .*this is not", {"r0.prof", "alone.prof"})
both:save "both.prof"
fails("both.prof: .*this is not", {"r0.prof", "both.prof"})
local again = profile.load "both.prof"
check(tostring(again:collectives()) == text and again.how == both.how, "a joined profile is saved and loaded")
write("fewer.prof", (r1:gsub('"dist_all_reduce"', '"dist_all_gather"', 1):gsub('"dist.all_reduce"', '"dist.all_gather"', 1)))
check(profile.load{"r0.prof", "fewer.prof"}.how:find "each rank begins with the first", "other collectives")
local ok, message = pcall(both.savings, both)
check(not ok and message:find "this profile is of 2", "no replay across ranks", message)
both:report "both.html"
check(text_of "both.html":find "rank 1", "a page with both ranks")
check(#alone:collectives() == 0 and tostring(alone:collectives()):find "no collective", "one process")
E2
"$GPUSH_BUILD/gpush" y.lua "$(awk '$1 == "busy" && $2 == 1 { print $3 }' out)" >found 2>err
tap_is "$? $(head -c 300 err)" "0 " "they are loaded"
tap_is "$(grep WRONG found)" "" "clocks, the late rank and its line"
"$GPUSH_BUILD/gpush" analyze r0.prof r1.prof >found 2>err
tap_is "$? $(grep -c 'between x.lua:9 and 11' found)" "0 1" "gpush analyze shows it"
tap_done
