--!plain
-- What the names of Python's functions, types and packages are here: for python.lua and for hints.
local gpush, shell = ...
local names = {}

local function unmask(text) return shell.part "python".unmask(text) end

names.dtypes = { float32 = "f32", float = "f32", float64 = "f64", double = "f64",
    float16 = "f16", half = "f16", bfloat16 = "bf16", int64 = "i64", long = "i64", int32 = "i32",
    int = "i32", int16 = "i16", int8 = "i8", uint8 = "u8", bool = "bool" }
names.same = { ["utils.data.DataLoader"] = "data.Loader", ["nn.Module"] = "nn.module",
    inference_mode = "inference",
    Tensor = "tensor", array = "tensor", asarray = "tensor", from_numpy = "tensor",
    as_tensor = "tensor", set_num_threads = "threads", get_num_threads = "threads",
    set_default_dtype = "default_dtype", get_default_dtype = "default_dtype",
    set_printoptions = "printoptions", get_printoptions = "printoptions",
    ["random.seed"] = "manual_seed", expand_dims = "unsqueeze",
    ["mps.is_available"] = "cuda.is_available", ["backends.cudnn.benchmark"] = "cuda.benchmark",
    ["backends.cudnn.deterministic"] = "cuda.deterministic",
    use_deterministic_algorithms = "deterministic",
    are_deterministic_algorithms_enabled = "deterministic",
    set_default_device = "default_device", get_default_device = "default_device",
    compile = "fuse", ["profiler.record_function"] = "profile.record_function",
    ["autograd.profiler.record_function"] = "profile.record_function",
    ["utils.data.Dataset"] = "data.Dataset", ["utils.data.TensorDataset"] = "data.TensorDataset",
    ["special.expit"] = "sigmoid", ["special.psi"] = "digamma", ["special.gammaln"] = "lgamma",
    FloatTensor = "tensor", LongTensor = "tensor", DoubleTensor = "tensor",
    trapz = "trapezoid", vdot = "dot", sgn = "sign", split_with_sizes = "split",
    upsample = "interpolate", upsample_bilinear = "interpolate",
    upsample_nearest = "interpolate", ["nn.Parameter"] = "nn.parameter",
    ["nn.NLLLoss2d"] = "nn.NLLLoss",
    ["nn.utils.parametrizations.weight_norm"] = "nn.utils.weight_norm",
    ["nn.utils.parametrizations.spectral_norm"] = "nn.utils.spectral_norm",
    ["autograd.set_detect_anomaly"] = "autograd.detect_anomaly",
    ["cuda.amp.GradScaler"] = "amp.GradScaler", GradScaler = "amp.GradScaler",
    Stream = "stream", ["utils.data.random_split"] = "data.random_split",
    ["utils.data.Subset"] = "data.Subset", ["utils.data.ConcatDataset"] = "data.ConcatDataset",
    ["optim.lr_scheduler.LRScheduler"] = "optim.lr.LambdaLR",
    inf = "math.huge", pi = "math.pi" }
names.packages = { torch = true, np = true, numpy = true, F = true, tf = true, jnp = true,
    plt = true }

local kinds = { int = 'math.type(%s) == "integer"', float = 'math.type(%s) == "float"',
    str = 'type(%s) == "string"', bool = 'type(%s) == "boolean"',
    list = 'type(%s) == "table"', dict = 'type(%s) == "table"', tuple = 'type(%s) == "table"',
    tensor = "is_tensor(%s)", Tensor = "is_tensor(%s)", ["torch.Tensor"] = "is_tensor(%s)",
    ["nn.Module"] = "nn.is_module(%s)", ["torch.nn.Module"] = "nn.is_module(%s)" }
names.kinds = kinds

function names.kind(x, name)
    local class = name:match "nn%.(%u%w*)$"
    if class and not kinds[name] then return ('nn.class_of(%s) == "%s"'):format(x, class) end
    return (kinds[name] or ("type(%%s) == \"%s\""):format(name)):format(x)
end

-- A model's or a tensor's file, and its content: model.state_dict().
local function checkpoint(call)
    return function(a, b, model)
        local file, what = b, a
        if call == "load" then file, what = a, model or "model" end
        local name = what and what:match "^[%a_][%w_]*"
        file = file and unmask(file):gsub("%.pth?([\"'])$", ".safetensors%1")
        return file and name and ("checkpoint.%s(%s, {%s = %s})"):format(call, file, name, name)
    end
end

