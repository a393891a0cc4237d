-- The advice of the sync debugger, executed: a table of lines that wait, each with what its advice
-- says to write instead. Both run; the second does not wait and gives the same. Every row of
-- profile/sync/advice.def has a line here, the code in a row's text runs as it stands there, and
-- every word that a wait in the sources may bear is that of a line here.
local t = require "tap"
local dev = "sim"

-- Variables of the snippets. y's product keeps the device busy while they run.
local y = full({ 700, 700 }, 1, { device = dev, dtype = "f32" })
local s = current_stream(dev)
local file = os.tmpname()
local null = assert(io.open("/dev/null", "w"))
local model = nn.Linear(4, 4)
local labels = (arange(1, 64, { device = dev, dtype = "i64" }) % 5) + 1
local function env()
    local e = { x = arange(1, 64, { device = dev, dtype = "f32" }),
        c = arange(1, 64, { dtype = "f32" }), d = dev, s = s,
        t = full({}, 3, { device = dev, dtype = "i64" }), f = full({}, 0.5, { device = dev }),
        idx = arange(1, 4, { device = dev, dtype = "i64" }), cidx = arange(1, 4, { dtype = "i64" }),
        p = arange(1, 64, { dtype = "f32" }):pin_memory(),
        q = arange(1, 64, { dtype = "f32" }):pin_memory(), n = 5, labels = labels, file = file,
        null = null, model = model, i = 2, a = 1, b = 2, y = y }
    e.square = e.p:reshape(8, 8) -- pinned
    e.mask, e.host = e.x:gt(32), e.c
    e.m, e.cond = e.mask, e.mask
    e.print = function(v)
        e.r = type(v) == "number" and ("%d"):format(v) or tostring(v)
    end
    return setmetatable(e, { __index = _G })
end

-- A case: {the row of advice.def as "why/what/form", a line that waits for this reason, {lines that
-- do not}}; where both set r, its values are equal. once: runs before, where waits are allowed.
-- lasting: the row says that something is done less often. asked: of waits that are not refused,
-- maybe already over. fails: the error it raises.
local LOG <const> = { "sync.async(t, function(v) print(v:item()) end)",
    "for i = 1, 5 do if i % 10 == 0 then print(('%d'):format(t)) end end" }
local ROWS <const> = "x = x:reshape(8, 8) rows = x:select(2, 1):gt(30) mask = rows \z
    mask = mask:unsqueeze(2):expand_as(x)"
