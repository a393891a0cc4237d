-- The labs on the stand-in for CUDA, smaller still than in tests/scripts/labs.lua: they run, wait
-- as often as they claim, and give the same results as on the cpu.
local t = require "tap"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"

local function lab(name, options)
    local p = io.popen(("'%s/gpush' '%s/scripts/labs/%s.lua' %s 2>&1"):format(
        build, root, name, options))
    local out = p:read "a"
    if not t.ok(p:close(), name .. " runs: " .. options) then
        io.stderr:write((out:gsub("[^\n]+", "# %0")))
    end
    return out
end

local out = lab("gathernd", "--device cuda --rows 6 --size 8")
t.ok(out:find "equal       true", "gathernd: both ways give the same")
t.is(tonumber(out:match "loop%s+[%d.]+ ms%s+(%d+) waits"), 12, "gathernd: two waits a row")
t.is(tonumber(out:match "vectorised%s+[%d.]+ ms%s+(%d+) waits"), 0,
    "gathernd: none in the vectorised form")

out = lab("svd", "--device cuda --size 12")
local difference, largest = out:match "largest difference%s+(%S+) of (%S+)"
t.ok(difference and tonumber(difference) <= 1e-5 * tonumber(largest), "svd: both ways agree")
t.ok(out:find "\n%s*CONV FORWARD " and out:find "\n%s*SVD ", "svd: the regions are in the tables")

out = lab("svd_live", "--device cuda --sizes 2,4 --batches 1,2")
local rows, worst = 0, 0
for residual in out:gmatch("\n%s+%d+%s+%d+" .. ("%s+[%d.]+"):rep(6) .. "%s+(%S+)") do
    rows, worst = rows + 1, math.max(worst, tonumber(residual))
end
t.ok(rows == 4 and worst < 1e-5,
    "svd_live: a row for each size and batch count, with small errors")
local drawn = {}
for name, rest in out:gmatch "\n([%l+B]+) +([^\n]+)" do
    local _, cells = rest:gsub("[%d.]+[* ] *%de%-%d+", "")
    if cells > 0 then drawn[name] = (drawn[name] or 0) + cells end
end
t.is(drawn, { cpu = 4, jacobi = 4, gesvd = 4, gesvdj = 4, gesvdjB = 4, gesvda = 4,
    ["cpu+copy"] = 4 }, "svd_live: each method that CUDA has, with its error")
local _, taken = out:gsub("\ntaken +jacobi +jacobi", "")
t.is(taken, 2, "svd_live: and which the table takes")

out = lab("seven_tips", "--device cuda --size 4 --steps 2")
local _, equal = out:gsub("\n  equal true", "")
t.is(equal, 4, "seven_tips: four pairs that give the same")
local waits = {}
for n in out:gmatch " ms%s+(%d+) waits," do waits[#waits + 1] = tonumber(n) end
t.is(waits, { 0, 0, 2, 0, 2, 1, 2, 0 }, "seven_tips: waits of each pair")

local function losses(device)
    local text,
        by = lab("masked_loss",
            ("--device %s --batch 1 --size 8 --steps 1 --workers 0"):format(device)), {}
    for stage, count,
        loss in text:gmatch "\n(%a[%w_]+)%s+[%d.]+%s+([%d.]+)%s+[%d.]+%s+([%d.]+)%s+the same"
    do
        by[#by + 1] = { stage, device == "cuda" and tonumber(count) or 0, loss }
    end
    return by
end
local on_cpu, on_cuda = losses "cpu", losses "cuda"
t.is(#on_cuda, 4, "masked_loss: four ways with the same gradients")
for i, row in ipairs(on_cuda) do
    t.is(row[2], ({ 4, 3, 2, 0 })[i], "masked_loss: waits of a step of " .. row[1])
    t.close(tonumber(row[3]), tonumber(on_cpu[i][3]), 1e-4, "masked_loss: and the cpu's loss")
end

local function digits(device)
    return tonumber(lab("digits",
        ("--count 40 --epochs 1 --workers 0 --accuracy 0 --device %s"):format(
            device)):match "loss ([%d.]+)")
end
t.close(digits "cuda", digits "cpu", 1e-3, "digits: an epoch ends with the cpu's loss")
t.done()
