-- cuda.svd_driver on the stand-in for CUDA: the driver for each shape, and that each gives a
-- decomposition. Its results are multiplied together again here, in plain Lua.
local t = require "tap"

local function product(a, b)
    local out = {}
    for i = 1, #a do
        out[i] = {}
        for j = 1, #b[1] do
            local s = 0
            for k = 1, #b do s = s + a[i][k] * b[k][j] end
            out[i][j] = s
        end
    end
    return out
end
local function turned(a)
    local out = {}
    for i = 1, #a[1] do
        out[i] = {}
        for j = 1, #a do out[i][j] = a[j][i] end
    end
    return out
end
local function identity(n)
    local out = {}
    for i = 1, n do
        out[i] = {}
        for j = 1, n do out[i][j] = i == j and 1 or 0 end
    end
    return out
end

-- x = u diag(s) vh, of one matrix of lists, with orthogonal u and vh.
local function decomposes(x, u, s, vh, eps, name)
    local us, k = {}, #s
    for i = 1, #u do
        us[i] = {}
        for j = 1, #vh do us[i][j] = j <= k and u[i][j] * s[j] or 0 end
    end
    t.close(product(us, vh), x, eps, name .. ": the product")
    t.close(product(turned(u), u), identity(#u[1]), eps, name .. ": U is orthogonal")
    t.close(product(vh, turned(vh)), identity(#vh), eps, name .. ": Vh is orthogonal")
end

t.is({cuda.svd_driver()}, {"auto"}, "auto at first, and none was used")
manual_seed(3)
local rows = { -- driver, shape, full_matrices, routine used
    {"auto", {3, 6, 4}, true, "jacobi"}, {"auto", {70, 66}, false, "gesvdj"},
    {"gesvdj", {3, 6, 4}, true, "gesvdjBatched"}, {"gesvdj", {3, 4, 6}, true, "gesvdjBatched"},
    {"gesvdj", {3, 5, 5}, false, "gesvdjBatched"}, {"gesvdj", {3, 6, 4}, false, "gesvdj"},
    {"gesvdj", {2, 33, 3}, true, "gesvdj"}, {"gesvdj", {6, 4}, true, "gesvdj"},
    {"gesvd", {2, 6, 4}, true, "gesvd"}, {"gesvd", {2, 4, 6}, true, "gesvd"},
    {"gesvd", {2, 6, 4}, false, "gesvd"},
    {"gesvd", {2, 4, 6}, false, "gesvd"}, {"gesvda", {3, 9, 4}, false, "gesvdaStridedBatched"},
    {"gesvda", {3, 4, 9}, false, "gesvdaStridedBatched"},
    {"gesvda", {3, 4, 4}, true, "gesvdaStridedBatched"},
}
for _, dtype in ipairs {"f32", "f64"} do
    for _, row in ipairs(rows) do
        local driver, shape, full, used = table.unpack(row)
        local x = randn(shape, {dtype = dtype, device = "cuda"})
        t.is(cuda.svd_driver(driver), driver, "set to " .. driver)
        local u, s, vh = linalg.svd(x, full)
        local name = ("%s of %s %s, full %s"):format(
            driver, dtype, table.concat(shape, " x "), full)
        t.is({cuda.svd_driver()}, {driver, used}, name .. " goes to " .. used)
        x, u, s, vh = x:tolist(), u:tolist(), s:tolist(), vh:tolist()
        if #shape == 2 then x, u, s, vh = {x}, {u}, {s}, {vh} end
        for i = 1, #x do
            decomposes(x[i], u[i], s[i], vh[i], dtype == "f64" and 1e-12 or 1e-4, name)
        end
    end
end
t.error(function() linalg.svd(randn(3, 9, 4, {device = "cuda"})) end,
    "linalg.svd: driver gesvda gives no full matrices", "what gesvda cannot")
cuda.svd_driver "auto"
do
    local x = randn(3, 6, 4, {device = "cuda"})
    linalg.svd(x, {driver = "gesvd"})
    t.is({cuda.svd_driver()}, {"auto", "gesvd"}, "a call's own driver, for that call")
    linalg.svd(x, {full_matrices = false, driver = "gesvda"})
    t.is(select(2, cuda.svd_driver()), "gesvdaStridedBatched", "with another option")
    linalg.svd(x)
    t.is(select(2, cuda.svd_driver()), "jacobi", "and no other's")
    t.error(function() linalg.svd(x, {driver = "gesdd"}) end,
        "linalg.svd: argument 'driver' is 'gesdd'", "a driver that there is not")
    t.error(function() linalg.svd(x:cpu(), {driver = "gesvdj"}) end,
        "linalg.svd: argument 'driver' is for CUDA only", "the CPU has no choice")
    local seen = 0
    for _, e in ipairs(profile.run({}, function() linalg.svd(x, {driver = "gesvdj"}) end):events())
    do
        if e.kind == "kernel" and e.name == "linalg_svd" and e.kernel:find "^gesvdjBatched: " then
            seen = seen + 1
        end
    end
    t.ok(seen >= 1, "a profile says which")
end
linalg.svdvals(randn(2, 300, 260, {device = "cuda"}))
t.is(select(2, cuda.svd_driver "auto"), "gesvd", "values alone are gesvd's")
t.error(function() cuda.svd_driver "gesdd" end, "no driver 'gesdd'", "a driver that there is not")
t.done()
