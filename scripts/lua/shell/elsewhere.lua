--!plain
-- What names of Python, PyTorch and NumPy are here: reads the table of rows.lua, and has the names
-- that are values, types or other names.
local require = ...
local gpush, nearest = require "gpush", require "nearest"
local registry = require "registry"
local elsewhere = {}

local ops, added
-- The table of ops, which takes milliseconds to make: again where libraries have added some.
function elsewhere.ops()
    if not ops or added ~= registry["gpush.added"] then
        ops, added = gpush.ops(true), registry["gpush.added"]
    end
    return ops
end

-- What rows do not have: names that are values.
local values = { ["np.pi"] = "math.pi", ["torch.pi"] = "math.pi", ["np.e"] = "math.exp(1)",
    ["np.inf"] = "math.huge", ["torch.inf"] = "math.huge", ["math.inf"] = "math.huge",
    ["np.nan"] = "0/0", ["torch.nan"] = "0/0", ["math.nan"] = "0/0", ["math.e"] = "math.exp(1)",
    ["torch.__version__"] = "gpush._VERSION", ["sys.argv"] = "{table.unpack(arg, 0)}",
    ["sys.stderr"] = "io.stderr", ["dist.ReduceOp.SUM"] = '"sum"', ["dist.ReduceOp.AVG"] = '"mean"',
    ["dist.ReduceOp.MAX"] = '"max"', ["dist.ReduceOp.MIN"] = '"min"',
    ["dist.ReduceOp.PRODUCT"] = '"prod"', ["sys.stdout"] = "io.stdout", ["sys.stdin"] = "io.stdin",
}
-- Numbers of other languages, which are variables to Lua, and nil.
elsewhere.numbers = { nan = "0/0", NaN = "0/0", inf = "math.huge", Inf = "math.huge",
    Infinity = "math.huge" }
local properties = { data = "X:detach()", is_cuda = '(X.device ~= "cpu")',
    is_cpu = '(X.device == "cpu")', nbytes = "(X:numel() * X:element_size())",
    itemsize = "X:element_size()", flat = "X:flatten()", strides = "X:stride()",
    size = "X:numel()" }

elsewhere.dtypes = { float32 = "f32", float = "f32", float64 = "f64", double = "f64",
    float16 = "f16", half = "f16", bfloat16 = "bf16", int64 = "i64", long = "i64", int32 = "i32",
    int = "i32", int16 = "i16", short = "i16", int8 = "i8", uint8 = "u8", bool = "bool",
    bool_ = "bool" }

-- PyTorch's names that have another name here.
local same = { ["utils.data.DataLoader"] = "data.Loader", ["nn.Module"] = "nn.module",
    inference_mode = "inference", Tensor = "tensor", array = "tensor", asarray = "tensor",
    array_equal = "equal",
    from_numpy = "tensor", as_tensor = "tensor", set_num_threads = "threads",
    get_num_threads = "threads", set_default_dtype = "default_dtype",
    get_default_dtype = "default_dtype", set_printoptions = "printoptions",
    get_printoptions = "printoptions", ["random.seed"] = "manual_seed", expand_dims = "unsqueeze",
    ["mps.is_available"] = "cuda.is_available", ["backends.cudnn.benchmark"] = "cuda.benchmark",
    ["backends.cudnn.deterministic"] = "cuda.deterministic",
    use_deterministic_algorithms = "deterministic",
    are_deterministic_algorithms_enabled = "deterministic",
    set_default_device = "default_device", get_default_device = "default_device",
    compile = "fuse", ["profiler.record_function"] = "profile.record_function",
    ["autograd.profiler.record_function"] = "profile.record_function",
    ["utils.data.Dataset"] = "data.Dataset", ["utils.data.TensorDataset"] = "data.TensorDataset",
    expit = "sigmoid", rint = "round", psi = "digamma", gammaln = "lgamma",
    FloatTensor = "tensor", LongTensor = "tensor", DoubleTensor = "tensor", trapz = "trapezoid",
    vdot = "dot", sgn = "sign", split_with_sizes = "split", upsample = "interpolate",
    upsample_bilinear = "interpolate", upsample_nearest = "interpolate",
    ["nn.Parameter"] = "nn.parameter", ["nn.NLLLoss2d"] = "nn.NLLLoss",
    ["nn.utils.parametrizations.weight_norm"] = "nn.utils.weight_norm",
    ["nn.utils.parametrizations.spectral_norm"] = "nn.utils.spectral_norm",
    ["autograd.set_detect_anomaly"] = "autograd.detect_anomaly",
    ["cuda.amp.GradScaler"] = "amp.GradScaler", GradScaler = "amp.GradScaler", Stream = "stream",
    ["utils.data.random_split"] = "data.random_split", ["utils.data.Subset"] = "data.Subset",
    ["utils.data.ConcatDataset"] = "data.ConcatDataset", DataLoader = "data.Loader",
    ["optim.lr_scheduler.LRScheduler"] = "optim.lr.LambdaLR",
    ElementwiseKernel = "elementwise", ReductionKernel = "reduction",
    RawKernel = "cuda.kernel", RawModule = "cuda.kernel" }
