-- For tests/dist/collectives.sh: every collective, dtype and layout, against what one process
-- computes from all ranks' tensors, which each rank can make. Prints what is wrong.
dist.init { timeout = 60 }
local rank, n = dist.rank, dist.size
local wrong, checks = 0, 0
local function check(ok, ...)
    checks = checks + 1
    if ok then return end
    wrong = wrong + 1
    print(("rank %d of %d: wrong: "):format(rank, n), ...)
end

local dtypes = { "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64" }
local devices = #arg > 0 and { table.unpack(arg) } or { "cpu", "sim" }

-- Rank r's tensor: small whole numbers, exact in every dtype.
local function values(r, rows, dtype)
    local x = range(1, rows * 3, { dtype = "i64" }):reshape(rows, 3)
    return ((x * (r + 2)) % 4 + 1):to("cpu", dtype)
end
local layouts = {
    contiguous = function(x) return x:clone() end,
    transposed = function(x) return x.T:contiguous().T end,
    strided = function(x) return cat({ x, x }, 2)[":, ::2"], true end,
}

local joins = {
    sum = function(xs) return stack(xs):sum(1) end,
    prod = function(xs) return stack(xs):prod(1) end,
    min = function(xs) return stack(xs):amin(1) end,
    max = function(xs) return stack(xs):amax(1) end,
}
local function same(a, b) return equal(a:to("cpu"), b:to("cpu"):to(a.dtype)) end

local function all_of(fn)
    local list = {}
    for r = 0, n - 1 do list[r + 1] = fn(r) end
    return list
end

for _, device in ipairs(devices) do
    for _, dtype in ipairs(dtypes) do
        for _, name in ipairs { "contiguous", "transposed", "strided" } do
            local layout = layouts[name]
            if name ~= "contiguous" and dtype ~= "f32" and dtype ~= "f16" then goto continue end
            local function of(r) return (layout(values(r, 2 * n, dtype))) end
            local xs = all_of(of)
            local x = of(rank):to(device)
            local where = ("%s %s %s"):format(device, dtype, name)
            -- pairs has another order on every rank
            for _, op in ipairs { "sum", "prod", "min", "max" } do
                check(same(dist.all_reduce(x, { op = op }), joins[op](xs)), "all_reduce", op, where)
            end
            local sum, root = joins.sum(xs), 1 % n
            local y = dist.reduce(x, root)
            check(rank == root and same(y, sum) or rank ~= root and y == nil, "reduce", where)
            check(same(dist.broadcast(x, root), xs[root + 1]), "broadcast", where)
            check(same(dist.all_gather(x), cat(xs, 1)), "all_gather", where)
            local function part(t, r)
                local k = t.shape[1] // n
                return t:narrow(1, r * k + 1, k)
            end
            check(same(dist.reduce_scatter(x), part(sum, rank)), "reduce_scatter", where)
            check(same(dist.all_to_all(x),
                cat(all_of(function(r) return part(xs[r + 1], rank) end), 1)), "all_to_all", where)
            y = dist.gather(x, root)
            check(rank == root and same(y, cat(xs, 1)) or rank ~= root and y == nil, "gather",
                where)
            check(same(dist.scatter(x, root), part(xs[root + 1], rank)), "scatter", where)
            if n > 1 then -- round a ring: every rank sends before it receives
                local from = (rank - 1) % n
                local got = zeros(x.shape, { dtype = dtype, device = device })
                dist.send(x, (rank + 1) % n)
                check(same(dist.recv(got, from), xs[from + 1]), "send, recv", where)
            end
            local mine = x:clone()
            dist.all_reduce_(mine)
            check(same(mine, sum), "all_reduce_", where)
            local view = cat({ x, x }, 1)
            dist.broadcast_(view:narrow(1, 1, x.shape[1]), root)
            check(same(view, cat({ xs[root + 1], xs[rank + 1] }, 1)), "broadcast_ of a view", where)
            ::continue::
        end
    end
    -- futures, several at a time
    local futures = {}
    for i = 1, 20 do
        futures[i] = dist.all_reduce(full({ 100 }, i * (rank + 1), { device = device }),
            { async = true })
    end
    for i = 20, 1, -1 do
        check(wait(futures[i])[100]:item() == i * n * (n + 1) / 2, "future", i, device)
    end
end

