-- What the first use of a kernel costs: for each row of kernels.lua its first call, a wait
-- included, and the same call again, in the lines of measure.lua. gpush first_use.lua DEVICE
-- [ours]. A file's first row also loads what the call needs of other files, if no earlier row has.
-- The driver compiles the plug-in's PTX in place of loading its code where the environment has
-- CUDA_FORCE_PTX_JIT=1, and does so again with CUDA_CACHE_DISABLE=1: that is what a card waits for
-- which the plug-in has no code for. NVIDIA's libraries may have no PTX: `ours` leaves out what
-- calls them.
local device, ours = arg[1], arg[2] == "ours"
local folder = arg[0]:match ".*/" or ""
local measure = dofile(folder .. "measure.lua")
local libraries = { attention = true, fft = true, linalg = true, rnn = true }

local function seconds(fn)
    local t0 = clock()
    fn()
    synchronize(device)
    return clock() - t0
end

local begun = seconds(function() return ones(1, { device = device }) + 1 end)
measure.report("the device, and a first kernel", { begun })
local first, again = begun, 0
for _, row in ipairs(assert(loadfile(folder .. "kernels.lua"))(device)) do
    local file, names, call = table.unpack(row)
    if not (ours and libraries[file:match "^%w+"]) then
        local name = file .. ": " .. names
        measure.guarded(name, function()
            local a, b = seconds(call), seconds(call)
            measure.report(name, { a })
            first, again = first + a, again + b
        end)
    end
end
measure.report("all first calls", { first })
measure.report("all second calls", { again })
