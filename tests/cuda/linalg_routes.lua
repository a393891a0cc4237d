-- Linear algebra's routines on the stand-in for CUDA: each of them gives right results, by what a
-- decomposition must satisfy, in f64 on the cpu; the one that runs is the table's; another table
-- changes it; and the script that measures a table writes one that is read.
local t = require "tap"
local g = require "gpush"
local root, build, tmp = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- ---- the references ----

local function host(x) return x:to "cpu":double() end
local function size(x) return x:numel() > 0 and x:abs():amax():item() or 0 end
local function near(a, b) return size(a - b) end
local function unit(q) -- how far columns are from orthonormal
    return near(q.mT:matmul(q), eye(q.shape[#q.shape], { dtype = "f64" }))
end
-- Of each op, how wrong its results are for x, relative to x.
local check = {}
function check.svd(x, u, s, vh)
    local a, U, S, V = host(x), host(u), host(s), host(vh)
    local k = S.shape[#S.shape]
    local own = (U:narrow(-1, 1, k) * S:unsqueeze(-2)):matmul(V:narrow(-2, 1, k))
    local falling = k < 2 or S:numel() == 0 or
        (S:narrow(-1, 1, k - 1) - S:narrow(-1, 2, k - 1)):amin():item() >= 0
    return falling and math.max(near(own, a) / math.max(size(a), 1), unit(U), unit(V.mT)) or 1
end
function check.svdvals(x, s)
    local a, S = host(x), host(s)
    return math.abs((a:square():sum() - S:square():sum()):item()) / (1 + a:square():sum():item())
end
function check.eigh(x, w, v)
    local a, W, V = host(x), host(w), host(v)
    local whole = a:tril() + a:tril(-1).mT
    return math.max(near(whole:matmul(V), V * W:unsqueeze(-2)) / math.max(size(a), 1), unit(V))
end
function check.qr(x, q, r)
    local a, Q, R = host(x), host(q), host(r)
    return math.max(near(Q:matmul(R), a) / math.max(size(a), 1), unit(Q), size(R:tril(-1)))
end
function check.solve(x, b, y)
    return near(host(x):matmul(host(y)), host(b)) / (1 + size(host(x)) * size(host(y)))
end

local calls = {
    svd = function(x) return linalg.svd(x, false) end,
    full = function(x) return linalg.svd(x) end,
    svdvals = function(x) return linalg.svdvals(x) end,
    eigh = function(x) return linalg.eigh(x) end,
    qr = function(x) return linalg.qr(x) end,
    complete = function(x) return linalg.qr(x, "complete") end,
}
local op_of = { full = "svd", complete = "qr" }

-- ---- routes ----

local function rows(list)
    local text = { 'SOURCE("a test")' }
    for _, r in ipairs(list) do text[#text + 1] = ("ROUTE(%s)"):format(r) end
    return g.cuda_routes(table.concat(text, "\n"))
end
local function used() return (select(3, cuda.linalg_routes())) end

-- Which library's calls fn makes, and the CPU's copies, with how often; whether our own kernel ran.
local function kernels(fn)
    local names = {}
    local prof = profile.run({}, function() return fn() end)
    for _, e in ipairs(prof:events()) do
        local by, of = (e.kind == "kernel" and e.kernel or ""):match "^(%w+): (.*)"
        local name = by and (of:match "fake_[gso][%w_]+" or by == "cpu" and of == "memcpy" and of)
        if name then names[name] = (names[name] or 0) + 1 end
        if by == "jacobi" then names.jacobi = 1 end
    end
    return names
end

local function seen(x, eps, what, name, fn)
    local results = table.pack(fn())
    local wrong = check[op_of[name] or name](x, table.unpack(results))
    t.ok(wrong <= eps, what, wrong)
end

-- Shapes as {tensor, text}: wide, tall, single numbers, empty, batches, and views of all kinds.
local function inputs(dtype, square)
    local opt = { dtype = dtype, device = "cuda" }
    local list = {}
    local function add(text, x) list[#list + 1] = { x, text } end
    add("1x1", randn(1, 1, opt))
    add("3 of 1x1", randn(3, 1, 1, opt))
    add("5x5", randn(5, 5, opt))
    add("2x2 of 4x4", randn(2, 2, 4, 4, opt))
    add("none of 3x3", zeros(0, 3, 3, opt))
    add("0x0", zeros(0, 0, opt))
    add("transposed", randn(3, 6, 6, opt).mT)
    add("every second", randn(2, 10, 10, opt)["1:2, 1:10:2, 1:10:2"])
    add("one for all", randn(4, 4, opt):unsqueeze(1):expand(3, 4, 4))
    if square then return list end
    add("tall", randn(9, 4, opt))
    add("wide", randn(4, 9, opt))
    add("3 tall", randn(3, 40, 3, opt))
    add("3 wide", randn(3, 3, 40, opt))
    add("4x0", zeros(4, 0, opt))
    add("0x4", zeros(2, 0, 4, opt))
    return list
end

local eps = { f32 = 2e-5, f64 = 1e-12 }
manual_seed(7)
local routines = {
    svd = { "jacobi", "gesvd", "gesvdj", "gesvdjBatched", "gesvdaStridedBatched", "cpu" },
    svdvals = { "jacobi", "gesvd", "cpu" },
    eigh = { "syevd", "syevjBatched", "syevBatched", "cpu" },
    qr = { "geqrf", "geqrfBatched", "cpu" }, solve = { "getrf", "getrfBatched", "cpu" },
}
routines.full, routines.complete = routines.svd, routines.qr
for _, dtype in ipairs { "f32", "f64" } do
    for name, call in pairs(calls) do
        local op = op_of[name] or name
        for _, by in ipairs(routines[name]) do
            local ran = 0
            for _, form_q in ipairs(by:find "^geqrf" and { "own", "orgqr" } or { "" }) do
                local list = { ("%s, any, 0, 0, 1, 0, %s"):format(op, by) }
                if form_q ~= "" then list[2] = "form_q, any, 0, 0, 1, 0, " .. form_q end
                rows(list)
                for _, x in ipairs(inputs(dtype, name == "eigh")) do
                    local what = ("%s by %s %s, %s of %s"):format(name, by, form_q, x[2], dtype)
                    seen(x[1], eps[dtype], what, name, function() return call(x[1]) end)
                    if used() == by then ran = ran + 1 end
                end
            end
            t.ok(ran >= 6, ("%s of %s: by %s where it can"):format(name, dtype, by), ran)
        end
    end
    for _, by in ipairs(routines.solve) do
        rows { "solve, any, 0, 0, 1, 0, " .. by }
        for _, x in ipairs(inputs(dtype, true)) do
            local a = x[1] + 6 * eye(x[1].shape[#x[1].shape], { dtype = dtype, device = "cuda" })
            local n = a.shape[#a.shape]
            for _, b in ipairs { randn(n, 5, { dtype = dtype, device = "cuda" }),
                randn(n, 1, { dtype = dtype, device = "cuda" }) }
            do
                t.ok(check.solve(a, b, linalg.solve(a, b)) <= eps[dtype],
                    ("solve by %s, %s of %s, %d sides"):format(by, x[2], dtype, b.shape[2]))
                local left = linalg.solve(a, b.mT, false)
                t.ok(check.solve(a.mT, b, left.mT) <= eps[dtype], "and from the left")
            end
            t.is(a:numel() == 0 or used(), a:numel() == 0 or by, "by " .. by)
        end
    end
end

-- ---- NaN, and what is singular ----

for name, list in pairs(routines) do
    if calls[name] and name ~= "qr" and name ~= "complete" then
        for _, by in ipairs(list) do
            rows { ("%s, any, 0, 0, 1, 0, %s"):format(op_of[name] or name, by) }
            local x = randn(2, 3, 3, { device = "cuda" })
            x[2][2][1] = 0 / 0
            t.error(function() return ({ calls[name](x) })[1]:tolist() end,
                "contains NaN or infinite elements", name .. " by " .. by .. ": NaN is an error")
            synchronize "cuda"
        end
    end
end
for _, by in ipairs(routines.solve) do
    rows { "solve, any, 0, 0, 1, 0, " .. by }
    t.error(function() linalg.solve(zeros(2, 3, 3, { device = "cuda" }),
            ones(3, 1, { device = "cuda" })):tolist() end,
        "linalg.solve: matrix %[1%] of the batch is singular", "solve by " .. by .. ": and zeros")
    local bad = eye(3, { device = "cuda" }):expand(2, 3, 3):clone()
    bad[2][1][1] = 0 / 0
    local y = linalg.solve(bad, ones(3, 1, { device = "cuda" }))
    t.ok(y[1]:isfinite():all():item() and y[2]:isnan():all():item(), by .. ": NaN of one matrix")
end

-- ---- which calls are made, how often ----

local x = randn(3, 6, 6, { device = "cuda" })
for _, case in ipairs {
    { "svd, any, 0, 0, 1, 0, jacobi", "full", { jacobi = 1 } },
    { "svd, any, 0, 0, 1, 0, gesvd", "full", { fake_gesvd = 3 } },
    { "svd, any, 0, 0, 1, 0, gesvdj", "full", { fake_gesvdj = 3 } },
    { "svd, any, 0, 0, 1, 0, gesvdjBatched", "full", { fake_gesvdjBatched = 1 } },
    { "svd, any, 0, 0, 1, 0, gesvdaStridedBatched", "full", { fake_gesvdaStridedBatched = 1 } },
    { "svd, any, 0, 0, 1, 0, cpu", "full", { memcpy = 4 } }, -- one there, three back
    { "eigh, any, 0, 0, 1, 0, syevd", "eigh", { fake_syevd = 3 } },
    { "eigh, any, 0, 0, 1, 0, syevjBatched", "eigh", { fake_syevj_batched = 1 } },
    { "eigh, any, 0, 0, 1, 0, syevBatched", "eigh", { fake_syev_batched = 1 } },
    { "qr, any, 0, 0, 1, 0, geqrf", "qr", { fake_geqrf = 3, fake_orgqr = 3 } },
    { "qr, any, 0, 0, 1, 0, geqrfBatched", "qr", { fake_geqrf_batched = 1, fake_orgqr = 3 } },
    { "qr, any, 0, 0, 1, 0, cpu", "qr", { memcpy = 3 } },
    -- the first row that fits: by dtype, sizes, number of matrices
    { "svd, f64, 0, 0, 1, 0, gesvd", "full", { fake_gesvdj = 3 } },
    { "svd, f32, 6, 5, 1, 0, gesvd", "full", { fake_gesvdj = 3 } },
    { "svd, f32, 6, 6, 4, 0, gesvd", "full", { fake_gesvdj = 3 } },
    { "svd, f32, 6, 6, 1, 2, gesvd", "full", { fake_gesvdj = 3 } },
    { "svd, f32, 6, 6, 3, 3, gesvd", "full", { fake_gesvd = 3 } },
} do
    rows { case[1] }
    t.is(kernels(function() return calls[case[2]](x) end), case[3], case[1])
end
rows { "svd, any, 0, 0, 1, 0, cpu" }
local events = profile.run({}, function() return linalg.svd(x) end):events()
local waits = 0
for _, e in ipairs(events) do
    if e.kind == "wait" and e.name ~= "wait: profile" then waits = waits + 1 end
end
t.is(waits, 0, "by the cpu: the host waits for nothing")
local f = g.capture(function(a) return (linalg.svdvals(a) * 2) end)
rows { "svdvals, any, 0, 0, 1, 0, cpu" }
for _ = 1, 3 do
    t.ok((f(x) - 2 * linalg.svdvals(x:cpu()):to "cuda"):abs():amax():item() < 1e-5,
        "a captured function, with the cpu in the table")
end
t.is(linalg.lstsq(x, ones(3, 6, 1, { device = "cuda" })).shape ~= nil, true,
    "lstsq, which needs the device's own")

-- ---- tables ----

t.is({ cuda.linalg_routes "built-in" }, { "by rule, not measured", 31, used() },
    "the built-in table")
for text, what in pairs {
    ["ROUTE(svd, any, 0, 0, 1, 0, jacobi)"] = "no SOURCE",
    ['SOURCE("x")'] = "no line begins with ROUTE",
    ['SOURCE("x")\nROUTE(svd, any, 0, 0, 1, 0, gesdd)'] = "line 2 is no row: ROUTE%(svd",
    ['SOURCE("x")\n\nROUTE(sdv, any, 0, 0, 1, 0, gesvd)'] = "line 3 is no row",
    ['SOURCE("x")\nROUTE(svd, f16, 0, 0, 1, 0, gesvd)'] = "line 2 is no row",
    ['SOURCE("x")\nROUTE(svd, any, 0, 0, 0, 0, gesvd)'] = "line 2 is no row",
    ['SOURCE("x")\nROUTE(svd, any, 0, -1, 1, 0, gesvd)'] = "line 2 is no row",
    ['SOURCE("x")\nROUTE(svd, any, 0, 0, 1, 0, auto)'] = "line 2 is no row",
    ['SOURCE("x")\nROUTE(svd, any, 0, 0, 1, 0'] = "line 2 is no row",
} do
    t.error(function() g.cuda_routes(text) end, what, "a wrong table: " .. what)
end
t.error(function() cuda.linalg_routes "nosuch" end, "cuda.linalg_routes: cannot open nosuch",
    "a file that there is not")
t.is((cuda.linalg_routes()), "by rule, not measured", "and the table stays")

-- ---- the script ----

local routes = dofile(root .. "/scripts/dev/gpu/routes.lua")
do -- tables from made-up times: every shape within the slack of its best, gaps and all
    local state, list = 5, {}
    local function random() state = state * 48271 % 2147483647 return state / 2147483647 end
    for _, dtype in ipairs { "f32", "f64" } do
        for n = 1, 8 do
            for _, rows_ in ipairs { 1, 3, 20 } do
                for _, count in ipairs { 1, 4, 32, 256 } do
                    local times = {}
                    for _, by in ipairs(routines.svd) do
                        if random() < 0.8 then times[by] = 1 + random() * 3 end
                    end
                    if next(times) and random() < 0.9 then
                        list[#list + 1] = { op = "svd", dtype = dtype, rows = rows_ << n,
                            cols = 1 << n, count = count, times = times }
                    end
                end
            end
        end
    end
    local made = routes.make(list, 1.1)
    local worst, _, over, known = routes.judge(made, list, 1.2)
    t.ok(worst <= 1.1 and over == 0 and known == #list, "each shape has a routine within a tenth",
        worst)
    local text = routes.text(made, "made up", "of a test")
    t.is(routes.parse(text), made, "a table's text is read")
    t.is(select(1, g.cuda_routes(text)), #made, "and by the plug-in")
    local wrong = 0
    for i = 1, #list, 3 do -- as the plug-in chooses, where all routines can
        local s = list[i]
        if s.rows <= 32 and s.count <= 4 and s.rows == s.cols then
            local _ = linalg.svd(randn(s.count, s.rows, s.cols, { dtype = s.dtype,
                device = "cuda" }))
            local all = {}
            for _, by in ipairs(routines.svd) do all[by] = true end
            if used() ~= routes.find(made, s, all) then wrong = wrong + 1 end
        end
    end
    t.is(wrong, 0, "which chooses the same rows")
end
local command = "'%s/gpush' '%s/scripts/dev/gpu/svd_table.lua' cuda '%s' 0.2 small 2>&1"
local p = io.popen(command:format(build, root, tmp))
local out = p:read "a"
t.ok(p:close() and out:find "svd%-table: %d+ of %d+ shapes in %d+ s on " and
    out:find "the table written: over 1.2 of the best at 0 of %d+ shapes", "the script runs", out)
t.ok(cuda.linalg_routes(tmp .. "/routes.def"):find "stand%-in", "and its table is read")
for line in io.lines(tmp .. "/svd-table.tsv") do
    if line:find "failed" then t.ok(false, "a routine failed: " .. line) end
end
t.done()
