-- Every name that Tab offers has a text: of tensors, modules, optimizers, loaders and other values
-- of the prompt, of the module's tables and of Lua's own; and so has every option. Runs at a
-- prompt, where Tab works.
local shell = debug.getregistry()["gpush.shell"]
local require_ours = debug.getregistry()["gpush.require"]
if not shell then
    local file = os.tmpname()
    local out <close> = assert(io.open(file, "w"))
    out:write(":dev\ndofile ", ("%q"):format(arg[0]), "\n")
    out:close()
    local ok = os.execute(("'%s' -e '_PROMPT = \"\"' -i <'%s'"):format(arg[-1], file))
    os.remove(file)
    os.exit(ok == true, true)
end

local t = require "tap"

-- Values before a dot or a colon.
x = randn(3, 4)
opt = optim.AdamW { ones(2):requires_grad_() }
schedule = optim.lr.StepLR(opt, 2)
plateau = optim.lr.ReduceLROnPlateau(opt)
linear, list, recurrent, norm = nn.Linear(2, 3), nn.Sequential(nn.ReLU()), nn.LSTM(1, 2),
    nn.BatchNorm1d(2)
prof = profile.run(function() end)
recording = profile.schedule {}
st = stream "sim"
event = st:record()
capsule = x:to_dlpack()
set = data.TensorDataset(ones(4))
loader = data.Loader { set }
text = "text"
local own = { print = 1, x = 1, opt = 1, schedule = 1, plateau = 1, linear = 1, list = 1,
    recurrent = 1, norm = 1, prof = 1, recording = 1,
    st = 1, event = 1, capsule = 1, set = 1, loader = 1, text = 1, own = 1 }
-- of objects: their fields
local fields = { "dataset", "defaults", "help", "param_groups", "place", "sig", "state" }
for _, name in ipairs(fields) do fields[name] = true end

