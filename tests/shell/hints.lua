--!plain
-- Lines as people type them in Python: what runs as typed, and the code of each hint, gives the
-- value that PyTorch gives, a literal of tests/support/hints.tsv (written by PyTorch 2.15 with
-- scripts/dev/torch/hints.py; its values are of the variables below). Runs at a prompt, where hints
-- are.
local shell = debug.getregistry()["gpush.shell"]
if not shell then
    local file = os.tmpname()
    local out <close> = assert(io.open(file, "w"))
    out:write(":dev\ndofile ", ("%q"):format(arg[0]), "\nos.exit(false)\n") -- done() exits before
    out:close()
    local ok = os.execute(("'%s' -e '_PROMPT = \"\"' -i <'%s'"):format(arg[-1], file))
    os.remove(file)
    os.exit(ok == true, true)
end

local t = require "tap"
local dotted = debug.getregistry()["gpush.dotted"]
local dir = debug.getinfo(1, "S").source:match "^@(.*)tests/shell/" or ""
arg = { [0] = "s.lua", "64", "--cpu" } -- luacheck: ignore
local txt = os.tmpname()
rawset(_G, "txt", txt)
do
    local out <close> = assert(io.open(txt, "w"))
    out:write "l1\nl 2\n"
end
local kept = {}
for name, value in pairs(_G) do kept[name] = value end
local setup = assert(load [[
    x = arange(0, 11):float():reshape(3, 4)
    y, w, v = x * 2, tensor{{1., 2.}, {3., 4.}}, tensor{3., 1., 2.}
    t, m = arange(0, 23):reshape(2, 3, 4), x > 5
    idx, lab, one = tensor{1, 3}, tensor{1, 3, 2}, tensor{2.5}
    n, k, i, j, e, neg, zero, flag, blank, s, name = 3, 2, 1, 2, 2.5, -1, 0, true, "", "a b", "net"
    xs, ys, d, lr, ts = {1, 2, 3}, {4, 5, 6}, {k = 1}, 0.1, {tensor(1.), tensor(2.)}
    rows, words, lists = {{1, 2}, {3, 4}}, {"b", "aa", "ccc"}, {a = {1, 2, 3}}
    recs = {{name = "ab", v = 3}, {name = "c", v = 1}}
    ds = data.TensorDataset(x, v)
    loader = data.Loader{ds, batch = 2}
    lens, soft = tensor{3, 2}, tensor{{.1, .2, .3, .4}, {.1, .2, .3, .4}, {.1, .2, .3, .4}}
    stoi, itos = {a = 0, b = 1}, {[0] = "a", [1] = "b"}]])

