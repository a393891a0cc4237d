-- topk and kthvalue of long lines on the stand-in for CUDA, which run a digit at a time
-- (kernels/cuda/sort/sort.cu): the results of sorting the same numbers in Lua, the first of equal
-- ones. A second time from the last line to the first, which exposes a line that writes into the
-- next one.
local t = require "tap"
local on_stand_in, fake = pcall(require, "fake") -- else a GPU, which has its own order

-- The numbers of a list's elements in order, the largest or the smallest first; NaN is above all.
local function order(v, largest)
    local at = {}
    for i = 1, #v do at[i] = i end
    local function above(a, b) return (a ~= a and b == b) or a > b end
    table.sort(at, function(i, j)
        local a, b = v[i], v[j]
        if above(a, b) then return largest end
        if above(b, a) then return not largest end
        return i < j
    end)
    return at
end

manual_seed(11)
math.randomseed(11)
for _, from in ipairs(on_stand_in and { "forward", "backward" } or { "own" }) do
    if on_stand_in then fake.fault("order=" .. from) end
    for _, dtype in ipairs { "f32", "f64", "f16", "i64", "i32", "u8" } do
        for _, shape in ipairs { { 3, 700 }, { 1, 2049 }, { 2, 512 } } do
            local rows = {}
            for r = 1, shape[1] do
                rows[r] = {}
                for i = 1, shape[2] do
                    -- the second line: many equal ones
                    local v = math.random(0, r == 2 and 3 or 200)
                    if dtype:find "f" then v = v / 4 - 20 end
                    if dtype == "i32" or dtype == "i64" then v = v - 100 end
                    rows[r][i] = v
                end
                if dtype == "f32" then rows[r][7], rows[r][400] = 0 / 0, math.huge end
            end
            local x = tensor(rows, { dtype = dtype, device = "cuda" })
            for _, largest in ipairs { true, false } do
                local k = 9
                local values, places = x:topk(k, 2, largest)
                local want, at = {}, {}
                for r = 1, shape[1] do
                    local o = order(rows[r], largest)
                    want[r], at[r] = {}, {}
                    for j = 1, k do want[r][j], at[r][j] = rows[r][o[j]], o[j] end
                end
                local what = ("%s %dx%d, %s"):format(
                    dtype, shape[1], shape[2], largest and "largest" or "smallest")
                t.is(places:tolist(), at, what .. ": places")
                t.close(values:tolist(), want, 0, what .. ": values")
            end
            for _, k in ipairs { 1, 2, shape[2] // 2, shape[2] } do
                local value, place = x:kthvalue(k, 2)
                local at, want = {}, {}
                for r = 1, shape[1] do
                    at[r] = order(rows[r], false)[k]
                    want[r] = rows[r][at[r]]
                end
                local what = ("%s %dx%d: number %d"):format(dtype, shape[1], shape[2], k)
                t.is(place:tolist(), at, what .. "'s place")
                t.close(value:tolist(), want, 0, what)
            end
        end
    end
end
if on_stand_in then fake.fault "order=forward" end
local y = randn(600, 5, { device = "cuda" })
t.is(select(2, y:topk(4, 1)):tolist(),
    select(2, y:transpose(1, 2):contiguous():topk(4, 2)):transpose(1, 2):contiguous():tolist(),
        "along another dim")
t.is(#y:topk(500, 1), 500, "many of many are sorted")
t.done()
