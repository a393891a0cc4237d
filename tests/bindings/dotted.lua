-- A method that is called with a dot, opt.step() for opt:step(), gets an error that says so, in the
-- user's own names: every method of every class, and calls that must not be taken for one.
local t = require "tap"
local dotted = debug.getregistry()["gpush.dotted"]

-- What the message handler says about the chunk, or the error itself, or "no error".
local function said(text)
    local ok, message = xpcall(load(text), function(m)
        local found, place = dotted(2, 40)
        return found and place .. found or m
    end)
    return ok and "no error" or tostring(message)
end

-- The error itself, as under pcall.
local function raised(text)
    local ok, message = pcall(load(text))
    return ok and "no error" or tostring(message)
end

local function advice(call, right)
    return (": %s: call a method with a colon: %s"):format(call, right)
end

obj = {
    tensor = ones(3),
    linear = nn.Linear(2, 3), list = nn.ModuleList { nn.ReLU() }, recurrent = nn.LSTM(1, 2),
    norm = nn.BatchNorm1d(2),
    optimizer = optim.AdamW { ones(2):requires_grad_() },
    set = data.TensorDataset(ones(4)),
    stream = stream "sim",
    prof = profile.run(function() end),
    schedule = profile.schedule {},
    future = fork(function() end),
    hook = ones(2, { requires_grad = true }):register_hook(function() end),
    layer_hook = nn.ReLU():register_forward_hook(function() end),
}
obj.event = obj.stream:record()
obj.step_lr = optim.lr.StepLR(obj.optimizer, 2)
obj.plateau = optim.lr.ReduceLROnPlateau(obj.optimizer)
obj.loader = data.Loader { obj.set }

