-- For tests/bindings/audit_surface.lua: the parts of gpush that are not ops. areas: tables of
-- functions and classes; objects: a value for each kind of object, whose methods are called; calls:
-- valid arguments of those that need some, as in audit/samples.lua; internal: functions for gpush's
-- own files; apart: what is tested elsewhere, with the reason.
local S = {}

S.areas = { "sync", "sim", "profile", "json", "npy", "npz", "image", "safetensors", "autograd",
    "checkpoint", "data", "data.transforms",
    "nn", "nn.init", "nn.utils", "nn.parallel", "optim", "optim.lr", "amp", "cuda", "dist" }

S.objects = {
    tensor = "leaf():sum()", stream = "stream 'sim'", event = "stream('sim'):record()",
    profile = "prof", module = "nn.Linear(2, 3)",
    optimizer = "sgd()", schedule = "optim.lr.StepLR(sgd(), 2)",
    loader = "data.Loader{data.TensorDataset(f(4, 2))}", gradscaler = "scaler()",
}

S.internal = "nn.class_of nn.entries nn.fail nn.raise nn.shape_text nn.tensors optim.check_betas \z
    optim.check_positive optim.define optim.raise "
    ..
        "data.raise data.size data.source module:init module:forward module:extra_repr \z
            optimizer:check_state_dict schedule:check schedule:rate schedule:check_state_dict \z
            schedule:chain"

S.apart = {
    ["sync.selftest"] = "it runs for a second",
    ["sync.explain"] = "it runs for a second", ["g.cuda_setting"] = "no CUDA device here",
    ["g.help"] = "tests/scripts/help.lua",
    ["nn.Sequential"] = "it takes modules or a list of them",
    ["nn.Module"] = "a class without a constructor",
    ["nn.Identity"] = "it takes anything, as PyTorch's",
    ["data.TensorDataset"] = "it takes any number of tensors",
    ["profile:diff"] = "tests/profile/profile.lua",
    ["profile.record_function"] = "a second name: tests/house/second_names.lua",
    ["profile:export_chrome_trace"] = "a second name: tests/house/second_names.lua",
    ["profile:on"] = "tests/profile/card.lua",
    ["profile:folded"] = "tests/profile/export.lua",
    ["profile:speedscope"] = "tests/profile/export.lua",
    ["profile:report"] = "tests/profile/report.lua",
    ["g.clone"] = "a method", ["module:cuda"] = "no CUDA device here",
    ["tensor:cuda"] = "no CUDA device here", ["profile.stop"] = "a profile must be running",
    ["profile:free"] = "the others need the profile",
    ["profile:memory"] = "tests/profile/owners.lua",
    ["cuda.get_device_name"] = "no CUDA device here",
    ["cuda.get_device_capability"] = "no CUDA device here", ["cuda.tf32"] = "no CUDA device here",
    ["cuda.deterministic"] = "no CUDA device here", ["cuda.benchmark"] = "no CUDA device here",
    ["cuda.svd_driver"] = "no CUDA device here",
    ["dist.send"] = "there is no other rank here", ["dist.recv"] = "there is no other rank here",
}