elsewhere.same = same
elsewhere.packages = { torch = true, np = true, numpy = true, F = true, tf = true, jnp = true,
    plt = true, jax = true, cp = true, cupy = true, pd = true, pandas = true, scipy = true,
    benchmark = true, nvtx = true, rng = true }
elsewhere.keyword = { ["repeat"] = "tile" } -- PyTorch's methods whose names are words of Lua
elsewhere.builtin = { open = true, range = true, max = true, min = true, abs = true, round = true,
    sum = true, any = true, all = true, pow = true, dist = true, json = true }
for _, name in ipairs { "nn.Parameter", "nn.DataParallel", "data.DataLoader" } do
    elsewhere.builtin[name] = true
end

-- Options by their names here, and those that are not needed.
elsewhere.options = { ["profile.schedule"] = { ["repeat"] = "repeats" },
    scatter = { value = "src" }, scatter_ = { value = "src" },
    diag = { k = "diagonal" } }
elsewhere.needless = { use_cuda = "devices are always recorded",
    activities = "processor and devices are always recorded",
    sci_mode = "each tensor's form follows its numbers", suppress = "each tensor's form \z
        follows its numbers",
    width = "a table is as wide as the terminal", max_name_column_width = "names are whole",
    map_location = "a file's tensors go to the model's device", num_samples = "Loader has batch",
    persistent_workers = "workers start with each pass",
    non_blocking = "copies from pinned memory do not wait", inplace = "relu_(x) writes in place" }

-- Which result of an op of that name is the first of indices: 1, or 2 after values; nil: none is.
local indices
function elsewhere.indices(name)
    if not indices then
        indices = {}
        local synonyms = registry["gpush.synonyms"]
        for op, row in next, elsewhere.ops() do
            indices[op] = row.indices
            for _, second in ipairs(synonyms[op] or {}) do indices[second] = row.indices end
        end
    end
    return indices[name]
end

-- Layers whose arguments are dims.
local dim = { "dim", "dim" }
elsewhere.counted = { ["nn.Flatten"] = { dim, dim }, ["nn.Softmax"] = { dim },
    ["nn.LogSoftmax"] = { dim }, ["nn.Softmin"] = { dim }, ["nn.GLU"] = { dim },
    ["nn.CosineSimilarity"] = { dim }, ["nn.Unflatten"] = { dim } }

local kinds = { int = 'math.type(X) == "integer"', float = 'math.type(X) == "float"',
    str = 'type(X) == "string"', bool = 'type(X) == "boolean"', list = 'type(X) == "table"',
    dict = 'type(X) == "table"', tuple = 'type(X) == "table"', Tensor = "is_tensor(X)",
    tensor = "is_tensor(X)", ndarray = "is_tensor(X)", Module = "nn.is_module(X)" }
