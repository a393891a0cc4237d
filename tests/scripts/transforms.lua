-- data.transforms against loops written here and numbers from PyTorch; data.ImageFolder.
local t = require "tap"
local T = data.transforms

local x = arange(1, 24):reshape(2, 3, 4):float()

t.is(T.CenterCrop { 1, 2 } (x):tolist(), { { { 6, 7 } }, { { 18, 19 } } }, "CenterCrop")
t.is(T.CenterCrop(3)(x):tolist()[1], { { 1, 2, 3 }, { 5, 6, 7 }, { 9, 10, 11 } },
    "CenterCrop of an odd rest: the left part, as floor")
t.is(T.Pad(1)(x).shape, { 2, 5, 6 }, "Pad")
t.is(T.Pad({ 1, 0, 0, 2 }, { value = 9 })(x):tolist()[1],
    { { 9, 1, 2, 3, 4 }, { 9, 5, 6, 7, 8 }, { 9, 9, 10, 11, 12 }, { 9, 9, 9, 9, 9 },
        { 9, 9, 9, 9, 9 } }, "Pad: left, top, right, bottom")
t.is(T.RandomHorizontalFlip(1)(x):tolist()[1][1], { 4, 3, 2, 1 }, "RandomHorizontalFlip")
t.is(T.RandomVerticalFlip(1)(x):tolist()[1][1], { 9, 10, 11, 12 }, "RandomVerticalFlip")
t.is(T.RandomVerticalFlip(0)(x):tolist(), x:tolist(), "a flip of probability 0")
t.close(T.Normalize({ 1, 2 }, { 2, 4 })(x):tolist()[2][1], { 11 / 4, 12 / 4, 13 / 4, 14 / 4 },
    "Normalize by channel")
t.close(T.Normalize(1, 2)(x):tolist()[1][1], { 0, 0.5, 1, 1.5 }, "Normalize by numbers")
t.close(T.ToFloat()(tensor({ { 0, 51, 255 } }, { dtype = "u8" })):tolist(), { { 0, 0.2, 1 } },
    "ToFloat of u8")
t.is(T.ToFloat()(tensor { true, false }).dtype, "f32", "ToFloat of bool")

-- Half of the flips happen, and each position of a crop is equally likely; by the sample's
-- generator.
manual_seed(4)
local flip, flips = T.RandomHorizontalFlip(), 0
for _ = 1, 400 do
    if flip(x)[1][1][1]:item() == 4 then flips = flips + 1 end
end
t.ok(math.abs(flips - 200) < 46, "about half of the flips happen") -- 4.6 sigma
local places, crop = {}, T.RandomCrop(2)
for _ = 1, 600 do
    local c = crop(x)
    local first = c[1][1][1]:item()
    places[first] = (places[first] or 0) + 1
    if c:size(3) ~= 2 or c[2][2][2]:item() ~= first + 17 then
        t.ok(false, "a crop is a part of the image") break
    end
end
local fair = true
for row = 0, 1 do
    -- 4.6 sigma
    for col = 1, 3 do fair = fair and math.abs((places[row * 4 + col] or 0) - 100) < 42 end
end
t.ok(fair, "each of the six places of a crop, about 100 times of 600")
t.is(T.RandomCrop(4, { padding = 1 })(x).shape, { 2, 4, 4 }, "RandomCrop after padding")

-- torch.nn.functional.interpolate(torch.arange(1., 25).reshape(1, 2, 3, 4), size=(2, 2),
-- mode="bilinear")
t.close(T.Resize { 2, 2 } (x):tolist(),
    { { { 2.5, 4.5 }, { 8.5, 10.5 } }, { { 14.5, 16.5 }, { 20.5, 22.5 } } }, 1e-6, "Resize")
t.is(T.Resize(6)(x).shape, { 2, 6, 8 }, "Resize of the shorter side")
t.is(T.Resize(2)(x:transpose(2, 3)).shape, { 2, 2, 2 }, "a tall image")
t.is(T.Resize { 2, 2 } (x:byte()):tolist(), { { { 2, 4 }, { 8, 10 } }, { { 14, 16 }, { 20, 22 } } },
    "Resize of u8, rounded to even")

-- Colours, by a loop.
local c = rand(3, 2, 2)
local function jittered(options, f)
    manual_seed(11)
    local got = T.ColorJitter(options)(c)
    manual_seed(11)
    local name, v = next(options)
    local factor = (1 - v) + 2 * v * rand(1, { dtype = "f64" }):item()
    local p, want, mean = c:tolist(), {}, 0
    local function gray(i, j)
        return 0.2989 * p[1][i][j] + 0.587 * p[2][i][j] + 0.114 * p[3][i][j]
    end
    for i = 1, 2 do for j = 1, 2 do mean = mean + gray(i, j) / 4 end end
    for k = 1, 3 do
        want[k] = {}
        for i = 1, 2 do
            want[k][i] = {}
            for j = 1, 2 do
                want[k][i][j] = math.max(0, math.min(1, f(p[k][i][j], factor, gray(i, j), mean)))
            end
        end
    end
    t.close(got:tolist(), want, 1e-5, "ColorJitter: " .. name)
