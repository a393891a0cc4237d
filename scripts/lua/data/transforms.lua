--!plain
-- data.transforms: functions of an image. Each call here makes one:
--     local augment = data.transforms.Compose{
--         data.transforms.RandomHorizontalFlip(), data.transforms.ToFloat()}
-- Random ones draw from the generator that manual_seed sets; in a loader that is
-- the sample's own, so the result does not depend on the worker.
local require = ...
local gpush, declared = require "gpush", require "declared"
local M = {}
local check_list = require "check_list"

local function fail(name, ...)
    gpush.data.raise("data.transforms." .. name .. ": " .. string.format(...))
end

-- Checks that the only argument is an image.
local function check(name, least, x, ...)
    if select("#", ...) > 0 then
        fail(name, "%d arguments given, at most 1 expected: an image", 1 + select("#", ...))
    end
    if not gpush.is_tensor(x) or x.ndim < least then
        fail(name, "expected an image, channels x height x width, got %s", gpush.is_tensor(x) and
            "a tensor of shape " .. table.concat(x.shape, "x") or type(x))
    end
    return x
end

local function uniform(low, high)
    return low + (high - low) * gpush.rand(1, { device = "cpu", dtype = "f64" }):item()
end

-- A uniform integer, low … high.
local function whole(low, high)
    return gpush.randint(low, high, { 1 }, { device = "cpu" }):item()
end

-- The entries of a list, as text.
local function describe(list)
    local out = {}
    for i, v in ipairs(list) do out[i] = tostring(v) end
    return table.concat(out, ", ")
end

-- An integer for all, or a list of n of them, each at least `least`; nil: any. what: the
-- argument's name.
local function integers(name, what, v, n, least)
    local list = v
    if type(v) ~= "table" then
        list = {}
        for i = 1, n do list[i] = v end
    end
    check_list("data.transforms." .. name, what, list)
    local ok = #list == n
    for i = 1, ok and n or 0 do
        ok = ok and math.type(list[i]) == "integer" and (not least or list[i] >= least)
    end
    if not ok then
        fail(name, "argument '%s': expected an integer%s, or a list of %d, got %s", what,
            least and " above 0" or "", n,
            type(v) == "table" and "{" .. describe(v) .. "}" or tostring(v))
    end
    return table.unpack(list, 1, n)
end

-- size or {height, width} as two numbers.
local function pair(name, size) return integers(name, "size", size, 2, 1) end

local function crop(x, top, left, h, w) return x:narrow(-2, top, h):narrow(-1, left, w) end

-- Compose{f, g, …}: g after f.
function M.Compose(list)
    for i, f in ipairs(list) do
        if type(f) ~= "function" then
            fail("Compose", "entry %d is a %s (expected a function)", i, type(f))
        end
    end
    return function(x, ...)
        if list[1] then x = list[1](x, ...) end
        for i = 2, #list do x = list[i](x) end
        return x
    end
end

-- ToFloat(): u8 0 … 255 as f32 0 … 1; floats and bool as f32.
function M.ToFloat()
    return function(x, ...)
        check("ToFloat", 0, x, ...)
        if x.dtype == "u8" then return x:float() / 255 end
        if x.dtype:find "^[iu]" then
            fail("ToFloat", "an image of %s has no known range (expected u8 or floats)", x.dtype)
        end
        return x:float()
    end
end

