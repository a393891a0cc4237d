-- The benchmark's rows in which the cost of an op counts, not that of its 16 numbers: returns their
-- list, each a name and a function that makes the one that runs the row n times. As a program,
-- gpush overhead.lua N [TEXT]: runs each row with TEXT in its name, to settle, N times and 2 N
-- times, each followed by a call of os.clock, where scripts/bench/instructions counts, and prints
-- its name.
local rows, x, y = {}, randn(16), randn(16)

local function row(name, make) rows[#rows + 1] = { name = name, make = make } end

function rows.ten(x, y)
    local z = x + y
    z = z * y
    z = z - y
    z = z:abs()
    z = z + 1
    z = z:sqrt()
    z = -z
    z = z:exp()
    z = z * 2
    return z:relu()
end

local ten = rows.ten

row("x + y, 16", function()
    return function(n) for _ = 1, n do local z = x + y end end
end)
row("chain of ten, 16", function()
    return function(n) for _ = 1, n do ten(x, y) end end
end)
row("t[3]", function()
    return function(n) for _ = 1, n do local z = x[3] end end
end)
row("nn.Linear(16, 16)(x)", function()
    local layer = nn.Linear(16, 16)
    return function(n) for _ = 1, n do local z = layer(x) end end
end)

local function called(fn)
    return function(n) for _ = 1, n do fn(x, y) end end
end
row("captured ten ops, 16", function() return called(capture(ten)) end)
row("fused ten ops, 16", function() return called(fuse(ten)) end)

-- Late, since from the first tensor that requires gradients on every op checks for them.
local function leaves()
    return randn(16, { requires_grad = true }), randn(16, { requires_grad = true })
end
row("(x*y):sum():backward(), 16", function()
    local a, b = leaves()
    return function(n) for _ = 1, n do (a * b):sum():backward() end end
end)
row("chain of ten and backward, 16", function()
    local a, b = leaves()
    return function(n) for _ = 1, n do ten(a, b):sum():backward() end end
end)

-- The function that runs the named row.
function rows.run(name)
    for _, r in ipairs(rows) do
        if r.name == name then return r.make() end
    end
    error("there is no row " .. name)
end

if ... == "rows" then return rows end
threads(1)
local count, only = tonumber(arg[1]), arg[2] or ""
for _, r in ipairs(rows) do
    if r.name:find(only, 1, true) then
        local run = r.make()
        for times = 0, 2 do
            run(times == 0 and 100 or times * count)
            os.clock()
        end
        print(r.name)
    end
end