S.calls = {
    ["g.compare"] = "{a = nop, b = nop}, {n = 1}", ["g.timeit"] = "nop, {n = 1}",
    ["g.plot"] = "{1, 2, 3}, {text = true}", ["g.hist"] = "{1, 2, 3}, {text = true}",
    ["g.heatmap"] = "f(2, 3), {text = true}", ["g.imshow"] = "f(4, 4), {text = true}",
    ["g.progress"] = "3",
    ["g.default_device"] = "'cpu'", ["g.default_dtype"] = "'f32'", ["g.devices"] = "'sim'",
    ["g.enable_grad"] = "nop", ["g.fork"] = "nop", ["g.fuse"] = "nop", ["g.fuse_compile"] = "true",
    ["g.capture"] = "nop",
    ["g.grad"] = "w:sum(), w",
    ["g.inference"] = "nop", ["g.is_tensor"] = "1", ["g.is_terminal"] = "io.stderr",
    ["g.manual_seed"] = "1", ["g.no_grad"] = "nop", ["g.set_rng_state"] = "get_rng_state()",
    ["g.tensor"] = "{1, 2}", ["g.threads"] = "1", ["sync.allow"] = "'reason', nop",
    ["sync.budget"] = "{max = 5}, nop", ["sync.error"] = "nop", ["sync.warning"] = "nop",
    ["sync.off"] = "nop", ["sync.async"] = "f(2), nop", ["sync.baseline"] = "out, true",
    ["profile:save"] = "out", ["profile.load"] = "prof_file",
    ["profile.region"] = "'name', nop", ["profile.run"] = "{}, nop", ["json.decode"] = "'[1]'",
    ["json.encode"] = "1", ["npy.load"] = "npy_file", ["npy.save"] = "out, f(2)",
    ["npz.load"] = "npz_file", ["npz.save"] = "out, {x = f(2)}", ["image.load"] = "png_file",
    ["image.save"] = "out, f(3, 4, 4)", ["safetensors.load"] = "safe_file",
    ["safetensors.save"] = "out, {x = f(2)}", ["autograd.node"] = "{f(2)}, {f(2)}, nop",
    ["autograd.checkpoint"] = "double, leaf64()", ["autograd.gradcheck"] = "double, {leaf64()}",
    ["autograd.autocast_as"] = "'f16', nop", ["g.autocast"] = "'bf16', nop",
    ["amp.autocast"] = "'bf16', nop", ["gradscaler:scale"] = "leaf():sum()",
    ["gradscaler:step"] = "scaled", ["gradscaler:unscale_"] = "scaled",
    ["gradscaler:update"] = "4",
    ["gradscaler:load_state_dict"] = "amp.GradScaler():state_dict()",
    ["gradscaler:check_state_dict"] = "amp.GradScaler():state_dict()",
    ["autograd.gradgradcheck"] = "square, {leaf64()}", ["autograd.detect_anomaly"] = "nop",
    ["data.Dataset"] = "{size = 2, get = nop}", ["data.ImageFolder"] = "folder",
    ["data.Loader"] = "{data.TensorDataset(f(4))}", ["data.transforms.CenterCrop"] = "2",
    ["data.transforms.Compose"] = "{nop}", ["data.transforms.Normalize"] = "0.5, 0.5",
    ["data.transforms.Pad"] = "1", ["data.transforms.RandomCrop"] = "2",
    ["data.transforms.Resize"] = "2", ["checkpoint.load"] = "saved, {}",
    ["checkpoint.save"] = "out, {}", ["checkpoint.exists"] = "saved",
    ["nn.AdaptiveAvgPool1d"] = "3", ["nn.AdaptiveAvgPool2d"] = "3", ["nn.AdaptiveMaxPool1d"] = "3",
    ["nn.AdaptiveMaxPool2d"] = "3", ["nn.AvgPool1d"] = "2", ["nn.AvgPool2d"] = "2",
    ["nn.MaxPool1d"] = "2", ["nn.MaxPool2d"] = "2", ["nn.BatchNorm1d"] = "3",
    ["nn.BatchNorm2d"] = "3", ["nn.BatchNorm3d"] = "3", ["nn.InstanceNorm1d"] = "3",
    ["nn.InstanceNorm2d"] = "3", ["nn.InstanceNorm3d"] = "3", ["nn.Conv1d"] = "2, 4, 3",
    ["nn.Conv2d"] = "2, 4, 3", ["nn.Conv3d"] = "2, 4, 3", ["nn.ConvTranspose1d"] = "2, 4, 3",
    ["nn.ConvTranspose2d"] = "2, 4, 3", ["nn.ConvTranspose3d"] = "2, 4, 3",
    ["nn.Embedding"] = "3, 4", ["nn.GRU"] = "2, 3", ["nn.GRUCell"] = "2, 3",
    ["nn.LSTM"] = "2, 3",
    ["nn.LSTMCell"] = "2, 3", ["nn.RNN"] = "2, 3", ["nn.RNNCell"] = "2, 3",
    ["nn.GroupNorm"] = "2, 4", ["nn.LayerNorm"] = "3", ["nn.RMSNorm"] = "3",
    ["nn.Linear"] = "2, 3",
    ["nn.LogSoftmax"] = "1", ["nn.Softmax"] = "1", ["nn.Softmin"] = "1",
    ["nn.MultiheadAttention"] = "4, 2", ["nn.Threshold"] = "0.5, 0",
    ["nn.TransformerEncoder"] = "function() return nn.Linear(2, 2) end, 2",
    ["nn.TransformerEncoderLayer"] = "4, 2", ["nn.Upsample"] = "{8, 8}",
    ["nn.Unflatten"] = "2, {2, 2}",
    ["nn.is_module"] = "1", ["nn.module"] = "'Name'", ["nn.parameter"] = "f(2)",
    ["nn.summary"] = "nn.Linear(2, 3), f(4, 2)", ["nn.init.calculate_gain"] = "'relu'",
    ["nn.init.constant_"] = "f(2, 3), 1", ["optim.lr.CyclicLR"] = "sgd(), 0.1, 0.2",
    ["optim.lr.CosineAnnealingLR"] = "sgd(), 5",
    ["optim.lr.CosineAnnealingWarmRestarts"] = "sgd(), 5",
    ["optim.lr.ExponentialLR"] = "sgd(), 0.9", ["optim.lr.LambdaLR"] = "sgd(), one",
    ["optim.lr.MultiplicativeLR"] = "sgd(), one", ["optim.lr.MultiStepLR"] = "sgd(), {2, 4}",
    ["optim.lr.OneCycleLR"] = "sgd(), 0.1, 10", ["optim.lr.SequentialLR"] = "o, two, {2}",
    ["optim.lr.StepLR"] = "sgd(), 2",
    ["optim.lr.ChainedScheduler"] = "{optim.lr.StepLR(sgd(), 2)}",
    ["optim.clip_grad_norm_"] = "{leaf()}, 1", ["optim.clip_grad_value_"] = "{leaf()}, 1",
    ["nn.parallel.DistributedDataParallel"] = "nn.Linear(2, 3)",
    ["nn.utils.clip_grad_norm_"] = "{leaf()}, 1", ["nn.utils.clip_grad_value_"] = "{leaf()}, 1",
    ["tensor:register_hook"] = "nop", ["g.wait"] = "fork(nop)", ["tensor:shares_storage"] = "f(2)",
    ["event:elapsed"] = "later()", ["stream:use"] = "nop",
    ["stream:wait"] = "stream('sim'):record()",
    ["profile:trace"] = "out", ["module:apply"] = "nop", ["module:register_buffer"] = "'b', f(2)",
    ["module:register_parameter"] = "'p', f(2)",
    ["module:load_state_dict"] = "nn.Linear(2, 3):state_dict()",
    ["module:register_forward_hook"] = "nop", ["module:register_forward_pre_hook"] = "nop",
    ["optimizer:add_param_group"] = "{params = {leaf()}}",
    ["optimizer:load_state_dict"] = "sgd():state_dict()",
    ["schedule:load_state_dict"] = "optim.lr.StepLR(sgd(), 2):state_dict()",
}
-- The arguments with which a layer is called once it is made: an argument that its constructor only
-- stores is refused then.
S.inputs = {
    { "Conv%w*1d", "f(1, 2, 6)" }, { "Conv%w*2d", "f(1, 2, 6, 6)" },
    { "Conv%w*3d", "f(1, 2, 6, 6, 6)" }, { "Pool1d", "f(1, 2, 6)" },
    { "Pool2d", "f(1, 2, 6, 6)" },
    { "Norm1d", "f(2, 3, 4)" }, { "Norm2d", "f(2, 3, 4, 4)" }, { "Norm3d", "f(2, 3, 4, 4, 4)" },
    { "GroupNorm", "f(2, 4, 3)" }, { "LayerNorm", "f(2, 3)" }, { "RMSNorm", "f(2, 3)" },
    { "Embedding$", "i{1, 2}" }, { "Cell$", "f(4, 2)" }, { "RNN$", "f(4, 1, 2)" },
    { "LSTM$", "f(4, 1, 2)" }, { "GRU$", "f(4, 1, 2)" },
    { "MultiheadAttention", "f(3, 1, 4), f(3, 1, 4), f(3, 1, 4)" },
    { "EncoderLayer", "f(3, 1, 4)" }, { "Unflatten", "f(2, 4)" }, { "Upsample", "f(1, 2, 4, 4)" },
    { "CrossEntropyLoss", "f(2, 3), i{1, 3}" },
    { "CosineEmbeddingLoss", "f(2, 3), f(2, 3), i{1, -1}" },
    { "MarginRankingLoss", "f(2), f(2), i{1, -1}" },
    { "TripletMarginLoss", "f(2, 3), f(2, 3), f(2, 3)" },
    { "GaussianNLLLoss", "f(2, 3), f(2, 3), f(2, 3)" },
    { "PoissonNLLLoss", "f(2, 3), f(2, 3)" }, { "NLLLoss$", "f(2, 3), i{1, 3}" },
    { "Loss$", "f(2, 3), f(2, 3)" },
    { "GLU", "f(2, 4)" }, { "Dropout1d", "f(2, 3, 4)" }, { "Dropout2d", "f(2, 3, 4, 4)" },
    { "Dropout3d", "f(2, 3, 4, 4, 4)" }, { "transforms", "f(3, 4, 4)" },
    { "nn%.%u", "f(2, 3)" },
}
S.without_input = "nn.TransformerEncoder nn.ModuleList data.transforms.Compose"

-- For an initializer: a matrix; for an optimizer: its parameters.
S.patterns = {
    { "^dist%.init", "" }, { "^dist%.barrier", "" }, { "^dist%.group", "{0}" },
    { "^dist%.preempted", "" },
    { "^dist%.", "f(2, 3)" }, { "^nn%.init%.", "f(2, 3)" }, { "^cuda%.is_av", "" },
    { "^cuda%.device", "" },
    { "^cuda%.", "'sim'" }, { "^optim%.lr%.", "sgd()" },
    { "^optim%.%u", "{leaf()}" } }
return S