-- Normalize(mean, std): (x - mean) / std, each a number or a list with one for each channel.
function M.Normalize(mean, std)
    local function column(v)
        if type(v) ~= "table" then return v end
        check_list("data.transforms.Normalize", "mean and std", v)
        return gpush.tensor(v):reshape(#v, 1, 1)
    end
    local m, s = column(mean), column(std)
    return function(x, ...)
        check("Normalize", 3, x, ...)
        for _, v in ipairs { m, s } do
            if gpush.is_tensor(v) and #v ~= x:size(-3) then
                fail("Normalize", "%d channels for an image of %d", #v, x:size(-3))
            end
        end
        return (x - m) / s
    end
end

local function flip(name, dim)
    return function(p)
        return function(x, ...)
            check(name, 2, x, ...)
            if uniform(0, 1) < p then return x:flip(dim) end
            return x
        end
    end
end

-- RandomHorizontalFlip(p), RandomVerticalFlip(p): mirrored with probability p, by default 0.5.
M.RandomHorizontalFlip = flip("RandomHorizontalFlip", -1)
M.RandomVerticalFlip = flip("RandomVerticalFlip", -2)

-- Pad(n or {left, top, right, bottom}, {value = 0, mode = "constant"}): a border; modes as pad's.
function M.Pad(n, value, mode)
    local l, t, r, b = integers("Pad", "n", n, 4)
    local border = { l, r, t, b }
    return function(x, ...) return check("Pad", 2, x, ...):pad(border, mode, value) end
end

-- CenterCrop(size)
function M.CenterCrop(size)
    local h, w = pair("CenterCrop", size)
    return function(x, ...)
        local H, W = check("CenterCrop", 2, x, ...):size(-2), x:size(-1)
        if H < h or W < w then fail("CenterCrop", "%dx%d of an image of %dx%d", h, w, H, W) end
        return crop(x, (H - h) // 2 + 1, (W - w) // 2 + 1, h, w)
    end
end

-- RandomCrop(size, {padding = 0}): a random part of that size, after padding with zeros.
function M.RandomCrop(size, padding)
    local h, w = pair("RandomCrop", size)
    if padding then integers("RandomCrop", "padding", padding, 4) end
    local around = padding and M.Pad(padding)
    return function(x, ...)
        check("RandomCrop", 2, x, ...)
        if around then x = around(x) end
        local H, W = x:size(-2), x:size(-1)
        if H < h or W < w then fail("RandomCrop", "%dx%d of an image of %dx%d", h, w, H, W) end
        local top = whole(1, H - h + 1)
        return crop(x, top, whole(1, W - w + 1), h, w)
    end
end

-- Resize(size): {height, width}, or the length of the shorter side; bilinear, u8 is rounded.
function M.Resize(size)
    local h, w = pair("Resize", size)
    return function(x, ...)
        local H, W = check("Resize", 3, x, ...):size(-2), x:size(-1)
        local to_h, to_w = h, w
        if type(size) ~= "table" then
            to_h, to_w = H <= W and h or h * H // W, H <= W and h * W // H or h
        end
        if to_h == H and to_w == W then return x end
        local images = x:reshape(-1, x:size(-3), H, W)
        local out = gpush.interpolate(x.dtype == "u8" and images:float() or images,
            { size = { to_h, to_w }, mode = "bilinear" })
        local shape = x.shape
        shape[#shape - 1], shape[#shape] = to_h, to_w
        out = out:reshape(shape)
        return x.dtype == "u8" and out:round():byte() or out
    end
end

local function gray(x)
    return x:narrow(-3, 1, 1) * 0.2989 + x:narrow(-3, 2, 1) * 0.587 + x:narrow(-3, 3, 1) * 0.114
end

-- ColorJitter{brightness = 0, contrast = 0, saturation = 0}: each scaled by a factor from 1 - v … 1
-- + v, in this order; floats 0 … 1, contrast and saturation of 3 channels.
function M.ColorJitter(b, c, s)
    for name, v in pairs { brightness = b, contrast = c, saturation = s } do
        if not (v >= 0) then
            fail("ColorJitter", "option '%s': expected a number from 0, got %s", name, v)
        end
    end
    local function factor(v) return uniform(math.max(0, 1 - v), 1 + v) end
    return function(x, ...)
        check("ColorJitter", 3, x, ...)
        if x.dtype:find "^[iub]" and x.dtype ~= "bf16" then
            fail("ColorJitter", "expected floats 0 … 1, got %s (ToFloat makes them)", x.dtype)
        end
        if (c > 0 or s > 0) and x:size(-3) ~= 3 then
            fail("ColorJitter", "contrast and saturation want 3 channels, got %d", x:size(-3))
        end
        if b > 0 then x = (x * factor(b)):clamp(0, 1) end
        if c > 0 then
            local mean = gray(x):mean({ -3, -2, -1 }, true)
            x = (mean + (x - mean) * factor(c)):clamp(0, 1)
        end
        if s > 0 then
            local g = gray(x)
            x = (g + (x - g) * factor(s)):clamp(0, 1)
        end
        return x
    end
end

declared(M, "data.transforms.",
    { Compose = "list list", ToFloat = "", Normalize = "numbers mean, numbers std",
    RandomHorizontalFlip = "float p=0.5", RandomVerticalFlip = "float p=0.5",
    Pad = 'numbers n, float? value, str mode="constant"', CenterCrop = "numbers size",
    RandomCrop = "numbers size, numbers? padding",
    Resize = "numbers size",
    ColorJitter = "float brightness=0, float contrast=0, float saturation=0" })
return M