-- The names of the functions that v's metatable gives it.
local function methods_of(v)
    local names, index = {}, debug.getmetatable(v).__index
    if is_tensor(v) then index = debug.getregistry()["gpush.tensor.methods"] end
    while type(index) == "table" do
        for name, f in next, index do
            if type(name) == "string" and type(f) == "function" and not name:find "^_"
                and name ~= "repeat" then
                names[#names + 1] = name
            end
        end
        index = (getmetatable(index) or {}).__index
    end
    return names
end

-- Those of nn.Module that do nothing, for classes to define.
local selfless = { extra_repr = true, init = true }
local calls, silent = 0, {}
for kind, v in pairs(obj) do
    for _, name in ipairs(methods_of(v)) do
        local call = ("obj.%s.%s()"):format(kind, name)
        local got = said(call)
        calls = calls + 1
        if not got:find(advice(call, ("obj.%s:%s()"):format(kind, name)), 1, true)
            and not selfless[name] then
            silent[#silent + 1] = call .. "  " .. got
        end
    end
end
table.sort(silent)
t.is(table.concat(silent, "\n"), "", ("each of %d calls is reported"):format(calls))
t.ok(calls > 500, "and all methods are among them")

-- In the error itself, where it is ours.
x, y, s, torch_like = ones(3), ones(3), obj.stream, { sum = sum }
w = ones(3, { requires_grad = true });
(w * w):sum():backward()
for call, right in pairs {
    ["x.sum()"] = "x:sum()",
    ["x.sum(1)"] = "x:sum(…)",
    ["x.scatter_(1, x, 1.0)"] = "x:scatter_(…)", -- as scatter, whose first dim it is, too
    ['x.to("cpu")'] = 'x:to("cpu")',
    ["x.matmul(y)"] = "x:matmul(y)",
    ["x.add_(y)"] = "x:add_(y)",
    ["x.view(3, 1)"] = "x:view(3, 1)",
    ["x.masked_fill(x > 0, 1)"] = "x:masked_fill(x > 0, 1)",
    ["x.sum{dim = 1}"] = "x:sum{dim = 1}",
    ["w.grad.zero_()"] = "w.grad:zero_()",
    ["x:relu().sum()"] = "x:relu():sum()",
    ["(x + y).sum()"] = "(x + y):sum()",
    ["(x + y).pow(2)"] = "(x + y):pow(2)",
    ["x:relu().clamp(0, 1)"] = "x:relu():clamp(0, 1)",
    ["obj.tensor.item()"] = "obj.tensor:item()",
    ["s.synchronize()"] = "s:synchronize()",
    ["s.wait(obj.event)"] = "s:wait(obj.event)",
} do
    t.ok(raised(call):find(advice(call, right), 1, true), call)
end
t.ok(raised("local z = x return z.mean()"):find(advice("z.mean()", "z:mean()"), 1, true),
    "a local variable")
t.ok(raised("local z = x return (function() return z.mean() end)()"):find(
    advice("z.mean()", "z:mean()"), 1, true), "an upvalue")
t.ok(raised("x.index_add(1, x, x, x, x, x, x, x, x, x, x, x, x, x, x)"):find("x:index_add(…)", 1,
    true), "of long arguments no more than a sign")

-- Examining it leaves the message as it is.
holder = { power = pow, x = ones(2) }
function held() return holder end
t.ok(raised("held().power(2)"):find("pow: argument 'b' (#2)", 1, true),
    "a function in a table that a call gives")

-- A class of the user's, and a plain table.
local Net = nn.module "Net"
function Net:init() self.l = nn.Linear(3, 2) end
function Net:forward(v) return self.l(v) end
net, counter = Net(), { n = 0, up = function(self) self.n = self.n + 1 end }
t.ok(said("net.forward(x)"):find(advice("net.forward(x)", "net:forward(x)"), 1, true),
    "a class of the user's")
t.ok(said("counter.up()"):find(advice("counter.up()", "counter:up()"), 1, true),
    "a table with a method")
text = "abc"
t.ok(said("text.upper()"):find(advice("text.upper()", "text:upper()"), 1, true), "a string")

-- A colon where a library's function is meant.
for call, right in pairs { ["linalg:norm(x)"] = "linalg.norm(x)",
    ["optim:SGD({x}, 0.1)"] = "optim.SGD({x}, 0.1)", ["math:max(1, 2)"] = "math.max(1, 2)",
    ["table:concat({})"] = "table.concat({})", ["linalg:svd(x)"] = "linalg.svd(x)" } do
    t.ok(said(call):find((": %s: a function of a library takes a dot: %s"):format(call, right), 1,
        true), call)
end
t.ok(raised("linalg:norm(x)"):find("linalg.norm(x)", 1, true), "in the error itself, too")

-- Correct calls with a dot, and their other errors.
t.is(raised("assert(torch_like.sum(x):item() == 3)"), "no error", "a function in a table")
t.is(raised("assert(x.sum(x):item() == 3)"), "no error", "a method that is given its object")
t.is(raised("net.forward(net, x)"), "no error", "of a class, too")
t.is(raised("optim.SGD({x}, 0.1)"), "no error", "a function of a module")
for _, call in ipairs { "linalg.norm()", "x.sum(x, {})", "x.matmul(x, 3)", "net.forward(net, 3)",
    "string.rep()", "x:matmul(3)", "torch_like.sum()",
    "nn.Linear()", "sum()", "counter.up(counter, error 'no')" } do
    t.ok(not said(call):find "with a colon", call .. " is another error")
end
t.error(function() cuda.tf32(1) end, "cuda.tf32: argument 'on' %(#1%): expected true or false",
    "a setting of a table of the module is no method")

-- A layer's forward, also under the user's own pcall.
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
Own = nn.module "Own"
function Own:forward(x) return x end
own, obj.x = Own(), ones(1, 3)
for _, name in ipairs { "net", "own" } do
    local call = name .. ".forward(obj.x)"
    t.ok(raised("return " .. call):find("call it with a colon, model:forward(x)", 1, true)
        or raised("local y = " .. call):find(name .. ":forward(obj.x)", 1, true), call)
end
t.ok(raised "local y = net(ones(1, 3), 2)":find "2 arguments given, at most 1", "a surplus one")
t.is(Own.forward(own, 5), 5, "a class's forward by hand")
t.done()
