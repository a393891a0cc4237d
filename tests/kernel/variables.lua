--!plain
-- Variables of a kernel's text: each module has its own on each device, whatever way its launches
-- run, and they have the text's values before the first one.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local zeros = own.zeros
own.need_compiler()

local COUNT <const> = [[
__device__ int n = 50;
__global__ void k(int *y) { n++; y[0] = n; }]]

-- The results of that many launches on the device; how(i): "counted", or whether the i-th is
-- checked.
local function counted(k, device, times, how)
    local list = {}
    for i = 1, times do
        local y = zeros(1, "i32"):to(device)
        local kind = how and how(i)
        if kind == "counted" then k:counts(1, 1, y)
        elseif kind == nil then k(1, 1, y)
        else k(1, 1, y, { check = kind }) end
        list[i] = y:item()
    end
    return list
end

local k = g.cuda.kernel(COUNT)
t.is(counted(k, "cpu", 2), { 51, 52 }, "a launch writes them")
t.is(k:global("n", "sim"):item(), 50, "those of another device are the text's")
t.is(counted(k, "sim", 2), { 51, 52 }, "and its own")
t.is({ k:global "n":item(), k:global("n", "sim"):item() }, { 52, 52 }, "both can be read")

local a, b = g.cuda.kernel(COUNT), g.cuda.kernel(COUNT)
t.is({ counted(a, "cpu", 2), counted(b, "cpu", 1) }, { { 51, 52 }, { 51 } },
    "two kernels of one text have their own")

local KINDS <const> = { true, false, true, "counted", true, false, false }
for _, device in ipairs { "cpu", "sim" } do
    t.is(counted(g.cuda.kernel(COUNT), device, #KINDS, function(i) return KINDS[i] end),
        { 51, 52, 53, 54, 55, 56, 57 }, "checked, unchecked and counted launches share them: " ..
        device)
end

-- The first launch is in a captured function, which does not set them again.
for _, device in ipairs { "cpu", "sim" } do
    local captured = g.cuda.kernel(COUNT)
    local step = g.capture(function(x)
        local y = g.zeros(1, { dtype = "i32", device = device })
        captured(1, 1, y)
        return y + x
    end)
    local x, list = zeros(1, "i32"):to(device), {}
    for i = 1, 4 do list[i] = step(x):item() end
    t.is(list, { 51, 52, 53, 54 }, "captured: " .. device)
end

-- More than 16 of them, of types that no tensor has, and some that only are read.
local names, sum = {}, {}
for i = 1, 20 do
    names[i] = ("__device__ int v%d = %d;"):format(i, i)
    sum[i] = ("v%d++"):format(i)
end
local text = table.concat(names, "\n") .. [[

typedef struct Pair { char a; double b; } Pair;
__device__ Pair pair = {1, 0.5};
__constant__ float scale = 2;
__device__ const short table[3] = {1, 2, 3};
__global__ void many(float *y) { pair.b += 1; y[0] = scale * pair.b + table[1] + ]] ..
    table.concat(sum, " + ") .. "; }"
for _, how in ipairs { true, false } do
    local many = g.cuda.kernel(text, "many", { check = how })
    local y = zeros(1)
    many(1, 1, y)
    t.is(y:item(), 3 + 2 + 210, "many variables")
    many:global "scale":fill_(10)
    many:global "v20":add_(1000)
    many(1, 1, y)
    t.is(y:item(), 25 + 2 + 230 + 1000, "of which two were set")
end

-- A launch that fails leaves them as they were.
local fails = g.cuda.kernel [[
__device__ int n = 52;
__global__ void f(int *x) { n = 1; x[9] = 2; }]]
t.is({ pcall(fails, 1, 1, zeros(1, "i32")), fails:global "n":item() }, { false, 52 },
    "after a finding")
t.done()