local cases = {
    { "item/item/", "r = tostring(t:item())", { LOG[1], "local total = t + t" } },
    { "item/item/", "r = (f * 3):item() - 1.5 == 0",
        { "local v = (f * 3):detach() r = not (total + v).requires_grad" },
        once = "f = f:requires_grad_() total = 0 t = f local v = t:detach()" },
    { "item/string.format/", "r = ('%d'):format(t)", LOG },
    { "item/string.format/", "r = string.format('%q', t)", LOG },
    { "item/../", "r = '' .. t", LOG },
    { "item/table.concat/", "r = table.concat({t})", LOG },
    { "item/.write/", "null:write(t)", LOG },
    { "item/.write/", "io.output(null) io.write(t) io.output(io.stdout)", LOG },
    { "item/math.random/", "local v = math.random(t)",
        { "local v = (rand({}, {device = t.device}) * t):floor() + 1" } },
    { "item/math./", "r = math.floor(t)", { "r = t:floor()" }, once = "t = f" },
    { "item/math./", "r = math.min(9, math.max(1, t))", { "r = t:clamp(1, 9)" } },
    { "item/for/", "for i = 1, t do x = x * 2 end r = x",
        { "for i = 1, 9 do x = where(t:ge(i), x * 2, x) end r = x",
            "for i = 1, n do x = x * 2 end r = x" }, once = "n = t:item()" },
    { "item/equal/", "r = equal(x, y)", { "r = x:eq(y):all()" }, once = "y = x + 0" },
    { "item/allclose/", "r = allclose(x, y)", { "r = x:isclose(y):all()" }, once = "y = x + 0" },
    { "item/narrow/int", "r = x:narrow(1, t, 2)",
        { "r = x:index_select(1, t + arange(0, 1, {device = t.device}))",
            "r = x:narrow(1, 3, 2)" } },
    { "item/narrow/int", "r = x:narrow(1, 1, t):sum()",
        { "r = where(arange(1, 64, {device = t.device}):le(t), x, 0):sum()" } },
    { "item/select/int", "r = x:select(1, t):reshape(1)",
        { "r = x:index_select(1, t:reshape(1))" } },
    { "item/amp.GradScaler:get_scale/", "r = scaler:get_scale()",
        { "for i = 1, 5 do if i % 10 == 0 then r = scaler:get_scale() end end" },
        once = "scaler = amp.GradScaler() w = f:requires_grad_() o = optim.SGD({w}, {lr = 1}) \z
            scaler:scale(w * 2):backward() scaler:step(o) scaler:update()" },
    { "item/full/number", "r = full({3}, t)", { "r = t:expand(3)" } },
    { "item/optim./float", "r = optim.SGD(model, {lr = f}).param_groups[1].lr",
        { "r = optim.SGD(model, {lr = lr}).param_groups[1].lr" }, once = "t = f lr = t:item()" },
    { "item/optim./float", "local v = optim.clip_grad_norm_(w, f)",
        { "local v = optim.clip_grad_norm_(w, lr)" }, once =
        "w = {ones(3, {device = d}):requires_grad_()} w[1].grad = ones(3, {device = d}) \z
        t = f lr = t:item()" },
    { "item/schedule.step/", "plateau:step(f)", { "plateau:step(lr)" }, once = "lr = f:item() \z
        plateau = optim.lr.ReduceLROnPlateau(optim.SGD({ones(3):requires_grad_()}, {lr = 1}))" },
    { "item/optim.clip_grad_norm_/",
        "r = optim.clip_grad_norm_(w, 1, {error_if_nonfinite = true}):reshape(1)",
        { "r = optim.clip_grad_norm_(w, 1):reshape(1)" }, once =
        "w = {ones(3, {device = d}):requires_grad_()} w[1].grad = ones(3, {device = d})" },
    { "item//shape", "r = zeros(t)", { "r = zeros(n)",
        "local v = where(arange(1, 64, {device = t.device}):le(t), x, 0)" },
        once = "n = t:item()" },
    { "item//float", "local v = dropout(x, f)", { "local v = dropout(x, p)",
        "local v = x * t", "local v = where(m, t, x)" }, once = "t = f p = t:item()" },
    { "item//float", "r = linspace(0, f, 5, {device = d})",
        { "r = linspace(0, p, 5, {device = d})" }, once = "t = f p = t:item()" },
    { "item//number", "r = pad(x, {1, 1}, {value = t})",
        { "r = pad(x, {1, 1}, {value = p})", "local v = x * t", "local v = where(m, t, x)" },
        once = "p = t:item()" },
    { "item//", "r = x:topk(t)", { "r = x:topk(n)" }, once = "n = t:item()" },
    { "item//", "r = x:roll(t)", { "r = x:roll(n)" }, once = "n = t:item()" },
    { "item//", "r = ('ab'):rep(t)", { "r = ('ab'):rep(n)" }, once = "n = t:item()" },
    { "print//", "r = tostring(x)", { "sync.async(x, function(v) r = tostring(v:to(d)) end)",
        "sync.async(x, print)", "for i = 1, 5 do if i % 10 == 0 then print(x) end end" },
        unlike = true },
    { "print//", "r = ('%s'):format(x)", { "sync.async(x, print)" }, unlike = true },
    { "tolist//", "r = {(x * 2 + 1):sum():tolist()}", { "r = (x * 2 + 1):sum():reshape(1)" } },
    { "tolist/optimizer.step/", "o:step(closure)", { "local o = optim.Adam(w) closure() o:step()" },
        once = "w = {ones(3, {device = d}):requires_grad_()} o = optim.LBFGS(w) \z
            closure = function() w[1].grad = nil \z
            local l = (w[1] * 2):sum() l:backward() return l end" },
    { "tolist/nn.utils.rnn.pack_padded_sequence/",
        "r = nn.utils.rnn.pack_padded_sequence(x, given).data",
        { "r = nn.utils.rnn.pack_padded_sequence(x, lengths).data",
            "r = nn.utils.rnn.pack_padded_sequence(x, {4, 3}).data" },
        once = "x = x:reshape(8, 2, 4) lengths = tensor({4, 3}, {device = d}) given = lengths \z
            lengths = lengths:cpu()" },
    { "branch//", "if x:sum() > 0 then r = x * 2 else r = x end",
        { "r = where(x:sum() > 0, x * 2, x)", "local v = where(cond, a, b)", "r = x * 2 * (x > 0)",
            "r = (x * 2):clamp(0)" } },
    { "branch//number", "assert(t)", { "assert(t ~= nil)", "local v = where(t:ne(0), a, b)" } },
    { "branch//number", "r = (t or 0) + x:sum()",
        { "if t ~= nil then r = t + x:sum() else r = x:sum() end" } },
    { "branch//assert", "assert(t:ne(0))",
        { "local ok = x > 0 ok = ok & (x == y)",
            "for i = 1, 5 do if i % 10 == 0 then assert(t:ne(0)) end end" }, once = "y = x" },
    { "branch//sort", "table.sort({t, t + 1}, function(a, b) return a > b end)",
        { "local list = {t, t + 1} local v, i = stack(list):sort()" } },
    { "branch//sort", "table.sort({t, t + 1}, function(a, b) if a > b then return true end end)",
        { "local list = {t, t + 1} local v, i = stack(list):sort()" } },
    { "branch//sort", "table.sort {t, t + 1}",
        { "local list = {t, t + 1} local v, i = stack(list):sort()" } },
    { "branch//", "while t < 0 do end",
        { "for i = 1, 5 do if i % 10 == 0 and t < 0 then break end end" } },
    { "index/cpu index/", "r = x[cidx]", { "r = x[idx]" },
        once = "idx = cidx idx = idx:to(x.device)" },
    { "index/cpu index/", "x[cidx] = 0 r = x", { "x[idx] = 0 r = x" },
        once = "idx = cidx idx = idx:to(x.device)" },
    { "index//", "r = x[t]:reshape(1)", { "r = x[3]:reshape(1)", "r = x[t:reshape(1)]" } },
    { "index//", "r = x[{ {t} }]", { "r = x[{ {3} }]", "r = x[t:reshape(1)]" } },
    { "index//bound", "r = x[{ {1, t} }]:sum()", { "r = x[{ {1, 3} }]:sum()",
        "r = where(arange(1, 64, {device = d}):le(t), x, 0):sum()" } },
    { "index//bound", "r = x[{ {t, t + 2} }]",
        { "r = x:index_select(1, t + arange(0, 2, {device = d}))" } },
    { "copy/.save/", "npy.save(file, x)",
        { "for i = 1, 5 do if i % 10 == 0 then npy.save(file, x) end end" } },
    { "copy/.save/", "npz.save(file, {x = x})", {} },
    { "copy/.save/", "safetensors.save(file, {x = x})", {} },
    { "copy/.save/", "image.save(file, x:reshape(8, 8) / 64)", {} },
    { "copy//model", "nn.Linear(4, 4):to(d)", { "r = nn.Linear(4, 4, {device = d}).weight" } },
    { "copy//model", "nn.Linear(4, 4, {device = d}):cpu()", { "model:cpu()" } },
    { "copy//literal", "r = tensor(3.14, {device = d}):reshape(1)",
        { "r = full({}, 3.14, {device = d}):reshape(1)" } },
    { "copy//literal", "r = tensor({1, 2, 3}, {device = d})", { "r = l" },
        once = "l = tensor({1, 2, 3}, {device = d})" },
    { "copy//H2D strided", "r = square:t():to(d, {non_blocking = true})",
        { "r = p:to(d, {non_blocking = true}):t()" }, once = "p = square" },
    { "copy//H2D strided", "local v = x:reshape(8, 8):copy_(square:t(), {non_blocking = true})",
        { "local v = x:reshape(8, 8):copy_(p:to(d, {non_blocking = true}):t())" },
        once = "p = square" },
    { "copy//H2D pinned", "r = p:to(d)", { "r = p:to(d, {non_blocking = true})" } },
    { "copy//H2D pageable", "r = c:to(d)",
        { "r = p:to(d, {non_blocking = true})", "r = arange(1, 64, {device = d})" },
        once = "p = c:pin_memory()" },
    { "copy//H2D pageable", "r = c:to(d, {non_blocking = true})",
        { "r = p:to(d, {non_blocking = true})" }, once = "p = c:pin_memory()" },
    { "copy//H2D pageable", "x:copy_(c) r = x", { "x:copy_(p:to(d, {non_blocking = true})) r = x" },
        once = "p = c:pin_memory()" },
    { "copy//H2D pageable", "x['1:64'] = c r = x",
        { "x['1:64'] = p:to(d, {non_blocking = true}) r = x" }, once = "p = c:pin_memory()" },
    { "copy/copy_/D2H strided", "p:copy_(x:double(), {non_blocking = true}) r = p",
        { "p:copy_(x:to(p.dtype), {non_blocking = true}) r = p" } },
    { "copy/copy_/D2H pageable", "c:copy_(x) r = c", { "p:copy_(x, {non_blocking = true}) r = p" },
        once = "p = c:pin_memory()" },
    { "copy/copy_/D2H pageable", "c:copy_(x, {non_blocking = true}) r = c",
        { "p:copy_(x, {non_blocking = true}) r = p" }, once = "p = c:pin_memory()" },
    { "copy/copy_/D2H pinned", "p:copy_(x) r = p", { "p:copy_(x, {non_blocking = true}) r = p" } },
    { "copy//D2H pageable", "r = x:to 'cpu'",
        { "r = x", "r = x:to('cpu', {non_blocking = true})" } },
    { "copy//D2H pageable", "r = x:cpu()", { "r = x:to('cpu', {non_blocking = true})" } },
    { "copy//arrival", "r = x:to('cpu', {non_blocking = true}) + 1",
        { "sync.async(x, function(v) host = v + 1 end) r = x + 1" } },
    { "reuse//", "local v = p:to(d, {non_blocking = true}) p:add_(1)",
        { "local v = p:to(d, {non_blocking = true}) q:add_(1)" } },
    { "shape/repeat_interleave/", "r = x:repeat_interleave(idx)",
        { "r = x:repeat_interleave(n, {output_size = 10})" }, once = "x = x['1:4'] n = idx" },
    { "shape/one_hot/", "r = labels:one_hot()",
        { "r = labels:one_hot(5)", "r = labels:one_hot({num_classes = 5})" } },
    { "shape/bincount/", "r = labels:bincount()",
        { "r = zeros(n, {device = x.device})\z
            :index_add(1, x, ones(x:numel(), {device = x.device}))" },
        once = "x = labels" },
    { "shape/unique/", "r = x:unique():numel()",
        { "local s = x:sort() r = s['2:']:ne(s[':-2']):sum() + 1" }, once = "x = labels" },
    { "shape/unique/", "local v, i = labels:unique({return_inverse = true})",
        { "local v, i = labels:sort()" } },
    { "shape/unique_consecutive/", "r = x:unique_consecutive():numel()",
        { "r = x[\"2:\"]:ne(x[\":-2\"]):sum() + 1" }, once = "x = labels" },
    { "shape/nonzero/", "r = x[mask:nonzero():squeeze(2)]:sum()",
        { "r = where(cond, a, b):sum()" }, once = "a, b = x, 0" },
    { "shape/nonzero/", "local v = where(mask)", {} },
    { "shape/masked_select/", "r = x:masked_select(mask):sum()",
        { "r = where(mask, x, 0):sum()", "x[mask] = 0" } },
    { "shape/masked_select/", "r = x[mask]:mean()",
        { "r = where(mask, x, 0):sum() / mask:sum()" } },
    { "shape/masked_select/", "y = x * 2 y[mask] = x[mask] r = y",
        { "y = x * 2 y = where(mask, x, y) r = y" } },
    { "shape/masked_select/", "r = x[mask]:sum()", { "r = where(mask, x, 0):sum()" },
        once = "mask = mask & ~x:eq(2) x = x / (x - 2)" }, -- an infinity that is masked out
    { "shape/masked_select/", "r = x[mask]:sum()", { "r = where(mask, x, 0):sum()" } },
    { "shape/masked_select/", "r = x[rows]:sum()", { "r = where(mask, x, 0):sum()", "x[mask] = 0" },
        once = ROWS },
    { "shape/masked_select/", "r = x[rows]:mean()",
        { "r = where(mask, x, 0):sum() / mask:sum()" }, once = ROWS },
    { "shape/masked_select/", "y = x * 2 y[rows] = x[rows] r = y",
        { "y = x * 2 y = where(mask, x, y) r = y" }, once = ROWS },
    { "alloc/empty_cache/", "do local z = y + 1 end collectgarbage() empty_cache(d)",
        { "do local z = y + 1 end collectgarbage()" } },
    { "alloc//", "local v = empty({memory(d).limit // 4 + 1}, {device = d})",
        { "local v = empty({1000}, {device = d})", "x = nil local v = y + 1", "x:add_(1)" },
        fails = "out of memory" },
    { "validate/detect_anomaly/",
        "autograd.detect_anomaly(function() local w = x:detach() w.requires_grad = true \z
            (w * 2):sum():backward() r = w.grad end)",
        { "local w = x:detach() w.requires_grad = true (w * 2):sum():backward() r = w.grad" } },
    { "validate//", [[local w = x:detach() w.requires_grad = true
        local z = ones(5, {device = d}):scatter_reduce(1, labels, w, 'prod'):sum()
        r = grad(z, w, {create_graph = true}):detach()]],
        { [[local w = x:detach() w.requires_grad = true
        local z = ones(5, {device = d}):scatter_reduce(1, labels, w, 'prod'):sum()
        r = grad(z, w)]] } },
    { "explicit//", "synchronize(d)", { "local v = x:sum()" }, asked = true },
    { "explicit//", "s:synchronize()", { "local v = x:sum()" }, asked = true },
    { "explicit//", "local a, b = s:record(), s:record() local v = a:elapsed(b)",
        { "local a = s:record()" }, asked = true },
    { "join//",
        "local w = ones(300, 300) r = wait(fork(function() return w:matmul(w) end)):sum()",
        { "local w = ones(300, 300) r = w:matmul(w):sum()" }, asked = true },
    { "queue//", "for i = 1, 1500 do x:add_(1) end r = x", { "x:add_(1500) r = x" }, asked = true },
}

-- What the snippet did: whether it ran, its error, the waits meanwhile, and r once all has come.
local function run(text, mode, once)
    local e = env()
    if once then assert(load(once, "=once", "t", e))() end
    local f = assert(load(text, "=advice", "t", e))
    synchronize()
    for _ = 1, 3 do local z = y:matmul(y) end
    sync.reset()
    sync.mode = mode
    local ok, err = pcall(f)
    sync.mode = "off"
    local events = sync.events()
    sync.finish()
    synchronize()
    return ok, tostring(err), events, rawget(e, "r")
end

local function plain(v)
    if not is_tensor(v) then return v end
    return (v.dtype == "bool" and v or v:to "f64"):tolist()
end
local function same(a, b)
    a, b = plain(a), plain(b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b or tonumber(a) ~= nil and tonumber(a) == tonumber(b)
    end
    for i = 1, math.max(#a, #b) do if not same(a[i], b[i]) then return false end end
    return true
end

-- The rows: "why/what/form" -> the text.
local texts = {}
for line in assert(io.open(os.getenv "GPUSH_ROOT" .. "/profile/sync/advice.def")):read "a"
    :gsub('"\n *"', ""):gmatch "[^\n]+" do
    local why, what, form, text = line:match '^ADVICE%((%w+), "(.-)", "(.-)", "(.+)"%)$'
    if text then texts[why .. "/" .. what .. "/" .. form] = text:gsub('\\"', '"') end
end

-- The calls in a text, as they stand there.
local function code(text)
    local found = {}
    for call in text:gmatch "[%w_%.:%[%]\"]*[%w_]%b()" do found[#found + 1] = call end
    return found
end

-- The waits of a line, with their advice, as a text.
local function waits_of(case)
    local _, _, events = run(case[2], "off", case.once)
    local list = {}
    for i, e in ipairs(events) do list[i] = ("%s: %s: %s"):format(e.why, e.what, e.advice) end
    return table.concat(list, "\n")
end

local seen, words, verdicts = {}, {}, {}
for _, case in ipairs(cases) do
    local row, waits, instead = table.unpack(case)
    local why, text = row:match "^%w+", texts[row]
    seen[row] = seen[row] or { text = text, programs = "" }
    seen[row].programs = seen[row].programs .. "\n" .. (case.once or "") .. "\n" ..
        table.concat(instead, "\n") .. "\n" .. (case.after or "")
    local ok, err, events, given, result
    -- An explicit wait, a join and a full queue are waits only while there is work, which may be
    -- done before where the host had no processor: again, then.
    for _ = 1, case.asked and 20 or 1 do
        ok, err, events, result = run(waits, "off", case.once)
        for _, e in ipairs(events) do
            if e.why == why then given, words[why .. "/" .. e.what] = e.advice, true end
        end
        if given then break end
    end
    t.ok(ok or case.fails and err:find(case.fails), waits .. ": runs: " .. err)
    t.is(given, text, waits .. ": waits, and is advised by " .. row)
    ok, err = run(waits, "error", case.once)
    t.is(ok, case.asked or false, waits .. ": is refused")
    if not case.asked then
        t.ok(err:find(text, 1, true), ("%s: the refusal says '%s': %s"):format(waits, text, err))
    end
    for _, line in ipairs(instead) do
        local value
        ok, err, events, value = run(line, "error", case.once)
        local kinds = {}
        for _, e in ipairs(events) do kinds[#kinds + 1] = e.why end
        t.ok(ok and #events == 0,
            ("%s: does not wait%s %s"):format(line, ok and "" or ": " .. err,
                table.concat(kinds, " ")))
        if result ~= nil and value ~= nil and not case.unlike then
            t.ok(same(result, value), ("%s: gives what %s does: %s, %s"):format(line, waits,
                tostring(value), tostring(result)))
        end
    end
end

-- None of this depends on what ran before: gradients, modes, records, forks, replays, streams.
for i, case in ipairs(cases) do verdicts[i] = not case.asked and waits_of(case) end
local used, trained = ones(3, { device = dev }), nn.Linear(4, 4):to(dev)
trained(ones(2, 4, { device = dev })):sum():backward()
optim.Adam(trained):step()
sync.mode = "warn"
sync.mode = "off"
wait(fork(function() return ones(3) + 1 end))
capture(function(x) return x + 1 end)(used)
fuse(function(x) return x * 2 + 1 end)(used)
profile.run({ stack = true, memory = true }, function() return used:sum():item() end)
autocast("bf16", function() return trained(ones(2, 4, { device = dev })) end)
_G.autograd.detect_anomaly(function() trained(ones(2, 4, { device = dev })):sum():backward() end)
stream(dev):use(function() return used + 1 end)
for i, case in ipairs(cases) do
    if verdicts[i] then t.is(waits_of(case), verdicts[i], case[2] .. ": whatever ran before") end
end

-- A profile, and its file, give the same advice.
local function advised(prof)
    local list = {}
    for _, row in ipairs(prof:sync()) do list[row.what] = row.advice end
    return list
end
local e = env()
local prof = profile.run(function()
    for _, text in ipairs { "zeros(t)", "p:to(d)", "c:copy_(x)", "dropout(x, f)" } do
        for _ = 1, 3 do local _ = y:matmul(y) end
        assert(load("local _ = " .. text, "=" .. text, "t", e))()
    end
end)
local profiled = { zeros = texts["item//shape"], to = texts["copy//H2D pinned"],
    copy_ = texts["copy/copy_/D2H pageable"], dropout = texts["item//float"] }
t.is(advised(prof), profiled, "a profile's waits are advised by their form, too")
prof:save(file .. ".json")
t.is(advised(profile.load(file .. ".json")), profiled, "and those of its file")
os.remove(file .. ".json")

for row, it in pairs(seen) do
    for _, call in ipairs(code(it.text or "")) do
        t.ok(it.programs:find(call, 1, true), ("%s: '%s' of its text was run"):format(row, call))
    end
end
-- These take several processes (tests/dist/waits.sh), or a wait whose form nobody knows, as in the
-- tables of a profile.
local elsewhere = { ["collective//"] = true, ["copy//"] = true }
local missing = {}
for row in pairs(texts) do
    if not seen[row] and not elsewhere[row] then missing[#missing + 1] = row end
end
table.sort(missing)
t.is(missing, {}, "every row of advice.def has a case")

-- Calls of waits in the sources that no line above provokes, and why.
local unheard = { ["copy/batch"] = "memory of the host that a queued copy fills: 'arrival'",
    ["copy/kernel"] = "of a card, once: a module's variables",
    ["alloc/free"] = "a dead tensor of a full device", ["join/wait"] = "as every join",
    ["item/prod"] = "on the cpu only, where it is no wait", ["explicit/timeit"] = "never listed",
    ["explicit/wait_event"] = "between a device and the host's stream",
    ["explicit/nan.watch"] = "one, at the end of what is watched",
    ["explicit/card"] = "sim.card, which waits for what is queued" }
for word, like in pairs { ["copy/collate"] = "copy/batch", ["copy/loader"] = "copy/batch",
    ["item/linalg.slogdet"] = "item/prod", ["join/capture"] = "join/wait" } do
    unheard[word] = unheard[like]
end
local root = os.getenv "GPUSH_ROOT"
local sources = io.popen(("grep -rhoE 'GP_WHY_[a-z]+, \"[^\"]+\"' '%s/tensor' '%s/bindings'")
    :format(root, root))
local heard = 0
for line in sources:lines() do
    local word = ("%s/%s"):format(line:match 'GP_WHY_(%l+), "(.-)"')
    if not unheard[word] then
        heard = heard + 1
        t.ok(words[word], word .. ": a line above waits so")
    end
end
sources:close()
t.ok(heard > 15, "the sources have such words")
for why in assert(io.open(root .. "/tensor/device/why.def")):read "a":gmatch "\nWHY%((%w+)%)" do
    local any = why == "echo" or why == "collective" -- the prompt's, and between ranks
    for word in pairs(words) do any = any or word:match "^%w+" == why end
    t.ok(any, why .. ": a line above waits for this reason")
end
os.remove(file)
t.done()