-- What asks whether x is of the type.
function elsewhere.kind(x, name)
    local last = name:match "[%w_]*$"
    if not kinds[last] and name:find "nn%.%u" then
        return ('nn.class_of(%s) == "%s"'):format(x, last)
    end
    return (kinds[last] or ('getmetatable(X) == %s'):format(name)):gsub("X", function()
        return x
    end) .. ""
end

-- ---- reading the table ----

local of_word = { BOOL = "boolean", EDGES = "table",
    S = "string", SEP = "string", L = "table", L2 = "table",
    N = "number", N2 = "number",
    N3 = "number", V = "tensor" }
elsewhere.forms = {}
local function form_of(key, list, text)
    local form = { words = {}, kinds = {}, defaults = {},
        lists = key:find "^np%." and not text:find "tensor%(X" }
    for word in list:gmatch "[^, ]+" do
        local name, default = word:match "^(%u[%u%d_]*)[?=]?(.*)$"
        if name then
            form.words[#form.words + 1], form.kinds[#form.kinds + 1] = name, of_word[name] or false
            if name ~= word then form.defaults[name] = default end
        else form.options = true end
    end
    form.text, form.note = text:match "^(.-)%s*%-%- (.+)$"
    form.text = form.text or text
    local bare = form.text:gsub("%b()", ""):gsub("%b{}", ""):gsub('".-"', "")
    form.level = bare:find "^#" and 11 or form.text:find "^{" and 13 or bare:find "%s" and 0 or 14
    form.own = {}
    for _, before in ipairs { "local ", "for ", "function%(" } do
        for names in form.text:gmatch(before .. "([%l_][%w_, ]*)") do
            form.own[#form.own + 1] = names:gsub(" in .*", "")
        end
    end
    form.own = table.concat(form.own, " ")
    return form
end
local rows = require "shell.rows" .. require "shell.numpy_rows" .. require "shell.parse.array_rows"
for left, text in rows:gsub("\n +", " "):gmatch "([^\n]-) = ([^\n]+)" do
    local keys, list = left:match "^([^(]*)%((.*)%)$"
    for key in keys:gmatch "[^|]+" do
        if key:find "^math%." or key:find "^os%." or key:find "^json%." then
            elsewhere.builtin[key] = true -- Lua's tables, with more names
        end
        elsewhere.forms[key] = elsewhere.forms[key] or {}
        table.insert(elsewhere.forms[key], form_of(key, list, text))
    end
end

-- Names that a line in Python calls and Lua has not.
elsewhere.builtins = { True = true, False = true, None = true, isinstance = true,
    iter = true, TensorDataset = true, Subset = true, random_split = true, reversed = true,
    vars = true, os = true, rearrange = true, reduce = true, einops = true,
    time = true, copy = true, random = true, sys = true, math = true }
for key in next, elsewhere.forms do
    local head, name = key:match "^(%w*)%.?(%w*)"
    local of = (head == "julia" or head == "matlab" or head == "R") and name
    if not key:find "^%." then elsewhere.builtins[of or key:match "^[%w_]+"] = true end
end

-- The path with PyTorch's short names written out: F.relu, torch.nn.functional.relu -> torch.relu.
local short = { { "torch.nn.functional.", "torch." }, { "nn.functional.", "torch." },
    { "F.", "torch." }, { "torch.nn.", "nn." }, { "torch.optim.", "optim." },
    { "torch.utils.data.", "data." }, { "torch.distributed.", "dist." },
    { "torch.special.", "torch." }, { "numpy.", "np." }, { "jnp.", "np." },
    { "jax.numpy.", "np." }, { "cupy.", "np." }, { "cp.", "np." }, { "pandas.", "pd." },
    { "rng.", "np.random." }, { "optim.lr_scheduler.", "optim.lr." } }
local of_data <const> = { TensorDataset = true, Subset = true, ConcatDataset = true,
    random_split = true }
local function whole(path)
    if of_data[path] then return "data." .. path end
    for _, s in ipairs(short) do
        if path:sub(1, #s[1]) == s[1] then path = s[2] .. path:sub(#s[1] + 1) end
    end
    return path
end

-- The keys of forms under which a function may stand.
function elsewhere.keys(path)
    path = whole(path)
    if path:find "^np%." then return { path, (path:gsub("^np%.", "torch.")) } end
    return { path }
end

-- The path's name in the module: "nn.Linear"; nil if there is none.
local function there(path)
    local v = gpush
    for key in path:gmatch "[^.]+" do v = type(v) == "table" and v[key] or nil end
    return v ~= nil and path or nil
end

local function callable(name)
    local v = gpush[name]
    return (type(v) == "function" or elsewhere.ops()[name]) and name or nil
end

-- What a name of a package is here: relu for F.relu, "f32" for torch.float32; nil if nothing.
function elsewhere.name(path)
    path = whole(path)
    local rest = path:match "^%w+%.(.*)$"
    if elsewhere.packages[path:match "^%w+"] and rest then path = rest end
    local last = path:match "[^.]*$"
    return same[path] or there(path) or elsewhere.dtypes[path]
        and ('"%s"'):format(elsewhere.dtypes[path]) or same[last] or callable(last)
end

-- The op that the name stands for.
function elsewhere.canonical(path)
    return elsewhere.name(path) or path
end

function elsewhere.is_package(path, value)
    local head = path:match "^[%a_][%w_]*"
    if not path:find(".", 1, true) or gpush.is_tensor((value(head))) then return false end
    if elsewhere.packages[head] then return value(head) == nil end
    return path:find "^nn%.functional%." ~= nil or path:find "^nn%.%u" ~= nil
        or path:find "^optim%.[%u]" ~= nil or path:find "^optim%.lr" ~= nil
        or path:find "^data%.%u" ~= nil
end

-- Its form as a value, not a call: math.huge for np.inf, "f32" for torch.float32.
function elsewhere.value(path, free)
    return free and values[whole(path)] or nil
end

function elsewhere.property(name) return properties[name] end

-- Whether something is known to write for the name of a package.
function elsewhere.known(path)
    for _, key in ipairs(elsewhere.keys(path)) do
        if elsewhere.forms[key] or values[key] then return true end
    end
    local head = path:match "^[%w_]+"
    return path:find "%.__class__" ~= nil or path:find "%.data%f[^%w_]" ~= nil
        or elsewhere.packages[head]
        and elsewhere.name(path) ~= nil
end

-- What to write for a name that is not here; bare: it is not called.
function elsewhere.advice(path, bare)
    local last = path:match "[^.]*$"
    local answer = require "shell.torch_names"[last]
    local base = last:gsub("_$", "")
    local form = not answer and not bare and (elsewhere.forms["torch." .. last]
        or elsewhere.forms["." .. last] or elsewhere.forms["torch." .. base])
    if not answer and properties[last] then
        answer = ("-- x.%s: %s"):format(last, (properties[last]:gsub("X", "x")))
    elseif form then
        form = form[#form]
        answer = ("-- %s(%s): %s"):format(last, table.concat(form.words, ", "):lower(),
            form.text:gsub("%f[%w_](%u[%u%d_]*)%f[^%w_]", string.lower))
    end
    if answer or path == last then return answer, answer ~= nil end
    local names = {}
    for name in next, elsewhere.ops() do names[#names + 1] = name end
    local near = rawget(gpush.linalg, last) and "linalg." .. last or nearest(last, names)
    return ("there is no %s here: %s"):format(path, near and "did you mean " .. near .. "?"
        or ("help %q searches"):format(last)), false
end

return elsewhere
