-- A library's op with a kernel for cuda, on the stand-in: it gets the current stream, its work is
-- in order with what comes before and after, and a device without a kernel is an error.
local t = require "tap"
package.cpath = os.getenv "GPUSH_BUILD" .. "/tests/extension/?.so;" .. package.cpath
local card_copy, hypot3 = require "card".card_copy, require "distances".hypot3

local x = arange(1, 6, { device = "cuda", dtype = "f32" }):reshape(2, 3)
t.is(card_copy(x), { { 1, 2, 3 }, { 4, 5, 6 } }, "its kernel runs")
t.is(card_copy(x:t()), { { 1, 4 }, { 2, 5 }, { 3, 6 } }, "on what was made contiguous")
local big, y = rand(256, 256, { device = "cuda" }), nil
for _ = 1, 5 do
    local v = big * 2
    y = card_copy(v) + 1
    v:zero_()
end
t.ok((y:eq(big * 2 + 1)):all():item(), "in order with other ops")
local s = stream "cuda"
t.is(s:use(function() return card_copy(x * 3) end):sum():item(), 63.0, "on another stream")
if pcall(capture, print) then -- which a build may leave out
    local step = capture(function(v) return card_copy(v * 2) + v end)
    for i = 1, 4 do t.is(step(x * i), x * i * 3, "captured, call " .. i) end
end
t.ok(profile.run(function() return card_copy(x):sum():item() end):table():find "card_copy",
    "a profile has it by its name")
t.error(function() card_copy(x, 1) end, "card_copy: ", "a launch that fails")
t.is(card_copy(x):sum():item(), 21.0, "and the next one")
t.error(function() card_copy(x:cpu()) end,
    "card_copy: no kernel for cpu: library 'card' has one for cuda alone", "none for the cpu")
t.error(function() hypot3(x, 1, 2) end,
    "hypot3: no kernel for cuda: library 'distances' has one for cpu alone", "none for cuda")
t.done()
