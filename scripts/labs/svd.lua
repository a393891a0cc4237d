-- Lab: where does the time go? A small model, conv2d 3 -> 8 and batch_norm, then
-- the singular values of its feature maps: once as many a script does it, through
-- the CPU and back, and once without leaving the device.
--
-- What to look at
--   1. the rows "CONV FORWARD" and "SVD": which of them is most of the time, in
--      either table;
--   2. in the first table, `to` and its waits: feature maps travel to the host,
--      values back;
--   3. in the second, host time: the ops are queued and the host goes on, until
--      it waits for all of them at once; what they cost stands in the device's
--      columns;
--   4. the last line: which way is faster at this size, where the times tell.
--      svd_live looks for the size from which on the device is.
--
-- Where there is no GPU sim stands in for a card, whose times are modelled,
-- beside the CPU's, which are measured: of these two there is no ratio. --card
-- none shows sim as it is.
--
--   gpush lab svd [--device gpu|cpu|sim|cuda] [--card h200] [--size 128]
--     [--image FILE.png]

local here = arg[0]:match ".*/" or ""
local options, card = dofile(here .. "options.lua"), dofile(here .. "card.lua")
local verdict, say = dofile(here .. "verdict.lua"), dofile(here .. "text.lua")
-- A picture, as numbers.
local function picture(file)
    local ok, x = pcall(image.load, file, { dtype = "f32", channels = 3 })
    if not ok then return nil, x end
    return x
end

local opt, _ <close> = options({ device = "gpu", card = "h200", size = 128, image = false },
    { image = picture })
local label = card(opt.card, opt.device)
local device = opt.device

manual_seed(1)
local x = rand(1, 3, opt.size, opt.size)
if opt.image ~= false then x = opt.image:unsqueeze(1) end
x = x:to(device)
-- PyTorch's initialisation for a convolution of 3 channels and 3 x 3 pixels: uniform in +-1 /
-- sqrt(27).
local weight = (rand(8, 3, 3, 3, { device = device }) * 2 - 1) / math.sqrt(27)
local bias = zeros(8, { device = device })
local mean, var = zeros(8, { device = device }), ones(8, { device = device })

local function features(x)
    local _ <close> = profile.region "CONV FORWARD"
    local out = conv2d(x, weight, bias, { padding = 1 })
    return batch_norm(out, mean, var, { training = true })
end

local function by_way_of_the_cpu(x)
    local out = features(x)
    local _ <close> = profile.region "SVD"
    local _, s = linalg.svd(out:to "cpu", { full_matrices = false })
    return s:to(device)
end

local function on_the_device(x)
    local out = features(x)
    local _ <close> = profile.region "SVD"
    local _, s = linalg.svd(out, { full_matrices = false })
    return s
end

local function study(name, model)
    print(("\n== %s =="):format(name))
    model(x) -- first call: memory is allocated, kernels are loaded
    synchronize()
    local s
    local prof = profile.run({ memory = true, stack = true }, function()
        s = model(x)
        synchronize() -- the device's work belongs to the time that is studied
    end)
    print(prof:table { sort = "cpu_time_total", limit = 12 })
    return s
end

local shape = table.concat(x.shape, "x")
print(("%s through conv2d and batch_norm to singular values on %s%s"):format(shape, x.device,
    label))
local a = study("through the CPU", by_way_of_the_cpu)
local b = study("on the device", on_the_device)

print "\n== result =="
local times = compare({ there = function() return by_way_of_the_cpu(x) end,
    here = function() return on_the_device(x) end }, { print = false })
times.there.host = nil -- its waits are in it
print(("through the CPU    %9.3f ms"):format(times.there.time * 1e3))
print(("on the device      %9.3f ms"):format(times.here.time * 1e3))
print("singular values    " .. table.concat(a.shape, "x"))
print(("largest difference %9.2g of %.4g"):format((a - b):abs():amax(), a:amax()))
verdict.method(x.device)
say("on the device: " .. (x.device == "cpu" and "that is the cpu, too: nothing to compare" or
    verdict.pays(times.there, times.here)), "")
