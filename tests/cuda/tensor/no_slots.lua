-- Every op that checks elements on the stand-in for CUDA, with a bad one, on a new stream, where
-- there is no pinned memory for its slots: an error, and the device lives on.
local t = require "tap"
local g, fake = require "gpush", require "fake"
local dev = "cuda"
local x = g.ones(4, 4, { device = dev })
local i32 = { device = dev, dtype = "i32" }
local two, none = g.full({ 4 }, 2, i32), g.zeros({ 4 }, i32)
local bad = g.tensor({ 1, 9 }, { dtype = "i64", device = dev })
local pair = g.tensor({ { 1, 9 } }, { dtype = "i64", device = dev })
local half = x * 2 -- no probabilities
local labels = g.tensor({ 1, 2, 9, 1 }, { dtype = "i64", device = dev })
local calls = {
    floor_divide = function() return two:floor_divide(none) end,
    fmod = function() return two:fmod(none) end,
    pow = function() return two:pow(two:neg()) end,
    bce = function() return half:bce(x) end,
    bernoulli = function() return half:bernoulli() end,
    multinomial = function() return x:neg():multinomial(1) end,
    index_select = function() return x:index_select(1, bad) end,
    index = function() return x[bad] end,
    gather = function() return x:gather(2, pair) end,
    take = function() return x:take(bad + 9) end,
    gather_nd = function() return g.gather_nd(x, pair) end,
    take_along_dim = function() return x:take_along_dim(pair, 2) end,
    scatter = function() return x:scatter(2, pair, x:narrow(1, 1, 1):narrow(2, 1, 2)) end,
    index_add = function() return x:index_add(1, bad, x:narrow(1, 1, 2)) end,
    index_fill = function() return x:index_fill(1, bad, 3) end,
    index_put = function() return x:clone():index_put_({ bad }, x:narrow(1, 1, 2)) end,
    embedding = function() return g.embedding(bad, x) end,
    one_hot = function() return g.one_hot(bad, 3) end,
    cross_entropy = function() return g.cross_entropy(x, labels) end,
    nll_loss = function() return g.nll_loss(x, labels) end,
    bincount = function() return none:sub(1):bincount() end,
    masked_scatter = function() return x:masked_scatter(x:gt(0), x:narrow(1, 1, 1)) end,
    ["linalg.inv"] = function() return g.linalg.inv(x) end,
    ["linalg.solve"] = function() return g.linalg.solve(x, x) end,
    ["linalg.cholesky"] = function() return g.linalg.cholesky(x:neg()) end,
    repeat_interleave = function() return x:repeat_interleave(two:sub(3), 1, 4) end,
}
local names = {}
for name in pairs(calls) do names[#names + 1] = name end
table.sort(names)
local streams = {} -- kept, as a later one would have a dropped one's slots
for i, name in ipairs(names) do
    streams[i] = stream(dev)
    for _, failing in ipairs { 1, 0 } do
        fake.fault("pinned_oom=" .. failing)
        local ok, message = pcall(function()
            return streams[i]:use(function() return calls[name]():sum():item() end)
        end)
        fake.fault "pinned_oom=0"
        message = tostring(message)
        t.ok(not ok and message:find(name .. ": ", 1, true), name .. ": an error, " .. message)
        t.is(message:find "pinned host memory: out of memory" ~= nil, failing == 1,
            name .. (failing == 1 and ": of its slots" or ": of the element, once there are some"))
    end
end
t.is(x:sum():item(), 16, "the device lives on")
t.done()