end
jittered({ brightness = 0.9 }, function(v, f) return v * f end)
jittered({ contrast = 0.9 }, function(v, f, _, mean) return mean + (v - mean) * f end)
jittered({ saturation = 0.9 }, function(v, f, gray) return gray + (v - gray) * f end)
t.is(T.ColorJitter {} (c):tolist(), c:tolist(), "ColorJitter of nothing")

for pattern, f in pairs {
    ["transforms.CenterCrop: 9x9 of an image of 3x4"] = function() T.CenterCrop(9)(x) end,
    ["transforms.RandomCrop: 4x5 of an image of 3x4"] = function() T.RandomCrop { 4, 5 } (x) end,
    ["transforms.Resize: argument 'size': expected an integer above 0"] =
        function() T.Resize(0) end,
    ["transforms.Normalize: 3 channels for an image of 2"] =
        function() T.Normalize({ 1, 2, 3 }, 1)(x) end,
    ["transforms.Compose: entry 2 is a number"] = function() T.Compose { T.ToFloat(), 3 } end,
    ["transforms.ToFloat: an image of i64 has no known range"] =
        function() T.ToFloat()(x:long()) end,
    ["transforms.ColorJitter: expected floats"] =
        function() T.ColorJitter { brightness = 1 } (x:byte()) end,
    ["transforms.ColorJitter: contrast and saturation want 3 channels, got 2"] =
        function() T.ColorJitter { contrast = 1 } (x) end,
    ["transforms.Pad: expected an image.*got a tensor of shape 3"] =
        function() T.Pad(1)(zeros(3)) end,
} do t.error(f, pattern) end

-- A folder of pictures, augmented by workers.
local folder = os.getenv "TMPDIR" .. "/pictures"
os.execute(("mkdir -p '%s/cat' '%s/dog'"):format(folder, folder))
for i = 1, 3 do
    image.save(("%s/cat/%d.png"):format(folder, i), full({ 3, 6, 6 }, i, { dtype = "u8" }))
end
image.save(folder .. "/dog/a.png", full({ 3, 6, 6 }, 200, { dtype = "u8" }))
local notes = io.open(folder .. "/notes.txt", "w")
notes:close()
local set = data.ImageFolder(folder)
t.is(#set, 4, "ImageFolder: the PNG files of the folders")
t.is(set.classes, { "cat", "dog" }, "its classes")
local picture, class = set:get(4)
t.is({ picture:tolist()[1][1][1], picture.dtype, class }, { 200, "u8", 2 },
    "a picture and the number of its class")
t.error(function() return data.ImageFolder(folder .. "/cat") end, "no PNG files in the folders of",
    "a folder without classes")
t.error(function() return data.ImageFolder "/nowhere" end,
    "cannot read the folder /nowhere: No such file", "no folder")
local augmented = data.ImageFolder(folder,
    { transform = T.Compose { T.RandomCrop(4, { padding = 1 }), T.RandomHorizontalFlip(),
    T.ToFloat(), T.Normalize(0.5, 0.5) } })
local seen = {}
for _, workers in ipairs { 0, 1, 3 } do
    for _, images,
        labels in data.Loader { augmented, batch = 4, shuffle = true, workers = workers,
            seed = 5 } ()
    do
        seen[#seen + 1] = { images:tolist(), labels:tolist() }
    end
end
t.is(seen[2], seen[1], "the same augmented pictures from one worker as from none")
t.is(seen[3], seen[1], "and from three")
-- A transform takes one image, also in a composition.
do
    local T, x = data.transforms, ones(3, 4, 4)
    for name, f in pairs { ToFloat = T.ToFloat(), Normalize = T.Normalize(0, 1), Pad = T.Pad(1),
        CenterCrop = T.CenterCrop(2), RandomCrop = T.RandomCrop(2), Resize = T.Resize(2),
        RandomHorizontalFlip = T.RandomHorizontalFlip(), ColorJitter = T.ColorJitter {} } do
        t.error(function() f(x, 2) end,
            name .. ": 2 arguments given, at most 1 expected", name .. " of an image and a number")
    end
    t.error(function() T.Compose { T.ToFloat() }(x, 2) end, "ToFloat: 2 arguments given",
        "a composition of an image and a number")
end
t.done()
