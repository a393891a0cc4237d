--!plain
-- Signatures of nn's functions and of the methods that all modules have.
local require = ...
local nn, declared, registry = require "nn", require "declared", require "registry"
local own = "self module"
registry["gpush.module"] = nn.Module

for _, name in ipairs { "parameters", "buffers", "named_parameters", "named_buffers",
    "named_modules", "modules",
    "named_children", "children", "eval", "zero_grad", "cpu", "gpu", "cuda", "double", "float",
    "half", "bfloat16", "deepcopy",
    "state_dict", "extra_repr" } do
    declared(nn.Module, "", { [name] = own })
end
declared(nn.Module, "", { apply = own .. ", function fn", train = own .. ", bool mode=true",
    requires_grad_ = own .. ", bool requires_grad=true", to = own ..
        ", any? device, any? dtype, bool? non_blocking",
    load_state_dict = own .. ", value state, bool strict=true",
    register_buffer = own .. ", text name, tensor? value, bool persistent=true",
    register_parameter = own .. ", text name, tensor? value", register_forward_hook = own ..
        ", function hook",
    register_forward_pre_hook = own .. ", function hook" })
declared(nn, "nn.",
    { is_module = "value value", class_of = "any module", parameter = "tensor t",
        entries = "any module",
        forget = "any module, value key",
    tensors = "any module, function visit, bool? twice", shape_text = "tensor x",
    summary = "value model, rest inputs",
    module = "value definition, any? base" })