-- The dtype of PyTorch's autocast, whose first argument is the kind of device.
local function autocast(...)
    local list = { ... }
    local dtype = (list[#list] or ""):match "dtype = ([^,}]+)"
    return ("autocast(%s)"):format(dtype or '"bf16"')
end

-- Options that Python has by another name (tensor/ops/table/names.def), by function.
local typed = debug.getregistry()["gpush.typed_options"]

-- Functions that have another name or form here, unless the user has set the name. They get the
-- arguments, translated.
names.functions = {
    len = function(x) return x and (x:find "^[%w_.\"'\2\3]+$" and "#%s" or "#(%s)"):format(x) end,
    isinstance = function(x, name) return name and names.kind(x, name) end,
    str = function(x) return ("tostring(%s)"):format(x) end,
    int = function(x) return ("math.floor(%s)"):format(x) end,
    float = function(x)
        local special = x and unmask(x):match "^[\"']([-+]?%l+)[\"']$"
        return ({ inf = "math.huge", ["-inf"] = "-math.huge", nan = "0/0" })[special]
            or ("tonumber(%s)"):format(x)
    end,
    enumerate = function(x)
        return (x and x:find "loader$" and "%s()" or "ipairs(%s)"):format(x)
    end,
    ["nn.Parameter"] = function(x) return x and ("nn.parameter(%s)"):format(x) end,
    ["F.unfold"] = function(x, k) return k and ("nn.Unfold(%s)(%s)"):format(k, x) end,
    ["json.dumps"] = function(x) return x and ("json.encode(%s)"):format(x) end,
    ["json.loads"] = function(x) return x and ("json.decode(%s)"):format(x) end,
    ["os.makedirs"] = function(x) return x and ('os.execute("mkdir -p " .. %s)'):format(x) end,
    ["os.path.exists"] = function(x) return x and ("io.open(%s) ~= nil"):format(x) end,
    iter = function(x) return x and x .. "()" end,
    ["copy.deepcopy"] = function(x)
        return x and x .. (gpush.is_tensor(rawget(_G, x)) and ":clone()" or ":deepcopy()")
    end,
    ["np.save"] = function(file, x) return x and ("npy.save(%s, %s)"):format(file, x) end,
    ["np.load"] = function(file) return file and ("npy.load(%s)"):format(file) end,
    ["np.random.shuffle"] = function(x) return x and ("%s = %s[randperm(#%s)]"):format(x, x, x) end,
    input = function() return "io.read()" end,
    open = function(...) return ("io.open(%s)"):format(table.concat({ ... }, ", ")) end,
    dict = function(...)
        return ... and "{" .. (table.concat({ ... }, ", "):match "^{(.*)}$" or ...) .. "}" or "{}"
    end,
    list = function(x) return x or "{}" end,
    dir = function(x) return ("help(%s)"):format(x or "") end,
    zip = function(x, y)
        return y and ("for i, a in ipairs(%s) do local b = %s[i] … end"):format(x, y)
    end,
    hasattr = function(x, name) return name and ("%s[%s] ~= nil"):format(x, name) end,
    getattr = function(x, name) return name and ("%s[%s]"):format(x, name) end,
    id = function(x) return ("tostring(%s)"):format(x) end,
    ["torch.distributed.init_process_group"] = function() return "dist.init()" end,
    ["torch.save"] = checkpoint "save", ["torch.load"] = checkpoint "load",
    ["torch.autocast"] = autocast, ["torch.amp.autocast"] = autocast,
    ["torch.cuda.amp.autocast"] = autocast, ["torch.cpu.amp.autocast"] = autocast,
    ["torch.cuda.Stream"] = function() return 'stream "gpu"' end,
    ["torch.cuda.CUDAGraph"] = function() return "capture(fn)" end,
    ["torch.device"] = function(x) return x and unmask(x):gsub("([\"'])cuda", "%1gpu") end,
    ["torch.utils.data.DataLoader"] = function(set, options)
        options = options
            and options:gsub("^{", ", "):gsub("}$", ""):gsub("[%a_][%w_]*", typed["data.Loader"])
        return ("data.Loader{%s%s}"):format(set, options or "")
    end,
    ["torch.arange"] = function(n, to)
        return n and not to
            and ("arange(0, %s)"):format(tonumber(n) and math.tointeger(tonumber(n)) - 1 or n ..
                " - 1") or nil
    end,
}
for _, path in ipairs { "nn.functional.unfold", "torch.nn.functional.unfold" } do
    names.functions[path] = names.functions["F.unfold"]
end
names.functions["torch.nn.Parameter"] = names.functions["nn.Parameter"]
names.functions["np.arange"] = names.functions["torch.arange"]
names.functions.DataLoader = names.functions["torch.utils.data.DataLoader"]

return names