-- The values that the code returns, or q; or what it prints; or the error.
local function run(code)
    local out, old, write = {}, print, io.write
    local f, message = load("local line_ <close> = nil return " .. code)
    if not f then f, message = load(code) end
    if not f then return false, message, true end
    function print(...) -- luacheck: ignore
        local list = table.pack(...)
        for i = 1, list.n do list[i] = tostring(list[i]) end
        out[#out + 1] = table.concat(list, " ") .. "\n"
    end
    io.write = function(...) -- luacheck: ignore
        for _, s in ipairs{...} do out[#out + 1] = tostring(s) end
    end
    local results = table.pack(xpcall(f, function(m)
        local found, place = dotted(2, 40)
        return found and place .. found or m
    end))
    print, io.write = old, write -- luacheck: ignore
    if not results[1] then return false, tostring(results[2]) end
    if #out > 0 then return true, table.concat(out) end
    if results.n == 1 then return true, rawget(_G, "q") end
    if results.n == 2 then return true, results[2] end
    return true, table.pack(table.unpack(results, 2, results.n))
end

local function plain(v)
    if is_tensor(v) then return v:tolist() end
    if type(v) ~= "table" then return v end
    local out = {}
    for key, item in pairs(v) do if key ~= "n" then out[key] = plain(item) end end
    return out
end

local function same(a, b)
    if type(a) == "number" and type(b) == "number" then
        return math.abs(a - b) <= 1e-4 * math.max(1, math.abs(b))
    end
    if type(a) ~= "table" or type(b) ~= "table" then return a == b end
    for key in pairs(a) do if b[key] == nil and b[tostring(key)] == nil then return false end end
    for key, item in pairs(b) do
        if not same(a[key] == nil and a[tonumber(key)] or a[key], item) then return false end
    end
    return true
end

local function fresh()
    for name in pairs(_G) do rawset(_G, name, kept[name]) end
    setup()
end

-- The hint for the line that raised the message, or was no Lua.
local function hint(line, message, syntax)
    local function value(name) return rawget(_G, name) end
    local said = syntax and "in Lua: " .. (shell.line(line, value) or "")
        or shell.hint(message, line, value, true) or ""
    return said:match "^in Lua: (.*)$" or ""
end

-- The first variable that the code, which has just run, set and the line does not name.
local function overwritten(line, before)
    for name, value in pairs(_G) do
        local typed = name:gsub("_$", "") -- end_ for end, a word of Lua
        if not rawequal(value, before[name]) and not line:find("%f[%w_]" .. name .. "%f[^%w_]")
            and not line:find("%f[%w_]" .. typed .. "%f[^%w_]") then
            return name
        end
    end
end

local typed, hinted, seconds = 0, 0, 0
for row in io.lines(dir .. "tests/support/hints.tsv") do
    local line, _, literal = row:match "^([^\t]*)\t([^\t]*)\t(.*)$"
    local want = json.decode('{"value": ' .. literal .. "}").value
    fresh()
    local ok, got, syntax = run(line)
    local code
    if ok then typed = typed + 1
    else
        local before = clock()
        code = hint(line, got, syntax)
        seconds = seconds + clock() - before
        hinted = hinted + 1
        fresh()
        local before = {}
        for name, value in pairs(_G) do before[name] = value end
        ok, got = run(code)
        local name = overwritten(line, before)
        if name then
            ok, got = false, "sets the variable " .. name
        end
    end
    got = plain(got)
    t.ok(ok and (literal == "null" or same(got, want)), line)
    if not (ok and (literal == "null" or same(got, want))) then
        io.stderr:write(("# %s\n#   hint     %s\n#   gives    %s\n#   expected %s\n"):format(line,
            code or "none: it runs as typed", type(got) == "table"
            and select(2, pcall(json.encode, got)) or tostring(got), literal))
    end
end
-- Labels that an earlier line made as Python's, from 0; the literals are PyTorch's, whose argmax
-- is 3, 3, 3.
local ZERO <const> = "  -- indices count from 1, this tensor from 0"
local OPEN <const> = "  -- indices count from 1: a tensor of labels that count from 0 needs + 1"
for _, case in ipairs {
    { "q = (x.argmax(1) == py).float().mean()", ZERO, 2 / 3 },
    { "q = (torch.argmax(x, dim=1) != py).sum().item()", ZERO, 1 },
    { "q = x.argmax(1).eq(py.view(3)).sum().item()", ZERO, 2 },
    { "q = (x.argmax(1).cpu() == py.cpu()).float().mean()", ZERO, 2 / 3 },
    { "q = (x.argmax(1).numpy() == py.numpy()).mean()", ZERO, 2 / 3 },
    { "q = (x.topk(1)[1].squeeze() == py).sum()", ZERO, 2 },
    { "q = x[torch.arange(3), py]", ZERO, { 3, 4, 11 } },
    { "q = [xs[i] for i in py]", "labels[i:item()], or + 1", 0 },
    { "q = [ys[p] for p in mine.tolist()]", OPEN, { 6, 4, 5 } },
    { "q = ys[int(mine[0])]", OPEN, 6 }, { "q = ys[mine[0].item()]", OPEN, 6 },
    { "for c in range(2): print((mine == c).sum())", "(mine == c + 1):sum()", 0 },
    { "q = x[mine[0] - 1]", "of lengths it is mine[1]; of indices", 0 },
    { "q = x[torch.arange(3), mine - 1]", "of lengths it is mine; of indices", 0 },
    { "e = mine - 1; q = x[torch.arange(3), e]", "of lengths it is mine; of indices", 0 },
    { "q = x.gather(1, (mine - 1)[:, None])", "of lengths it is mine; of indices", 0 },
    { "q = [x[b, mine[b] - 1] for b in range(3)]", "of lengths it is mine[b]; of", 0 },
    { "q = [xs[i - 1] for i in mine.tolist()]", "of lengths it is i; of indices", 0 },
    { "q = x[0, :mine[1]]", "is a length here: one of indices that count from 1 needs - 1", { 0 } },
    { "q = [(mine == b).sum().item() for b in range(int(mine.max()) + 1)]", "", { 1, 1, 1 } },
    { "f = lambda s: s[0]", "of a text s:sub(i, i)", 0 },
    { "f = lambda s: [c for c in s]", "of a text: for c in s:gmatch(utf8.charpattern) do", 0 },
    { "q = torch.eq(x.argmax(1), py)", ZERO, { true, false, true } },
    { "q = (torch.max(x, 1)[1] == py).sum()", ZERO, 2 },
    { "_, p = torch.max(x, 1); q = (p == py).sum()", ZERO, 2 },
    { "q = (x.topk(2, 1).indices == py.unsqueeze(1)).sum()", ZERO, 2 },
    { "q = x.gather(1, py.view(3, 1))", ZERO, { { 3 }, { 4 }, { 11 } } },
    { "q = x.gather(1, py[:, None])", ZERO, { { 3 }, { 4 }, { 11 } } },
    { "q = x.index_select(1, py)", ZERO, { { 3, 0, 3 }, { 7, 4, 7 }, { 11, 8, 11 } } },
    { "q = F.nll_loss(F.log_softmax(x, 1), py)", ZERO, 1.4401897 },
    { "q = F.cross_entropy(x, ign)", ZERO, 1.9401897 },
    { "q = F.cross_entropy(x, ign, ignore_index=-100)", ZERO, 1.9401897 },
    { "q = x.gather(1, far[:, None])", OPEN, 0 },
    { "q = (x.argmax(1) == far).sum()", OPEN, 0 } } do
    fresh()
    rawset(_G, "py", tensor { 3, 0, 3 })
    rawset(_G, "ign", tensor { 3, -100, 0 })
    rawset(_G, "mine", tensor { 3, 1, 2 }) -- as argmax gives it
    rawset(_G, "far", tensor({ 3, 0, 3 }, { device = "sim" })) -- not read: that would wait
    synchronize()
    rawset(_G, "far", rawget(_G, "far") + 0)
    sync.reset()
    local _, message, syntax = run(case[1])
    local code = hint(case[1], message, syntax)
    t.ok(code:find(case[2], 1, true), code)
    if case[3] ~= 0 then t.close(plain(select(2, run(code))), case[3], 1e-6, case[1]) end
    t.is(#sync.lines(), 0, "a hint waits for nothing")
end

-- Julia's and MATLAB's lines, in which ^ is a power, A' the transpose and A \ b the solution of
-- A x = b; the values are worked out by hand.
for _, case in ipairs {
    { "q = (k -> k^2)(3)", 9 }, { "map(k -> k^2, [1, 2, 3])", { 1, 4, 9 } },
    { "q = map(k -> k^n + 1, [1, 2])", { 2, 9 } }, { "println(n^k)", "9.0\n" },
    { "q = v .* v^2", { 27, 1, 8 } }, { "q = w \\ tensor([5., 11.])", { 1, 2 } },
    { "q = w' \\ tensor([4., 6.])", { 1, 1 } }, { "q = k \\ n", 1.5 },
    { "q = 2 * (w \\ tensor([5., 11.]))", { 2, 4 } }, { "sum(abs2, v)", 14 },
    { "q = sum(k -> k + 1, v)", 9 }, { "maximum(abs, -v)", 3 }, { "prod(abs2, v)", 36 },
    { "q = !true", false }, { "q = !flag", false }, { "v |> sum", 6 }, { "sum(v .* v)", 14 },
    { "q = v .> 1", { true, false, true } }, { "q = v .== 3", { true, false, false } },
    { "v .= 0; v", { 0, 0, 0 } }, { "v .= tensor([1., 2., 3.]); v", { 1, 2, 3 } },
    { "q = exp.(v .* 0)", { 1, 1, 1 } }, { "for i in 1:3 println(xs[i]) end", "1\n2\n3\n" },
    { "push!(xs, 9); cu([1]); q = xs", { 1, 2, 3, 9 } }, { "fill!(v, 2)", { 2, 2, 2 } },
    { "q = sum(x[1:2, 2] .* 1)", 6 }, { "q = x[2, end] .+ 0", 7 },
    { "q = x[2:end, 1:2:end] .+ 0", { { 4, 6 }, { 8, 10 } } }, { "q = xs[2] |> abs", 2 },
    { "q = xs[end]", 3 }, { "q = xs[end-1]", 2 }, { "xs[2:end] .* 2", { 4, 6 } },
    { "q = xs[1:2:end]", { 1, 3 } }, { "q = rows[end][1:end]", { 3, 4 } },
    { "q = x[:, 1:2:end]", { { 0, 2 }, { 4, 6 }, { 8, 10 } } }, { "v[end:-1:1]", { 2, 1, 3 } },
    { "x[end, :]", { 8, 9, 10, 11 } }, { "q = x[end-1:end, 2]", { 5, 9 } },
    { "length(x)", 12 }, { "length(xs)", 3 }, { "n ÷= 2; q = n", 1 }, { "q = -7 ÷ 2", -3 },
    { "x[1:1, :] ÷ 2", { { 0, 0, 1, 1 } } }, { "[1.0, 2.0] .+ 1", { 2, 3 } },
    { "xs .* xs", { 1, 4, 9 } }, { "sum(k -> k^2, xs)", 14 }, { "maximum(x)", 11 },
    { "cat(w, w, dims=2)", { { 1, 2, 1, 2 }, { 3, 4, 3, 4 } } },
    { "w \\ [5.0, 11.0]", { 1, 2 } }, { "findall(v .> 1)", { 1, 3 } }, { "count(v .> 1)", 2 },
    { "ifelse.(v .> 1, v, 0)", { 3, 0, 2 } }, { "Float32.(v)", { 3, 1, 2 } },
    { "permutedims(w)", { { 1, 3 }, { 2, 4 } } }, { "svd(diag(v)).S", { 3, 2, 1 } },
    { "q = vcat(v, v[1:2]) .+ 0", { 3, 1, 2, 3, 1 } }, { "sum(x, dims=1) .- x[1:1, :]",
        { { 12, 14, 16, 18 } } } } do
    fresh()
    local _, message, syntax = run(case[1])
    local code = hint(case[1], message, syntax)
    local ok, got = run(code or "error 'no hint'")
    got = plain(got)
    t.ok(ok and got == case[2] or type(got) == "table", case[1] .. ": " .. tostring(code))
    if type(got) == "table" then t.close(got, case[2], 1e-5, case[1]) end
end

-- A module that is compiled stays one, under its name; weights that are loaded leave the random
-- numbers as they are; and a variable of a function's name hides no function.
for _, case in ipairs {
    { "net = torch.compile(net)", "step = fuse(function(x) return net(x) end)", "step(w)" },
    { "m2 = torch.jit.script(net)", "step = fuse(function(x) return net(x) end)", "step(w)" },
    { "f = torch.jit.trace(net, w)", "step = capture(function(x) return net(x) end)" },
    { "net.load_state_dict(torch.load('m.pt'))",
        "checkpoint.load('m.safetensors', {net = net}, {rng = false})" },
    { "s2 = torch.cuda.Stream()", 's2 = gpush.stream "gpu"', shadows = true } } do
    fresh()
    local net = nn.Linear(2, 2)
    rawset(_G, "net", net)
    rawset(_G, "stream", case.shadows and "mine" or nil)
    local _, message, syntax = run(case[1])
    local code = hint(case[1], message, syntax)
    t.ok(code and code:find(case[2], 1, true), case[1] .. ": " .. tostring(code))
    if case[3] then
        assert(load(code))()
        t.close(plain(select(2, run(case[3]))), plain(net(rawget(_G, "w"))), 1e-6, case[3])
        t.ok(nn.is_module(net), "net is a module")
    end
end
rawset(_G, "net", nil)
rawset(_G, "stream", nil)

-- The words and the form of what is shown.
for line, text in pairs { ["x.var(axis=1)"] = "NumPy's divides by n",
    ["x.std(axis=0)"] = "NumPy's divides by n",
    ["torch.set_float32_matmul_precision('high')"] = "cuda.tf32(true)  -- of a card",
    ["torch.set_float32_matmul_precision('highest')"] = "cuda.tf32(false)  -- of a card",
    ["np.linspace(0, 1, 5, endpoint=False)"] = 'linspace(0, 1, 6)["1:-2"]',
    ["import time; t0 = time.time()"] = "t0 = clock()  -- nothing to import",
    ["x.size / 2"] = "x:numel() / 2" } do
    fresh()
    local _, message, syntax = run(line)
    t.ok(hint(line, message, syntax):find(text, 1, true), line)
end

-- Lines by what stands above them: the text, the line, and its hint.
for _, case in ipairs { { "", "for i in 1:3", "for i = 1, 3 do" },
    { "", "for i in range(3):", "for i = 0, 2 do … end  -- x[i] there is x[i + 1] here" },
    { "a = np.array([1., 2.])", "a.std()", "std(a:double(), {correction = 0})" },
    { "a = net(x).numpy()\na = tensor{1.}", "a.repeat(2)", "a:repeat_interleave(2)" },
    { "a = np.ones(3)\na = torch.ones(3)", "a.repeat(2)", "a:tile(2)" },
    { "", "wide.std()",
        "wide:std()  -- PyTorch's, by n - 1; NumPy's divides by n: {correction = 0}" },
    { "", "[(wide == c).sum() for c in range(2)]",
        "local t = {} for c = 0, 1 do t[#t + 1] = (wide == c):sum() end return t" },
    { "", "data.T[0]", "data.T[1]  -- indices count from 1, and a range includes its end" },
    { "", "(lab == 1).sum()",
        "(lab == 1):sum()  -- classes and indices count from 1 here: a number of one is 1 more" },
    { "", "[(lab == c).sum() for c in range(3)]",
        "local t = {} for c = 0, 2 do t[#t + 1] = (lab == c + 1):sum() end return t  -- classes \z
        count from 1: of a tensor that counts them from 0 without + 1" },
    { "p = x:argmax(2)", "(lab == 1).sum()",
        "(lab == 1):sum()  -- classes and indices count from 1 here: a number of one is 1 more" },
    { "lab = x:argmax(2)", "(lab == 1).sum()",
        "(lab == 2):sum()  -- indices count from 1, and a range includes its end" },
    { "_, lab = x.max(1)\nlab = lab.cpu()", "q = (lab != 0).sum()", "q = (lab ~= 1):sum()  -- \z
        indices count from 1, and a range includes its end" },
    { "", "q = ((x.argmax(1) == 1) & (lab == 1)).sum()",
        "q = ((x:argmax(2) == 2) & (lab == 2)):sum()  \z
        -- classes count from 1: of a tensor that counts them from 0 without + 1" },
    { "", "x.argmax(1) - lab", "x:argmax(2) - lab  -- indices count from 1: a tensor of \z
        labels that count from 0 needs + 1" },
    { "with open(p) as f:", "for l in f: print(l)", 'for l in f:lines "L" do print(l) end' },
    { "f = open(p)", "q = [l for l in f]",
        'q = {} for l in f:lines "L" do q[#q + 1] = l end' } } do
    fresh()
    rawset(_G, "a", tensor { 1., 2. })
    rawset(_G, "data", tensor { { 1, 2 } })
    rawset(_G, "wide", tensor({ 1., 2. }, { dtype = "f64" }))
    t.is(shell.line(case[2], function(name) return rawget(_G, name) end, case[1]), case[3], case[2])
end

-- What has no code that is right: words.
for _, line in ipairs { "i = 0; x[:i]", "x[:zero]", "x[False]", "x[True, 0]", "x.sum() or y.sum()",
    'd = {"dim": 0}; d["dim"] = 1; x.sum(d["dim"])', "d = [0, 1]; d.reverse(); x.sum(d[0])",
    'd = {"dim": 0}; d.update(dim=1); x.sum(**d)', "for i in range(3): print(x[:i].sum())",
    "for i in range(3): print(x[-i:].sum())",
    "p = [(0, 0), (1, 1)]; [x[a] for a in p]", "p = (1, 3); x[:, slice(*p)]", "x[slice(*xs)]",
    "xs < ys", "np.array(words)", "del xs[1:2]",
    "x.max(axis=1)[1]", "x.min(axis=0)[0]", "(lab == 0).sum()",
    "F.one_hot(lab, int(lab.max()) + 1)",
    "torch.bincount(lab * 3 + x.argmax(1), minlength=9)",
    "q = min(n, x.shape[1])", "xs[abs(-1)]", "xs[max(0, 1)]", "x[abs(-1)]", "xs[round(1.2)]",
    "f = lambda a: x.sum(a); f(1)", "f = lambda a: x[a]; f(1)",
    "p = (slice(0, 2), 1); x[p]", "for i in range(3): print(x[i - 1:i + 1].sum())" } do
    fresh()
    local _, message, syntax = run(line)
    t.ok(hint(line, message, syntax):find "^%-%- ", line)
end

-- nan, inf and similar names are variables to Lua, and nil: the line with what Lua writes.
for line, lua in pairs { ["x[1] = nan"] = "x[1] = 0/0", ["x[1] = -inf"] = "x[1] = -math.huge",
    ["x[1] = NaN"] = "x[1] = 0/0", ["x[1] = math.nan"] = "x[1] = 0/0",
    ["x[1] = math.inf"] = "x[1] = math.huge", ["x:fill_(Inf)"] = "x:fill_(math.huge)",
    ["tensor{1, nan, 3}"] = "tensor{1, 0/0, 3}",
    ['x:masked_fill(x > 0, nan), "nan"'] = 'x:masked_fill(x > 0, 0/0), "nan"',
    ["x ^ nan"] = "x ^ (0/0)", ["x + undefined"] = "-- the variable 'undefined' is nil",
    ["x[1] = None"] = "-- the variable 'None' is nil" } do
    fresh()
    local _, message = run(line)
    t.is(hint(line, message), lua, line)
end
t.ok(typed + hinted > 1400, ("%d lines are hinted, in %.2f ms each, %d run as typed"):format(hinted,
    seconds / hinted * 1e3, typed))

-- Whatever stands in a hint is Lua: what is said in words is a comment.
local bad = {}
for name, text in pairs(debug.getregistry()["gpush.require"] "shell.torch_names") do
    if not (load("return " .. text) or load(text)) then bad[#bad + 1] = name end
end
table.sort(bad)
t.is(table.concat(bad, " "), "", "every answer about a name of PyTorch's is Lua")
os.remove(txt)
t.done()