-- bool: any and all
local b = tensor { rank == 0, true, false }
check(same(dist.all_reduce(b, { op = "max" }), tensor { true, true, false }), "bool max")
check(same(dist.all_reduce(b, { op = "min" }), tensor { n == 1, true, false }), "bool min")
-- NaN wins, on whichever rank it is
local nan = 0 / 0
for _, device in ipairs(devices) do
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
        for _, op in ipairs { "min", "max" } do
            local list = { 1.5 - rank, rank - 1.5, -1 / 0, 0 }
            for r = 0, n - 1 do list[#list + 1] = rank == r and nan or 1.0 end
            local x = tensor(list, { dtype = dtype, device = device })
            local y = dist.all_reduce(x, { op = op })
            local from, to = 1.5, 2.5 - n -- of ranks 0 and n - 1
            local ends = op == "min" and { math.min(from, to), -1.5 } or { 1.5, -to }
            check(y[1]:item() == ends[1] and y[2]:item() == ends[2], op, dtype, device)
            check(y[3]:item() == -1 / 0 and y[4]:item() == 0, op, "of -inf and 0", dtype, device)
            check(y:isnan():sum():item() == n, op, "of NaN on each rank", dtype, device)
        end
    end
end
-- 16-bit floats are rounded once
local half = dist.all_reduce(full({ 1 }, 1.0 + rank / 256, { dtype = "f16" }))
local exact = 0
for r = 0, n - 1 do exact = exact + 1.0 + r / 256 end
check(half:item() == tensor({ exact }, { dtype = "f16" }):item(), "f16 sum")
local third = dist.all_reduce(tensor { rank + 0.0 }, { op = "mean" })
check(third:item() == tensor { (n - 1) / 2 }:item(), "mean")
-- no elements, no dims
check(dist.all_reduce(zeros(0, 3)):numel() == 0, "empty")
check(dist.all_gather(tensor(rank + 1.0)):sum():item() == n * (n + 1) / 2, "0-d all_gather")
check(dist.all_reduce(tensor(2.0)):item() == 2 * n, "0-d all_reduce")

-- Groups: odd and even ranks.
local even, odd = {}, {}
for r = 0, n - 1 do table.insert(r % 2 == 0 and even or odd, r) end
local groups = { dist.group(even), #odd > 0 and dist.group(odd) or nil }
local mine = groups[rank % 2 + 1]
local expected = 0
for _, r in ipairs(mine.ranks) do expected = expected + r + 1 end
check(dist.all_reduce(tensor(rank + 1), { group = mine }):item() == expected, "group", mine)
check(mine.ranks[mine.rank + 1] == rank and mine.size == #mine.ranks, "its fields")
if n > 1 then
    local ok, err = pcall(dist.all_reduce, tensor(1), { group = groups[2 - rank % 2] })
    check(not ok and err:find("rank " .. rank .. " is not in the group", 1, true), "not mine", err)
end

-- Gradients: of sum over ranks of (r + 2) * sum(weight * y).
local function grad_of(fn, like)
    local w = like:clone():requires_grad_()
    local y = fn(w)
    local weight = range(1, y:numel(), { dtype = "f32" }):reshape(y.shape)
    ;(y * weight * (rank + 2)):sum():backward()
    return w.grad, weight
end
local x = values(rank, 2 * n, "f32")
local total = 0
for r = 0, n - 1 do total = total + r + 2 end
local g, weight = grad_of(dist.all_reduce, x)
check(same(g, weight * total), "gradient of all_reduce", g)
g = grad_of(function(w) return dist.all_reduce(w, { op = "mean" }) end, x)
check((g - weight * total / n):abs():max():item() < 1e-5, "gradient of mean", g)
g = grad_of(function(w) return dist.broadcast(w, n - 1) end, x)
check(same(g, weight * (rank == n - 1 and total or 0)), "gradient of broadcast", g)
g, weight = grad_of(dist.all_gather, x)
check(same(g, weight:narrow(1, rank * 2 * n + 1, 2 * n) * total), "gradient of all_gather", g)
g, weight = grad_of(dist.reduce_scatter, x)
check(same(g, cat(all_of(function(r) return weight * (r + 2) end), 1)),
    "gradient of reduce_scatter", g)
g = grad_of(dist.all_to_all, x)
check(g.shape[1] == 2 * n, "gradient of all_to_all")
local ok, err = pcall(grad_of, function(w) return dist.all_reduce(w, { op = "max" }) end, x)
check(not ok and err:find "op = 'max' has no gradient", "gradient of max", err)

dist.barrier()
print(("rank %d: %d checks, %d wrong"):format(rank, checks, wrong))
os.exit(wrong == 0, true)
