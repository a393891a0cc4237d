-- The part svd-table of a check on a GPU: measures every routine that can compute linalg's svd,
-- svdvals, eigh, qr, solve and LU on the card, over hundreds of shapes, and writes the table by
-- which gpush chooses among them (kernels/cuda/linalg/routes.def).
--
--   gpush svd_table.lua DEVICE FOLDER [SECONDS] [small]
--
-- FOLDER gets routes.def, to be put in the sources' place or read by cuda.linalg_routes, and
-- svd-table.tsv, every measurement. SECONDS (150): shapes are taken in an order that covers all
-- sizes early, until they are over; what was not measured keeps the rows in force. The exit status
-- is 1 if over the shapes measured the table written is ever over 1.2 of the best. `small` is for
-- trying the program without a GPU.
--
-- A routine counts at a shape where its result is right there, and at all where it also finds the
-- small singular values of matrices whose values fall over decades, which gesvda may not. One that
-- takes the matrices one after the other is first tried on a few of them: where that shows over
-- four times the best, its time is from these.
local device, folder = arg[1], arg[2]
local seconds, small = tonumber(arg[3]) or 150, arg[#arg] == "small"
local here = arg[0]:match ".*/" or ""
local routes = dofile(here .. "routes.lua")
local MOST <const>, SLACK <const> = 1.2, 1.1

if not device or not folder then
    io.stderr:write "svd-table: expected DEVICE FOLDER [SECONDS] [small]\n"
    os.exit(2)
end
if not device:find "^cuda" then
    print(("svd-table: %s has one routine for each op: there is no table"):format(device))
    os.exit(0)
end

-- ---- the ops: their operands, a call, and how wrong a result is ----

local function norm(x) return x:double():square():sum():sqrt():item() end
local function on_cpu(x) return x:to "cpu":double() end

local function matrices(s)
    return { randn(s.count, s.rows, s.cols, { dtype = s.dtype, device = device }) }
end
local function square(s)
    local x = randn(s.count, s.rows, s.rows, { dtype = s.dtype, device = device })
    return { x + s.rows * eye(s.rows, { dtype = s.dtype, device = device }) }
end

local ops = {}
ops.svd = { by = { "jacobi", "gesvdjBatched", "gesvdaStridedBatched", "gesvdj", "gesvd", "cpu" },
    operands = matrices,
    call = function(x) return linalg.svd(x, false) end,
    wrong = function(x, u, s, vh)
        local a = on_cpu(x)
        return norm(a - (on_cpu(u) * on_cpu(s):unsqueeze(-2)):matmul(on_cpu(vh))) / norm(a)
    end }
ops.svdvals = { by = { "jacobi", "gesvd", "cpu" }, operands = matrices, call = linalg.svdvals,
    wrong = function(x, s)
        local want = linalg.svdvals(on_cpu(x))
        return norm(on_cpu(s) - want) / norm(want)
    end }
ops.eigh = { by = { "syevjBatched", "syevBatched", "syevd", "cpu" },
    operands = function(s)
        local x = matrices(s)[1]
        return { x + x.mT }
    end,
    call = linalg.eigh,
    wrong = function(x, w, v)
        local a, q = on_cpu(x), on_cpu(v)
        return norm(a:matmul(q) - q * on_cpu(w):unsqueeze(-2)) / norm(a)
    end }
ops.qr = { by = { "geqrfBatched+own", "geqrfBatched+orgqr", "geqrf+own", "geqrf+orgqr", "cpu" },
    operands = matrices, call = linalg.qr,
    wrong = function(x, q, r)
        local a = on_cpu(x)
        return norm(a - on_cpu(q):matmul(on_cpu(r))) / norm(a)
    end }
ops.solve = { by = { "getrfBatched", "getrf", "cpu" },
    operands = function(s)
        local a = square(s)[1]
        return { a, randn(s.count, s.rows, s.cols, { dtype = s.dtype, device = device }) }
    end,
    call = linalg.solve,
    wrong = function(a, b, x)
        local m, y = on_cpu(a), on_cpu(x)
        return norm(m:matmul(y) - on_cpu(b)) / (norm(m) * norm(y))
    end }
ops.lu = { by = { "getrfBatched", "getrf" }, operands = square, call = linalg.lu_factor,
    wrong = function(a, lu)
        local want = linalg.lu_factor(on_cpu(a))
        return norm(on_cpu(lu) - want) / norm(want)
    end }
-- Those that are called once for each matrix.
local looped = { gesvdj = true, gesvd = true, syevd = true, geqrf = true, getrf = true }

-- ---- shapes ----

local function add(list, op, rows, cols, count)
    local elements, work = rows * cols * count, rows * cols * math.min(rows, cols) * count
    if rows < 1 or elements > (small and 2000 or 1 << 24) or work > (small and 2e4 or 2e10) then
        return
    end
    for _, dtype in ipairs { "f32", "f64" } do
        list[#list + 1] = { op = op, dtype = dtype, rows = rows, cols = cols, count = count }
    end
end

local function shapes()
    local list, counts = {}, { 1, 4, 32, 256, 2048 }
    for k = 1, 11 do
        local n = 1 << k
        for _, count in ipairs(counts) do
            for _, rows in ipairs { n, 4 * n, 32 * n } do add(list, "svd", rows, n, count) end
            add(list, "eigh", n, n, count)
            if k % 2 == 0 then
                for _, rows in ipairs { n, 8 * n } do
                    add(list, "svdvals", rows, n, count)
                    add(list, "qr", rows, n, count)
                end
                add(list, "qr", n // 4, n, count)
                for _, sides in ipairs { 1, 32 } do add(list, "solve", n, sides, count) end
                add(list, "lu", n, n, count)
            end
        end
    end
    -- an order that is the same everywhere, and that leaves no part for last
    local state = 1
    for i = #list, 2, -1 do
        state = state * 48271 % 2147483647
        local j = state % i + 1
        list[i], list[j] = list[j], list[i]
    end
    return list
end

-- ---- measuring ----

-- Puts that routine alone in force. False where it cannot compute what `call` asks for.
local function forced(op, by, call)
    local first, second = by:match "^(%w+)%+(%w+)$"
    local text = ('SOURCE("measuring")\nROUTE(%s, any, 0, 0, 1, 0, %s)\n'):format(op, first or by)
    if second then text = text .. ("ROUTE(form_q, any, 0, 0, 1, 0, %s)\n"):format(second) end
    require "gpush".cuda_routes(text)
    local result = table.pack(call())
    local _, _, used = cuda.linalg_routes()
    return used == (first or by), result
end

-- Seconds of a call, the wait included: the median of runs of `least`.
local least <const> = small and 1e-4 or 0.005
local function timed(call)
    synchronize(device)
    local t0 = clock()
    call()
    synchronize(device)
    local once = clock() - t0
    if once > 20 * least or small then return once end
    local n = math.max(1, least // math.max(once, 1e-7) | 0)
    return timeit(call, { print = false, device = device, n = n }).time
end

local eps <const> = { f32 = 2 ^ -23, f64 = 2 ^ -52 }
local function tolerance(s) return 8 * eps[s.dtype] * math.max(s.rows, s.cols, 8) end

-- On `count` matrices of a shape, by `by`: seconds and the error; nil where it cannot.
local function try(s, by, operands)
    local op = ops[s.op]
    local function call() return op.call(table.unpack(operands)) end
    local can, result = forced(s.op, by, call)
    if not can then return nil end
    local all = table.move(result, 1, result.n, #operands + 1, { table.unpack(operands) })
    local wrong = op.wrong(table.unpack(all))
    return timed(call), wrong
end

-- Few of a shape's matrices.
local function part(operands, n)
    local few = {}
    for i, x in ipairs(operands) do few[i] = x:narrow(1, 1, n):contiguous() end
    return few
end

local FEW <const> = 4
local function measure(s, write, trusted)
    local operands, best = ops[s.op].operands(s), math.huge
    local times = {}
    for _, by in ipairs(ops[s.op].by) do
        local ok, time, wrong = true, nil, nil
        if trusted[s.dtype][by] == false then goto continue end
        if looped[by:match "^%w+"] and s.count > FEW then -- from a few
            ok, time, wrong = pcall(try, s, by, part(operands, FEW))
            if ok and time then time = time * s.count / FEW end
        end
        if ok and not (time and time > 4 * best) then
            ok, time, wrong = pcall(try, s, by, operands)
        end
        if not ok then write(s, by, "failed", (tostring(time):gsub("%s+", " "))) goto continue end
        if not time then goto continue end
        write(s, by, time, wrong)
        if wrong <= tolerance(s) then
            times[by] = time
            best = math.min(best, time)
        end
        ::continue::
    end
    s.times = next(times) and times
    return next(times) ~= nil
end

-- By dtype, which routines of svd find values that fall over decades.
local function trusted()
    local out = {}
    for dtype, ulp in pairs(eps) do
        local n, opt = small and 4 or 16, { dtype = "f64" }
        local u, v = linalg.qr(randn(4, 4 * n, n, opt)), linalg.qr(randn(4, n, n, opt))
        local values = (ulp * 64) ^ (arange(0, n - 1, opt) / (n - 1))
        local x = (u * values):matmul(v.mT):to(dtype):to(device)
        out[dtype] = {}
        for _, by in ipairs(ops.svd.by) do
            local ok, can, result = pcall(forced, "svd", by, function() return ops.svd.call(x) end)
            if ok and can then
                local off = (on_cpu(result[2]) - values):abs():amax():item()
                out[dtype][by] = off <= 8 * n * ulp
                if not out[dtype][by] then
                    print(("%s, %s: left out, off by %.1e of the largest value"):format(by,
                        dtype, off))
                end
            end
        end
    end
    return out
end

-- ---- the table ----

-- What was not measured stays as it is in force.
local everything = setmetatable({}, { __index = function() return true end })
local function as_before(s, rows)
    s.times, s.guessed = { [routes.find(rows, s, everything)] = 1 }, true
    return s
end

-- The cells of the table. qr's are two: the rows of form_q are of Q, whose columns are the smaller
-- side.
local function cells(list, rows)
    local out = {}
    for _, s in ipairs(list) do
        out[#out + 1] = s
        if not s.times then
            as_before(s, rows)
            if s.op == "qr" then
                out[#out + 1] = as_before({ op = "form_q", dtype = s.dtype, rows = s.rows,
                    cols = math.min(s.rows, s.cols), count = s.count }, rows)
            end
        elseif s.op == "qr" then
            local first, second = {}, {}
            for by, time in pairs(s.times) do
                local a, b = by:match "^(%w+)%+(%w+)$"
                a = a or by
                first[a] = math.min(first[a] or math.huge, time)
                if b then second[b] = math.min(second[b] or math.huge, time) end
            end
            s.times = first
            if next(second) then
                out[#out + 1] = { op = "form_q", dtype = s.dtype, rows = s.rows,
                    cols = math.min(s.rows, s.cols), count = s.count, times = second }
            end
        end
    end
    return out
end

-- Of two of one shape, which a wide and a square matrix's Q are, one, and that a measured one.
local function distinct(list)
    local seen, out = {}, {}
    for _, s in ipairs(list) do
        local key = ("%s %s %d %d %d"):format(s.op, s.dtype, s.rows, s.cols, s.count)
        local at = seen[key]
        if not at then out[#out + 1], seen[key] = s, #out + 1
        elseif out[at].guessed then out[at] = s end
    end
    return out
end

local function measured_of(list)
    local out = {}
    for _, s in ipairs(list) do if not s.guessed then out[#out + 1] = s end end
    return out
end

local function card()
    local model = cuda.devices()[1].model
    for _, d in ipairs(cuda.devices()) do if d.name == device then model = d.model end end
    local host = "another host"
    for line in io.lines "/proc/cpuinfo" do
        local name = line:match "^model name%s*:%s*(.*)"
        if name then host = name break end
    end
    return model, host
end

-- The rows of the built-in table: in a bundle its text lies beside this file.
local function in_force()
    local f <close> = io.open(here .. "routes.def")
        or assert(io.open(here .. "../../../kernels/cuda/linalg/routes.def"))
    return routes.parse(f:read "a")
end

local function tell(what, rows, list)
    local worst, at, over, known = routes.judge(rows, list, MOST)
    print(("%s: over %.1f of the best at %d of %d shapes; worst %.2f%s"):format(what, MOST, over,
        known, worst, at and (", %s %s %dx%dx%d"):format(at.op, at.dtype, at.count, at.rows,
            at.cols) or ""))
    return over
end

local function save(name, text)
    local f = assert(io.open(folder .. "/" .. name, "w"))
    f:write(text)
    f:close()
end

manual_seed(1)
local lines = { "op\tdtype\tmatrices\trows\tcols\troutine\tseconds\terror" }
local function write(s, by, time, wrong)
    lines[#lines + 1] = ("%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s"):format(s.op, s.dtype, s.count, s.rows,
        s.cols, by, type(time) == "number" and ("%.4g"):format(time) or time,
        type(wrong) == "number" and ("%.1e"):format(wrong) or wrong)
end
local all, done, t0 = shapes(), {}, clock()
local good = trusted()
for _, s in ipairs(all) do
    if clock() - t0 > seconds and #done > 0 then break end
    if measure(s, write, good) then done[#done + 1] = s end
    collectgarbage()
end
cuda.linalg_routes "built-in"
save("svd-table.tsv", table.concat(lines, "\n") .. "\n")

local model, host = card()
print(("svd-table: %d of %d shapes in %.0f s on %s, host %s"):format(#done, #all, clock() - t0,
    model, host))
local before = in_force()
local whole = distinct(cells(all, before))
local measured, made = measured_of(whole), routes.make(whole, SLACK, before)
local source = ("%s, host %s, %d shapes, %s"):format(model:sub(1, 40), host:sub(1, 40), #done,
    os.date "!%Y-%m-%d")
save("routes.def", routes.text(made, source, ([[
Which routine computes linear algebra on a CUDA device, by shape: the first row that fits.
 * Measured and written by scripts/dev/gpu/svd_table.lua over %d shapes; what was not measured has
 * the routine that it had before. The includer defines SOURCE and ROUTE; routes.h says what rows
 * are.]]):format(#done)))
tell("the table that was in force", before, measured)
local over = tell("the table written", made, measured)
print(("%s/routes.def: %d rows, which cuda.linalg_routes reads: %s"):format(folder, #made,
    (cuda.linalg_routes(folder .. "/routes.def"))))
os.exit(over == 0 and #done > 0)
