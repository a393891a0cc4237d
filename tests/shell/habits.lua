-- What a user of PyTorch, NumPy or IPython types in the first ten minutes: the error gives the Lua
-- form, at the prompt and in a script, with the names that were typed; and that form runs.
local t = require "tap"
local program, unused = arg[-1], os.tmpname()
local file = unused .. ".lua"

local function write(text)
    local out <close> = assert(io.open(file, "w"))
    out:write(text, "\n")
end

-- Everything that the program prints about the text.
local function output(options, text)
    write(text)
    local out <close> = assert(io.popen(("cd \"$TMPDIR\" && timeout 20 '%s' %s '%s' 2>&1"):format(
        program, options, file)))
    return out:read "a"
end

local FLAT <const> = "-- without an axis it is of all elements in a row: give it x:flatten()"
-- The variables present when a line is typed.
local setup = [[
x, y, z, a, b, c, n, e = ones(3, 4), ones(3, 4), 2, 1, 2, true, 3, 2.5
v = ones(3) xs, ys, d = {1, 2, 3}, {4, 5, 6}, {k = 1} ds = data.TensorDataset(ones(8, 4), ones(8))
i = 1 model = nn.Linear(4, 2) opt = optim.SGD(model:parameters(), {lr = 0.1}) r = {lstm = tostring}
train_loader = data.Loader{ds, batch = 4} Name = nn.module "Name" loss = ones(1):sum() text = "a b";
]]

