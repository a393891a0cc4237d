--!plain
-- progress: only the loop where stderr is not a terminal; the lines that it draws, to a file in
-- place of one.
local t = require "tap"
local g = require "gpush"

local seen = {}
for i in g.progress(3) do seen[#seen + 1] = i end
t.is(seen, { 1, 2, 3 }, "a loop")
t.is((function() for i in g.progress(0) do return i end end)(), nil, "of nothing")

local function drawn(total, text)
    local bar, out = g.progress(total, text), {}
    t.ok(not bar.shown, "nothing is shown without a terminal")
    bar.shown, bar.out = true,
        { write = function(_, ...) out[#out + 1] = table.concat { ... } end,
            flush = function() end }
    return bar, out
end

local bar, out = drawn(4, "train")
bar:step "loss 1"
for _ = 1, 200 do bar:draw() end
t.is(#out, 1, "pictures come at most ten times a second")
t.ok(out[1]:find "^\r\27%[Ktrain %[#######%.+%] 1/4 0:00, 0:00 left  loss 1$",
    "text, bar, count, times, note")
bar:step() bar:step() bar:step()
t.ok(out[#out]:find("%[" .. ("#"):rep(30) .. "%] 4/4"), "the last step is shown")
bar:done()
t.is(out[#out], "\n", "and the line is ended")
local n = #out
bar:done()
t.is(#out, n, "once")


-- Exactly as wide as the terminal.
local terminal = g.terminal
for _, columns in ipairs { 20, 40, 60, 100 } do
    for _, text in ipairs { "x", "a text that is longer than what there is room for, by much",
        "größer", "漢字漢字漢字漢字漢字" }
    do
        bar = drawn(4, text)
        g.terminal = function() return columns end
        bar:step "a note"
        local wide = 0
        for _, code in utf8.codes(bar:line(bar.began)) do
            wide = wide + (code >= 0x1100 and 2 or 1)
        end
        g.terminal = terminal
        t.ok(wide < columns, columns .. " columns: " .. text)
    end
end

bar, out = drawn(10)
for i in bar do if i == 3 then break end end
bar:done()
t.ok(out[#out - 1]:find "2/10", "a loop that ends early counts what is done")
bar, out = drawn(5)
bar.began = bar.began - 7384
bar:step()
t.ok(out[1]:find "1/5 2:03:04, 8:12:16 left", "hours")
bar:clear()
t.is(out[#out], "\r\27[K", "clear makes room for a line of text")
local list = {}
for i, v in g.progress { "a", "b" } do list[i] = v end
t.is(list, { "a", "b" }, "along a list")
list = {}
local loader = g.data.Loader { { size = 7, get = function(_, i) return i end }, batch = 3,
    workers = 2 }
for step, x in g.progress(loader) do
    list[step] = x:size(1)
end
t.is(list, { 3, 3, 1 }, "along a loader")
for step in g.progress(loader) do if step == 2 then break end end
t.ok(not pcall(loader.team.accepts, loader.team), "a loop that is left ends the loader's workers")
t.is((g.progress(loader)).total, 3, "as many steps as the loader has batches")
t.error(function() g.progress "x" end,
    "progress.lua:%d+: progress: argument 'total' %(#1%): expected a number of steps, a loader or \z
        a list, got x", "no number")

local t0 = g.clock()
t.ok(g.clock() >= t0 and math.type(t0) == "float", "clock")
local f = io.tmpfile()
t.is(g.is_terminal(f), false, "a file is no terminal")
f:close()
t.is(g.is_terminal(f), false, "nor is a closed one")
t.done()