local function said(name)
    local lines, old = {}, print
    print = function(s) lines[#lines + 1] = s end -- luacheck: ignore
    local ok, message = pcall(help, name)
    print = old -- luacheck: ignore
    return ok and table.concat(lines, "\n") or "error: " .. tostring(message)
end

-- Whether help says more than the kind of value.
local function told(name)
    local first, rest = (said(name) .. "\n"):match "^([^\n]*)\n(.*)$"
    rest = rest:gsub("    a function of [^\n]*\n", ""):gsub("    fields: .*", "")
    return not first:find "^error: "
        and (rest:find "%S" or first:find ": %u?%l+ %l+ %l+" or first:find ": [^,]+, ") ~= nil
end

local kinds = { ["function"] = true, table = true, userdata = true, string = true }
local function check(before, from)
    local out, silent, unknown, seen = shell.complete(before .. (from or "")), {}, {}, {}
    for _, name in ipairs(out or {}) do
        if not seen[name] and not own[name] and not (fields[name] and before ~= "") then
            local line = out.help(name)
            if not line or kinds[line] then silent[#silent + 1] = name end
            if not told(before .. name) then unknown[#unknown + 1] = name end
        end
        seen[name] = true
    end
    if before ~= "" then t.ok(#out > 0, before .. " has names") end
    t.is(table.concat(silent, " "), "", before .. (from or "") .. ": each with a line at Tab")
    t.is(table.concat(unknown, " "), "", before .. (from or "") .. ": each with a help text")
end

for _, before in ipairs { "x:", "x.", "opt:", "opt.", "schedule:", "plateau:", "linear:", "list:",
    "recurrent:", "norm:", "prof:",
    "recording:", "st:", "event:", "capsule:", "set:", "loader:", "loader.", "text:", "sync.",
    "sim.", "profile.",
    "cuda.", "data.", "data.transforms.",
    "optim.", "optim.lr.", "nn.", "nn.init.", "nn.utils.", "nn.Module.", "linalg.", "fft.",
    "autograd.", "nan.", "gpush.", "json.",
    "npz.", "npy.", "image.", "safetensors.", "checkpoint.", "string.", "math.", "table.", "os.",
    "io.", "debug.",
    "coroutine.", "utf8.", "package." } do
    check(before)
end
for c in ("abcdefghijklmnopqrstuvwxyz"):gmatch "." do
    check("", c)
    check("", c:upper())
end

-- Options, of every op and of every class.
local types = { any = true, value = true, bool = true, device = true, dim = true, dims = true,
    dtype = true, float = true, int = true, numbers = true, order = true,
    ints = true, text = true, table = true, value = true, number = true, operand = true,
    padding = true, shape = true, str = true, tensor = true, tensors = true }
local silent, n = {}, 0
local function check_options(call)
    local out = shell.complete(call .. "{")
    for _, name in ipairs(out and out[1] and out[1]:find " = $" and out or {}) do
        local line = out.help(name)
        n = n + 1
        if not line or types[line:gsub(" %[.*", "")] then
            silent[#silent + 1] = call .. "{" .. name
        end
    end
end
for name in pairs(ops(true)) do
    if not name:find "_grad$" and not name:find "_backward$" and not name:find "_step$"
        and name ~= "einsum" then
        check_options(name)
        check_options((name:gsub("_", ".", 1)))
    end
end
for _, area in ipairs { "nn", "optim", "optim.lr", "data" } do
    for _, name in ipairs(shell.complete(area .. ".")) do check_options(area .. "." .. name) end
end
t.ok(n > 800, "there are options", n)
t.is(table.concat(silent, " "), "", "each with a text")

-- What Tab offers for them.
local function offers(call, want, name)
    local out, list = shell.complete(call), {}
    for i, word in ipairs(out) do list[i] = word:gsub(" = $", "") end
    table.sort(list)
    t.is(table.concat(list, " "), want, name)
end
offers("conv2d(x, x, {", "bias dilation groups padding stride",
    "options that were not given by place, tensors among them")
offers("zeros(3, {device = 'cpu', ", "dtype requires_grad", "nor by name")
offers("zeros(3, {device = ('a'):rep(3, ','), ", "dtype requires_grad",
    "whatever stands in the value")
offers("x:sum{", "dim dtype keepdim", "a method's tensor is given")
offers("optim.SGD(linear, {lr = 1, ", "dampening maximize momentum nesterov weight_decay",
    "an optimizer's parameters are")
offers("cross_entropy(x, x, {reduction = '", "mean none sum", "what a string option may be")
offers("interpolate(x, {mode = 'b", "bicubic bilinear", "also where the name is another's, too")
offers("sync.mode = 'e", "error", "whose values are others")
offers("sim.", "card cards host label loader measured script tf32", "variables that are no fields")
local out = shell.complete "conv2d(x, x, {"
t.is(out.help "stride = ", "step of the kernel [1]",
    "with the topic's text and the default")
out = shell.complete "image.load('a', {"
t.is(out.help "channels = ", "1, 2, 3 or 4, converted; those of the file if not given",
    "a text may have a semicolon")
out = shell.complete "data.Loader{"
t.is(out.help "shuffle = ", "another order in each pass, by Philox", "with the head of the file")

-- ---- PyTorch's names: there, or answered ----

local dir = debug.getinfo(1, "S").source:match "^@(.*)tests/scripts/" or ""
local forms = { torch = "torch.%s(x)", F = "F.%s(x)", special = "torch.special.%s(x)",
    Tensor = "x:%s()", nn = "nn.%s()", optim = "optim.%s()", lr = "optim.lr.%s()",
    utils = "nn.utils.%s()", init = "nn.init.%s(x)", linalg = "linalg.%s(x)", fft = "fft.%s(x)",
    data = "data.%s()" }
local unanswered, answered = {}, 0
for area, list in pairs(assert(loadfile(dir .. "tests/support/torch_names.lua", "t"))()) do
    local package = forms[area]:find "^torch" or area == "F"
    for name in list:gmatch "%S+" do
        local code = forms[area]:format(name)
        local there = package and gpush[name] ~= nil or name == "repeat"
        local ok, message = there, ""
        if not there then ok, message = pcall(load(code, "=stdin")) end
        message = not ok and tostring(message):match "^[^\n]*" or ""
        if message:find "nil value" or message:find "no method" then
            answered = answered + 1
            if not shell.hint(message, code, function(n) return rawget(_G, n) end, true) then
                unanswered[#unanswered + 1] = area .. "." .. name
            end
        end
    end
end
table.sort(unanswered)
t.is(table.concat(unanswered, " "), "", "every public name of PyTorch is there or answered")
t.ok(answered > 300, ("%d names are answered"):format(answered))

-- What an answer or a row calls exists.
local wrong, answers = {}, {}
for name, words in pairs(require_ours "shell.torch_names") do answers[name] = words end
for name, forms in pairs(require_ours "shell.elsewhere".forms) do
    for i, form in ipairs(name:find "^torch%.[%w_]+$" and forms or {}) do
        answers[name .. i] = form.text:gsub("%f[%w_]%u[%u%d_]*:", "x:")
            :gsub("function", ""):gsub("%f[%w_][%l]%(", "f(")
    end
end
for name, answer in pairs(answers) do
    for sep, call in answer:gmatch "([.:]?)%f[%a]([%a_][%w_.]*)[({]" do
        local v = sep == ":" and (linear[call] or debug.getregistry()["gpush.tensor.methods"][call])
            or sep == "" and gpush
        for key in call:gmatch "[^.]+" do
            if sep == "" then v = type(v) == "table" and v[key] or nil end
        end
        local lua = sep == "" and (load("return " .. call) or print)()
        local free = call == "d" or call == "stack" or call == "function" -- a user's, or Lua's
        if not v and not lua and not free then wrong[#wrong + 1] = name .. ": " .. call end
    end
end
t.is(table.concat(wrong, ", "), "", "what the answers call is there")
local function answer(code)
    local _, message = pcall(assert(load(code)))
    return shell.hint(tostring(message):match "^[^\n]*", code,
        function(n) return rawget(_G, n) end, true)
end
t.is(answer "q = torch.rsub(x, v)", "in Lua: q = v - x", "of a package")
t.is(answer "q = x:rsub(v)", "in Lua: q = v - x", "of a tensor")
t.is(answer "q = nn.LazyLinear(3)", "in Lua: -- nn.Linear(inputs, outputs): sizes are given",
    "of a table")
t.is(answer "q = torch.exp_(x)", "in Lua: q = x:exp_()", "in place")
t.is(answer "x:addbmm_(a, b)", "in Lua: x:copy_(x:addbmm(a, b))", "in place, by the composite")
t.ok(answer "x:renorm_(2, 1, 5)":find("x:copy_", 1, true), "in place, by a row")
t.is(answer "local set = {} set.indices()", nil, "a user's own table is none of PyTorch's")

-- A user's name is not gpush's of the same spelling.
function stream() end
t.ok(not said("stream"):find "A new queue on the device", "a function of the user's is not gpush's")
t.ok(said("help"):find("words are found in", 1, true), "a function in C by its name")
-- luacheck: ignore
t.ok((function()
    local s = "" local p = print print = function(v) s = v end help(x.item) print = p return s
end)():find "x:item",
    "and by its value")
t.done()