-- Typed text, and the answer: what follows "in Lua: " up to a semicolon and a note. An answer with
-- a prompt's command, or in words only, is not run.
local habits = {
    -- lists, shapes, options
    { "tensor([[1, 2], [3, 4]])", "tensor{{1, 2}, {3, 4}}" },
    { "torch.tensor([1, 2])", "tensor{1, 2}" },
    { "q = np.array([1, 2])", "q = tensor({1, 2})" },
    { "q = torch.tensor([1., 2.], dtype=torch.float32)", 'q = tensor({1., 2.}, {dtype = "f32"})' },
    { "zeros((2, 3))", "zeros(2, 3)" },
    { "q = nn.BatchNorm2d(3, momentum=None)", "q = nn.BatchNorm2d(3, {momentum = false})" },
    { "q = np.zeros((2, 3))", "q = zeros(2, 3)" },
    { "q = [1, 2, 3]", "q = {1, 2, 3}" },
    { "p, q = [1, 2]", "p, q = 1, 2" },
    { "p, q = (1, 2)", "p, q = 1, 2" },
    { "q = torch.stack((x, y))", "q = stack{x, y}" },
    { "q = torch.cat([x, y], dim=0)", "q = cat({x, y}, {dim = 1})" },
    { "q = torch.cat([x, y], 1)", "q = cat({x, y}, 2)" },
    { "q = torch.max(x, 1)", "q = max(x, 2)" },
    { "x = x.mean(0) ** 2", "x = x:mean(1) ^ 2" },
    { "q = {'a': 1, 'b c': 2}", "q = {a = 1, ['b c'] = 2}" },
    { "dict(a=1)", "{a = 1}" },
    { "sum(x, dim=1)", "sum(x, {dim = 2})" },
    { "q = x.sum(axis=-1, keepdims=True)", "q = x:sum{dim = -1, keepdim = true}" },
    { "q = torch.randn(3, 4, requires_grad=True)", "q = randn(3, 4, {requires_grad = true})" },
    { "[k*2 for k in range(3)]",
        "local t = {} for k = 0, 2 do t[#t + 1] = k * 2 end return t" },
    { "q = [k for k in xs if k > 1]",
        "q = {} for _, k in ipairs(xs) do if k > 1 then q[#q + 1] = k end end" },
    { "xs.append(3)", "table.insert(xs, 3)" },
    -- Lua with a slip: nothing but the slip is other
    { "q = arange(1, 12):reshape(3, 4); print(q.sum(2))",
        "q = arange(1, 12):reshape(3, 4); print(q:sum(2))" },
    { "for i, row in ipairs(x) do print(row.sum(1)) end",
        "for i, row in ipairs(x) do print(row:sum(1)) end" },
    { "local a = {1, 2}; a[1] += 1", "local a = {1, 2}; a[1] = a[1] + 1" },
    -- indices
    { "x[:, 1]", 'x[":, 2"]' },
    { "x[1:3]", 'x["2:3"]' },
    { "x[::2]", 'x["::2"]' },
    { "x[:-1]", 'x[":-2"]' },
    { "x[..., 0]", 'x["..., 1"]' },
    { "q = x[None]", 'q = x["new"]' },
    { "x[0, 1]", "x[{1, 2}]" },
    { "q = x[i, :]", "q = x[{ i + 1, {} }]" },
    { "x[1:3] = 0", 'x["2:3"] = 0' },
    { "x[:, 0] += 1", 'x[":, 1"] = x[":, 1"] + 1' },
    { "q = x.reshape(2, -1)[:, ::2]", 'q = x:reshape(2, -1)[":, ::2"]' },
    -- operators
    { "z += 1", "z = z + 1" },
    { "z **= 2", "z = z ^ 2" },
    { "z != 2", "z ~= 2" },
    { "a && b", "a ~= 0 and b or a" },
    { "q = !c || b", "q = not c or b" },
    { "z**2", "z ^ 2" },
    { "q = ((x - y) ** 2).mean()", "q = ((x - y) ^ 2):mean()" },
    { "z is None", "z == nil" },
    { "q = z is not None", "q = z ~= nil" },
    { "type(z) is int", 'math.type(z) == "integer"' },
    { "a if c else b", "if c then return a else return b end" },
    { 'device = "cuda" if torch.cuda.is_available() else "cpu"',
        'if cuda.is_available() then device = "cuda" else device = "cpu" end' },
    { 'q = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
        'q = cuda.is_available() and "gpu" or "cpu"' },
    { "print(list(map(lambda q: q + 1, xs)))",
        "print((function() local t = {} for i, v in ipairs(xs) do t[i] = \z
        (function(q) return q + 1 end)(v) end return t end)())" },
    { "q = sorted(xs)",
        "q = (function() local t = {table.unpack(xs)} table.sort(t) return t end)()" },
    { "lambda q: q + 1", "function(q) return q + 1 end",
        run = "local f = function(q) return q + 1 end" },
    { "p = q = 3", "q = 3; p = q" },
    -- texts
    { 'f"loss {z}"', '("loss %s"):format(z)' },
    { 'print(f"{n}% of {x}")', 'print(("%s%% of %s"):format(n, x))' },
    { "isinstance(x, Tensor)", "is_tensor(x)" },
    { "isinstance(x, nn.Module)", "nn.is_module(x)" },
    { 'print(f"{z:.2f}")', 'print(("%.2f"):format(z))' },
    { 'print(f"epoch {n}: loss {loss.item():.4f}")',
        'print(("epoch %s: loss %.4f"):format(n, loss:item()))' },
    { '"a" + "b"', '"a" .. "b"' },
    { 'print("loss: %.3f" % e)', 'print(("loss: %.3f"):format(e))' },
    { 'print("{} of {:.2f}".format(n, e))', 'print(("%s of %.2f"):format(n, e))' },
    { '", ".join(xs)', 'table.concat(xs, ", ")' },
    { '"""doc"""', "-- doc", run = "" },
    { "# comment", "-- comment", run = "" },
    { "print n", "print(n)" },
    { 'print(n, end="")', 'io.write(n, "")' },
    -- statements
    { "import numpy as np", "-- nothing to import" },
    { "from torch import nn", "-- nothing to import" },
    { "del z", "z = nil" },
    { 'raise ValueError("bad")', 'error("bad")', run = "" },
    { "assert n == 3", "assert(n == 3)" },
    { 'assert x.shape == (3, 4), "bad shape"', 'assert(x.shape == {3, 4}, "bad shape")' },
    { "@torch.no_grad()",
        "-- no_grad(function() … end), or do local _ <close> = no_grad() … end",
        run = "no_grad(function() end) do local _ <close> = no_grad() end" },
    { "global counter", "-- nothing to declare" },
    { "let q = 3", "local q = 3" },
    -- functions
    { "max(1, 2)", "math.max(1, 2)" },
    { "abs(-3)", "math.abs(-3)" },
    { "round(2.5)", 'math.tointeger(tonumber(("%.0f"):format(2.5)))' },
    { "pow(2, 3)", "2 ^ 3" },
    { "print(torch.ones(2).abs())", "print(ones(2):abs())" },
    { "print(torch.fft.fft(torch.ones(2)).abs())",
        "print(linalg.vector_norm(fft.fft(ones(2)), 2, -1))" },
    { "sum([1, 2])", "tensor({1, 2}):sum():item()" },
    { "sum({1, 2})", "tensor({1, 2}):sum():item()" },
    { "len(xs)", "#xs" },
    { "d.items()", "pairs(d)" },
    { 'd.get("k")', 'd["k"]' },
    { '"k" in d', 'd["k"] ~= nil' },
    { 'print(1, 2, sep=", ")', 'print(table.concat({1, 2}, ", "))' },
    { "print(n, file=sys.stderr)", 'io.stderr:write(n, "\\n")' },
    { "range(3)", "(function() local t = {} for i = 0, 2 do t[#t + 1] = i end return t end)()" },
    { "dir(x)", "help(x)" },
    { "isinstance(z, int)", 'math.type(z) == "integer"' },
    { "isinstance(x, torch.Tensor)", "is_tensor(x)" },
    { "enumerate(xs)", "ipairs(xs)" },
    { "zip(xs, ys)", "(function() local t = {} for i = 1, math.min(#xs, #ys) do \z
        t[i] = {xs[i], ys[i]} end return t end)()" },
    { "str(z)", "tostring(z)" },
    { "int(e)", "math.tointeger((math.modf(e)))" },
    { "q = input()", "q = io.read()" },
    { "q = self.x", "-- function Name:method(…), with a colon, has self" },
    -- packages
    { "torch.save(model.state_dict(), \"m.pt\")",
        'checkpoint.save("m.safetensors", {model = model})' },
    { 'torch.load("m.pt")', 'checkpoint.load("m.safetensors", nil, {rng = false})', run = "" },
    { 'torch.save({"model": model.state_dict(), "epoch": n}, "m.pt")',
        'checkpoint.save("m.safetensors", {model = model, epoch = n})' },
    { 'q = torch.device("cuda")', 'q = "gpu"' },
    -- what no form means the same as is said in words
    { "np.sort(x, axis=None)", FLAT }, { "np.concatenate([x, x], axis=None)", FLAT },
    { "np.trace(x, offset=1)", '-- trace has no option offset: help "trace"' },
    { 'np.pad(x, 1, mode="edge")',
        '-- nothing here means the same with these arguments: help "pad"' },
    -- Julia's
    { "sum(x, dims=1)", "sum(x, {dim = 1, keepdim = true})" },
    { "x[2:end]", 'x["2:-1"]' },
    { "q = torch.utils.data.DataLoader(ds, batch_size=4, shuffle=True)",
        "q = data.Loader{ds, batch = 4, shuffle = true}" },
    { "q = torch.optim.SGD(model.parameters(), lr=0.1)",
        "q = optim.SGD(model:parameters(), {lr = 0.1})" },
    { "q = torch.nn.functional.relu(x)", "q = relu(x)" },
    { "q = nn.functional.softmax(x, 1)", "q = softmax(x, 2)" },
    { "torch.cuda.is_available()", "cuda.is_available()" },
    { "q = torch.compile(f)", "q = fuse(f)", run = "assert(fuse)" },
    { "q = torch.cuda.CUDAGraph()", "q = capture(fn)", run = "assert(capture)" },
    { 'torch.distributed.init_process_group("nccl")', "dist.init()", run = "assert(dist.init)" },
    { 'dist.init_process_group("gloo")', "dist.init()", run = "assert(dist.init)" },
    { "q = dist.get_rank()", "q = dist.rank" },
    { "q = DDP(model)",
        "q = nn.parallel.DistributedDataParallel(model)" },
    { 'torch.set_default_device("cpu")', 'default_device("cpu")' },
    { 'torch.set_default_dtype(torch.float32)', 'default_dtype("f32")' },
    { "torch.set_num_threads(1)", "threads(1)" },
    { "q = torch.as_tensor([1, 2])", "q = tensor{1, 2}" },
    { "q = torch.from_numpy(x)", "q = tensor(x)" },
    { "local F = nn.functional; q = F.relu(x)", "local F = nn.functional; q = relu(x)" },
    { 'torch.cuda.set_sync_debug_mode("warn")', 'sync.mode = "warn"' },
    { "q = torch.jit.script(f)", "q = fuse(f)", run = "assert(fuse)" },
    { "q = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=2)",
        "q = profile.schedule({wait = 1, warmup = 1, active = 3, repeats = 2})" },
    { 'q = torch.profiler.tensorboard_trace_handler("log")',
        'q = function(prof) prof:trace("step.json") end' },
    { 'q = torch.utils.benchmark.Timer(stmt="x.sum(1)")',
        "q = timeit(function() return x:sum(2) end)" },
    { 'torch.cuda.nvtx.range_push("step")', 'span = profile.region("step")' },
    { "q = torch.is_tensor(x)", "q = is_tensor(x)" },
    { "q = numel(x)", "q = x:numel()" },
    { "del xs[0]", "table.remove(xs, 1)" },
    { "del x[0]", "-- a tensor's elements stay: x[mask], or cat of two parts" },
    { "q = tuple(x.shape)", "q = x.shape" },
    { "q, *p = xs", "q, p = xs[1], {table.unpack(xs, 2)}" },
    { "q = x.data", "q = x:detach()" },
    { "x.grad.data.zero_()", "x.grad:zero_()", run = "assert(x.zero_)" },
    { "q = DataLoader(ds, batch_size=4)", "q = data.Loader{ds, batch = 4}" },
    { ">>> q = x.sum(1)", "q = x:sum(2)" }, { "In [1]: q = x.sum(dim=1)", "q = x:sum{dim = 2}" },
    { "q = torch.cat([x, y], 1,)", "q = cat({x, y}, 2)" },
    { "q = x[[0, 2], :]", "q = x[{ tensor{1, 3}, {} }]" },
    { "q = profile.run({use_cuda = true}, print)",
        "-- nothing to give: devices are always recorded" },
    { "torch.cuda.Event(enable_timing=True)", 'stream("gpu"):record()',
        run = "assert(stream)" },
    { "w.data -= 0.1", "no_grad(function() w:sub_(0.1) end)",
        run = "w = ones(2) no_grad(function() w:sub_(0.1) end)" },
    { 'q = open("f.txt").read()', 'q = io.open("f.txt"):read "a"', run = "assert(io.open)" },
    { 'np.savez("f.npz", a=x)', 'npz.save("f.npz", {a = x})' },
    { "1:10", "arange(1, 10)" }, { "x'", "x.T" },
    { "q = x .* y", "q = x * y" }, { "println(z)", "print(z)" }, { "q = size(x)", "q = x.shape" },
    { "q = torch.svd(x)", "q = (function(u, s, vh) return u, s, vh.mT end)(\z
        linalg.svd(x, {full_matrices = false}))" },
    { "q = np.arnage(3)", "-- there is no np.arnage here: did you mean arange?" },
    -- what hurt at the prompt
    { "q, r = next(iter(train_loader))", "q, r = select(2, train_loader()())" },
    { "for i, batch in enumerate(train_loader) do end",
        "for i, a, b in train_loader() do local batch = {a, b} end" },
    { "sum(p.numel() for p in model.parameters())",
        "local t = 0 for _, p in ipairs(model:parameters()) do t = t + p:numel() end return t" },
    { "q = sum(k for k in xs)", "q = 0 for _, k in ipairs(xs) do q = q + k end" },
    { "q = x.masked_fill(x == 0, float('-inf'))", "q = x:masked_fill(x == 0, -math.huge)" },
    { 'q = float("inf")', "q = math.huge" },
    { "copy.deepcopy(model)", "model:deepcopy()" },
    { "q = copy.deepcopy(x)", "q = x:clone()" },
    { "q = [w for w in text.split()]",
        'q = {} for w in text:gmatch "%S+" do q[#q + 1] = w end' },
    { 'model.load_state_dict(torch.load("m.pt"))',
        'checkpoint.load("m.safetensors", {model = model}, {rng = false})', run = "" },
    { "q, (p, c) = r.lstm(x)", "q, p, c = r.lstm(x)" },
    { 'np.save("a.npy", x)', 'npy.save("a.npy", x)' },
    { 'q = np.load("a.npy")', 'q = npy.load("a.npy")', run = "assert(npy.load)" },
    { "np.random.shuffle(v)", "v = v[randperm(#v)]" },
    { "x[[0, 1]]", "x[tensor{1, 2}]" },
    { "q = x[x > 2 and x < 5]", "q = x[(x > 2) & (x < 5)]" },
    { "q = sum([k for k in xs])", "q = 0 for _, k in ipairs(xs) do q = q + k end" },
    { "q = {k: v for k, v in d.items()}", "q = {} for k, v in pairs(d) do q[k] = v end" },
    { "q = isinstance(model, nn.Linear)", 'q = nn.class_of(model) == "Linear"' },
    { "q = torch.nn.Parameter(torch.zeros(3))", "q = nn.parameter(zeros(3))" },
    { "q = F.unfold(ones(1, 1, 3, 3), 2)", "q = nn.Unfold(2)(ones(1, 1, 3, 3))" },
    { "torch.nn.utils.parametrizations.weight_norm(model)", "nn.utils.weight_norm(model)" },
    { "q = model.__class__.__name__", "q = nn.class_of(model)",
        run = "q = nn.class_of(model)" },
    { "if e < 0.1: break", "if e < 0.1 then break end",
        run = "repeat if e < 0.1 then break end until true" },
    { "q = torch.FloatTensor([1, 2])", 'q = tensor({1, 2}, {dtype = "f32"})' },
    { 'q = json.dumps({"a": 1})', "q = json.encode({a = 1})" },
    { 'q = os.makedirs("q", exist_ok=True)', 'q = os.execute("mkdir -p " .. "q")' },
    { 'q = os.path.exists("q")', 'q = io.open("q") ~= nil' },
    { "q = round(2.567, 2)", 'q = tonumber(("%.2f"):format(2.567))' },
    { 'q = "a,b".split(",")',
        'q = (function() local t = {} for w in ("a,b" .. ","):gmatch("(.-)" .. \z
        ((","):gsub("%p", "%%%0"))) do t[#t + 1] = w end return t end)()' },
    { 'q = text.split(",")',
        'q = (function() local t = {} for w in (text .. ","):gmatch("(.-)" .. \z
        ((","):gsub("%p", "%%%0"))) do t[#t + 1] = w end return t end)()' },
    { "x:sum(1):shape", "x:sum(1).shape" }, { "q = x:shape[1]", "q = x.shape[1]" },
    { "print(x:view(-1):dtype)", "print(x:view(-1).dtype)" },
    { "class Faces(Dataset):", "Faces = data.Dataset{size = n, get = function(self, i) \z
        … return … end}", run = "data.Dataset{size = 3, get = function(self, i) return i end}" },
    { "q = time.time()", "q = clock()" },
    { 'q = torchvision.datasets', "-- data.ImageFolder(folder), data.TensorDataset(x, y), \z
        data.transforms", run = "assert(data.ImageFolder)" },
    { "torch.cuda.synchronize()", "synchronize()", run = "assert(cuda.synchronize)" },
    { "torch.manual_seed(0)", "manual_seed(0)" },
    { "q = torch.cuda.Stream()", 'q = stream "gpu"' },
    { "profile(function() x:sum() end)", "profile.run(function() x:sum() end)" },
    { "x:repeat(2, 1)", "x:tile(2, 1)" },
    { "q = x.astype(np.float32)", 'q = x:to("f32")' },
    { "torch.backends.cudnn.benchmark = True", "cuda.benchmark(true)",
        run = "assert(cuda.benchmark)" },
    { "torch.backends.cuda.matmul.allow_tf32 = True", "cuda.tf32(true)",
        run = "assert(cuda.tf32)" },
    { "plt.show()",
        "-- plot, hist, heatmap and imshow draw at once",
        run = "assert(plot and hist and heatmap and imshow)" },
    { "torch.arange(10)", "arange(0, 9)" },
    -- blocks
    { "for i in range(3):", "for i = 0, 2 do … end" },
    { "for i in range(3): print(i)", "for i = 0, 2 do print(i) end" },
    { "for i in range(1, n):", "for i = 1, n - 1 do … end" },
    { "for i, k in enumerate(xs):  # all", "for i, k in ipairs(xs) do … end" },
    { "for k, w in d.items():", "for k, w in pairs(d) do … end" },
    { "for p, q in zip([1, 2], [3, 4]):",
        "local list2 = {3, 4} for i, p in ipairs({1, 2}) do local q = list2[i] … end" },
    { "for p, q in zip([1, 2], [3]): z = p + q", "local list1 = {1, 2} local list2 = {3} \z
        for i = 1, math.min(#list1, #list2) do local p, q = list1[i], list2[i] z = p + q end" },
    { "for p, q in zip(d.p, d.q):",
        "for i = 1, math.min(#d.p, #d.q) do local p, q = d.p[i], d.q[i] … end",
        run = "d = {p = xs, q = ys} for i = 1, math.min(#d.p, #d.q) do local p = d.p[i] end" },
    { "for p, q in train_loader:", "for step, p, q in train_loader() do … end" },
    { "for p in model.parameters():", "for _, p in ipairs(model:parameters()) do … end" },
    { "for p, q in model.named_parameters():", "for p, q in model:named_parameters() do … end" },
    { "for i, (p, q) in enumerate(train_loader): pass", "for i, p, q in train_loader() do end" },
    { "for row in x:", "for _, row in ipairs(x) do … end" },
    { "for i in tqdm(range(n)):", "for i in progress(n) do … end" },
    { "while True:", "while true do … end", run = "while true do break end" },
    { "while z is not None and z != 2:", "while z ~= nil and z ~= 2 do … end",
        run = "while z ~= nil and z ~= 2 do break end" },
    { "if z > 0:", "if z > 0 then … end" },
    { 'if z == "a:b":', 'if z == "a:b" then … end' },
    { "elif z > 0:", "elseif z > 0 then", run = "" },
    { "else:", "else", run = "" },
    { "try:", "local ok, message = pcall(function() … end)" },
    { "except ValueError as e:", "if not ok then local e = message … end" },
    { "with torch.no_grad():", "do local _ <close> = no_grad() … end" },
    { "with torch.inference_mode():", "do local _ <close> = inference() … end" },
    { "with profile() as p:", "p = profile.run(function() … end)" },
    { "with torch.profiler.profile(activities=[ProfilerActivity.CPU], with_stack=True) as p:",
        "p = profile.run({with_stack = true}, function() … end)" },
    { 'with torch.autocast("cuda"):', 'do local _ <close> = autocast("f16") … end' },
    { 'with torch.autocast("cpu"):', 'do local _ <close> = autocast("bf16") … end' },
    { 'with torch.amp.autocast("cuda", enabled=c):',
        'do local _ <close> = autocast{dtype = "f16", enabled = c} … end' },
    { "with torch.set_grad_enabled(c):",
        "do local _ <close> = (c and enable_grad or no_grad)() … end" },
    { "torch.set_grad_enabled(False)", "grad_mode = no_grad()  -- the variable holds it" },
    { "ctx = torch.no_grad()",
        "-- by itself it changes nothing: do local _ <close> = no_grad() … end",
        run = "do local _ <close> = no_grad() end" },
    { "x:mean(dim=1)", "x:mean{dim = 1}  -- dims count from 1" },
    { "torch.no_grad()",
        "-- by itself it changes nothing: do local _ <close> = no_grad() … end",
        run = "do local _ <close> = no_grad() end" },
    { 'with torch.autocast(device_type="cuda", dtype=torch.float16):',
        'do local _ <close> = autocast("f16") … end' },
    { "with torch.cuda.stream(q):", "q:use(function() … end)",
        run = 'local q = stream "sim" q:use(function() end)' },
    { "with open('a.txt') as g:", "do local g <close> = io.open('a.txt') … end" },
    { "def f(p, q=3):", "function f(p, q) if q == nil then q = 3 end … end" },
    { "def f(p): return p", "function f(p) return p end" },
    { "def forward(self, p):", "function Name:forward(p) … end" },
    { "class Net(nn.Module):", 'Net = nn.module "Net" function Net:forward(x) … end' },
    { "class Net:",
        "Net = {} Net.__index = Net function Net.new() … return setmetatable({}, Net) end" },
    { "class Net: pass",
        "Net = {} Net.__index = Net function Net.new() return setmetatable({}, Net) end" },
    { "class Net(nn.Module): pass", 'Net = nn.module "Net"' },
    { "x.requires_grad = True", "x:requires_grad_()" },
    { "x.requires_grad = False", "x:requires_grad_(false)" },
}

local function answered(text, answer)
    local open = answer:find("…", 1, true) and not answer:find "^%-%-"
    local label = open and "in Lua, with … for your own: " or "in Lua: "
    local at = text:find(label .. answer, 1, true)
    return at and (text:find("^\n", at + #(label .. answer)) ~= nil
        or text:find("^  %-%- ", at + #(label .. answer)) ~= nil
        or answer:find "^%-%- [%l ]+$")
end

-- The program that an answer is, or nil.
local function program_of(h)
    local answer = h[2]
    if answer:find "^%-%- " then return nil end
    local code = h.run or answer:gsub("…", "")
    return setup .. (code ~= "" and load("return " .. code) and "local _ = " or "") .. code
end
-- Those that run one after the other in one process; others are tried alone.
local ran_with_others = {}
do
    local list = {}
    for i, h in ipairs(habits) do
        local code = program_of(h)
        list[#list + 1] = code and ("if pcall(assert(load(%q))) then print('habit %d ran') end")
            :format(code, i)
    end
    for i in output("", table.concat(list, "\n")):gmatch "habit (%d+) ran\n" do
        ran_with_others[math.tointeger(tonumber(i))] = true
    end
end

for i, h in ipairs(habits) do
    local typed, answer = h[1], h[2]
    local got = output("-e '_PROMPT = \"\"' -i <", setup .. typed)
    if not t.ok(answered(got, answer), typed) then io.stderr:write("# ", got, "\n") end
    got = output("", setup .. typed)
    if not t.ok(answered(got, answer), "in a script: " .. typed) then
        io.stderr:write("# ", got, "\n")
    end
    local code = program_of(h)
    if code then
        local ran = ran_with_others[i] and "" or output("", code)
        if not t.ok(not ran:find(file .. ":%d"), answer .. " runs") then
            io.stderr:write("# ", ran, "\n")
        end
    end
end

t.ok(output("-i <", setup .. 'print("…", len(xs))'):find('in Lua: print("…", #xs)', 1, true),
    "an ellipsis in a text stands for nothing")

-- What runs and means something else, or would wait for more lines.
t.ok(output("-i <", 'f = tostring z = 2\nq = f"loss {z}"'):find(
    'f"…" calls the function f; Lua\'s texts with values are q = ("loss %s"):format(z)', 1, true),
    "an f-string that calls a function f")
t.ok(output("-i <", setup .. "\nq = x[[0, 2], :]\nprint(40 + 2)"):find "42",
    "x[[0, 2], :] does not wait for more lines")
t.ok(output("", setup .. "x:repeat_(2)"):find("did you mean x = x:tile(…)?", 1, true),
    "a method in place whose name is a word of Lua")
for line, lua in pairs { ["!ls -l"] = 'os.execute "ls -l"', ["?torch.sum"] = 'help "sum"',
    ["x?"] = 'help "x"' } do
    t.ok(answered(output("", line), lua), "in a script: " .. line)
end
t.ok(output("-i <", "?torch.sum"):find("sum(x", 1, true), "help by PyTorch's name")
t.ok(output("", setup .. "x.sum(1)"):find("in Lua: x:sum(2)  -- dims count from 1\n", 1, true),
    "a dim after a dot")

t.ok(output("-i <", 'record_function("step")'):find "did you mean profile.record_function",
    "a name of PyTorch's profiler")

for line, meant in pairs { ["x:dtype()"] = "x.dtype, without brackets",
    ["x.shape()"] = "x.shape, without brackets", ["x:grad()"] = "x.grad, without brackets" } do
    t.ok(output("", setup .. "\nprint(" .. line .. ")"):find(
        "did you mean " .. meant .. "?", 1, true), line)
end

t.ok(output("", setup .. "\nprint(x.is_cuda)"):find('in Lua: print((x.device ~= "cpu"))', 1, true),
    "x.is_cuda")

-- An expression after statements is shown, also in one line.
for typed, shown in pairs { ["q = 40; q + 2"] = "42", ["q = 'a; b'; q"] = "a; b",
    ["q = 1; q;"] = "", ["f = function() local q = 1; q end"] = "syntax error near 'end'" } do
    local got = output("-e '_PROMPT = \"\"' -i <", typed):match "^[^\n]*\n%s*(.-)%s*$"
    t.ok(got == shown or shown:find "error" and got:find(shown, 1, true), typed .. ": " .. got)
end

-- What Lua's own messages about tensors mean.
t.ok(answered(output("", setup .. "for row in x do end"), "for i, row in ipairs(x) do … end"),
    "a tensor as an iterator")
t.ok(answered(output("", setup .. "print(('a'):gsub('a', function() return x[1] end))"),
    "x:item()"), "a tensor in a text's place")

-- A name of PyTorch's without its package.
for typed, meant in pairs { ["as_tensor{1}"] = "tensor", ["set_num_threads(1)"] = "threads",
    ["use_deterministic_algorithms(true)"] = "deterministic",
    ["set_printoptions{precision = 3}"] = "printoptions" } do
    t.ok(output("", typed):find("did you mean " .. meant .. "?", 1, true), typed)
end
t.ok(output("", "local F = nn.functional\nprint(F.relu(ones(2)))")
        :find("in Lua: print(relu(ones(2)))", 1, true), "nn.functional in a variable")
t.ok(output("", "if true then x = nn.functional.relu(ones(2))\nend")
        :find("in Lua: if true then x = relu(ones(2))", 1, true),
    "nn.functional in a line that is no statement of its own")

-- A pasted block, or one in a script, is answered at its first line, and Lua is left alone.
local block = "for i in range(3):\n    print(i)\n    print(x[i])\nprint(1)"
t.ok(output("",
    setup .. block)
        :find(":5: 'do' expected near ':'\n        in Lua, with … for your own: \z
            for i = 0, 2 do … end  -- \z
            x[i] there is x[i + 1] here", 1, true), "a block in a script")
t.ok(output("-i <", "print(1)\nx:\nsum()"):find "global 'x'",
    "a name and a colon go on with the next line")
t.ok(output("-e '_PROMPT, _PROMPT2 = \"\", \"\"' -i <",
        "s = 'ab'\nx = s:upper\n()\nprint(x)"):find "AB",
    "and so does a method that is no property of tensors")
for _, lua in ipairs { "goto done\n::done::\nprint(42)",
    "s = [[\nfor i in range(3):\n]]\nprint(42)", "--[[\nwhile True:\n]]\nprint(42)",
    "s = 'if x:'\nprint(42)", "-- try:\nprint(42)", "if s == nil then -- else:\nprint(42)\nend",
    "for k in pairs{1} do local s = ':'\nprint(42) end",
    "function f(o)\nif o: m() then\nend end print(42)" } do
    t.ok(output("-e '_PROMPT, _PROMPT2 = \"\", \"\"' -i <", lua):find "42", (lua:gsub("\n", "; ")))
end
for _, lua in ipairs { "x = = 3", "nonsense 'a != b'x", "print((1)", "x:y:z()", "foo('a'\n'b')",
    "x = y -- a comment\n) + z",
    "print 'a' 'b' + 1 )" } do
    t.ok(not output("", lua):find "in Lua", lua .. " is a slip in Lua")
end
t.ok(output("", "t = {1, 2} i = 1\nq = max(t[i + 1], 'a') + 'b'"):find "q = math.max%(t%[i %+ 1%]",
    "an index in Lua with a slip beside it counts from 1 already")
-- No Lua text has a line that is taken for a Python block.
local dir, taken = os.getenv "GPUSH_ROOT" .. "/scripts/lua", {}
local registry = debug.getregistry()
registry["gpush.loaded"]["shell.native"] = {} -- there is no prompt
local block = registry["gpush.require"] "shell.foreign".block
for path in io.popen(("find '%s/..' -name '*.lua'"):format(dir)):lines() do
    local text <close> = assert(io.open(path))
    if block(text:read "a") then taken[#taken + 1] = path end
end
t.is(table.concat(taken, " "), "", "no line of ours is taken for a block")
os.remove(file)
os.remove(unused)

-- Lua's own words as names in a table.
for word, line in pairs { ["repeat"] = "p = profile.schedule{wait = 1, repeat = 1}",
    ["end"] = "p = {a = 1, end = 2}" } do
    local answer = ('in Lua: {["%s"] = 1}  -- %s is a word of Lua'):format(word, word)
    t.ok(output("", line):find(answer, 1, true), line)
end
t.done()
