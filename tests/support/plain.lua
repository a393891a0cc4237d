--!plain
-- Helpers for references in plain Lua, shared by several tests: numbers that are the same in each
-- run, orders, files, and whether threads change a result.
local M = {}

-- A function (n, low, high): a table of n integers in that range, the same in each run, continuing
-- from call to call.
function M.numbers(seed)
    return function(n, low, high)
        local v = {}
        for i = 1, n do
            seed = (seed * 1103515245 + 12345) % 2147483648
            v[i] = low + (seed >> 16) % (high - low + 1)
        end
        return v
    end
end

function M.product(list)
    local n = 1
    for _, v in ipairs(list) do n = n * v end
    return n
end

-- The order of sort: NaN is the largest.
local function before(x, y) return x == x and (y ~= y or x < y) end
M.before = before

-- Indices of v in order, equal ones in their order.
function M.order(v, descending)
    local ix = {}
    for i = 1, #v do ix[i] = i end
    table.sort(ix, function(i, j)
        local x, y = v[i], v[j]
        if descending then x, y = y, x end
        if before(x, y) then return true end
        if before(y, x) then return false end
        return i < j
    end)
    return ix
end

-- Whether f gives the same bits with one thread as with two.
function M.same_bits(g, f)
    local count = g.threads()
    g.threads(1)
    local a = f()
    g.threads(2)
    local b = f()
    g.threads(count)
    return a:eq(b):all():item()
end

function M.write(file, bytes)
    os.remove(file) -- some file systems flush a file that is truncated and rewritten
    local f = assert(io.open(file, "wb"))
    f:write(bytes)
    f:close()
    return file
end

function M.read(file)
    local f = assert(io.open(file, "rb"))
    local bytes = f:read "a"
    f:close()
    return bytes
end

return M
