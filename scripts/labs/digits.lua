-- Lab: a training run as one has them. A small convolutional net learns what is
-- on small pictures until it knows a stated share of pictures that it has never
-- seen. Without --data the pictures are digits, drawn here; --data takes
--   FILE.npy  pictures (n x height x width, 0 to 1), the first half of one kind,
--             the rest of another, or
--   FILE.npz  arrays x (n x height x width, or n x channels x height x width; u8
--             counts to 255) and y (n labels).
--
-- What to look at
--   1. a step waits for nothing: losses stay on the device, and one item() an
--      epoch brings their mean;
--   2. the rate rises and falls (OneCycleLR); the loss of pictures kept back
--      stops falling before that of the others;
--   3. a checkpoint after each epoch: stop with Ctrl-C, and --resume goes on bit
--      for bit as if nothing had been;
--   4. with --precision bf16 or f16 layers compute in 16 bits, and losses stay
--      about the same;
--   5. loader:report() says whether the step waits for its batches.
-- Where there is no GPU sim stands in for a card (--card none: it does not): the
-- loader's report and the progress bar show the host's clock, on which the
-- device's time is modelled. It fails, with exit status 1, when all epochs are
-- done and the share that was wanted is not reached.
--
--   gpush lab digits [--data FILE] [--epochs 12] [--batch 20]
--     [--device gpu|cpu|sim|cuda] [--card h200] [--workers 2]
--     [--precision f32|bf16|f16] [--accuracy 90] [--count 2000]
--     [--checkpoint FILE.safetensors] [--resume] [--stop EPOCH] [--plot FILE.png]

local here = arg[0]:match ".*/" or ""
local options, card = dofile(here .. "options.lua"), dofile(here .. "card.lua")
local say = dofile(here .. "text.lua")
local opt, _ <close> = options({
    data = false, epochs = 12, batch = 20, device = "gpu", card = "h200", workers = 2,
    accuracy = 90, count = 2000, precision = "f32", checkpoint = false, resume = {}, stop = 0,
    plot = false },
    { accuracy = { 0, 100 }, stop = 0, checkpoint = "write", plot = "write", data = "read" })
local refuse = dofile(here .. "refuse.lua")
if opt.resume and not opt.checkpoint then refuse "--resume: expected --checkpoint FILE, too" end
local label = card(opt.card, opt.device)
local forward, scaler = dofile(here .. "precision.lua").of(opt.precision)
manual_seed(1)

-- ---- pictures ----

local glyphs = { -- 5 x 7, a row after the other
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111", "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100",
}

-- n digits at random positions on 12 x 12 pixels, brighter and darker, with noise.
local function draw_digits(n)
    local stamps = {}
    for i, glyph in ipairs(glyphs) do
        local rows = {}
        for row in glyph:gmatch "%d+" do
            rows[#rows + 1] = {}
            for bit in row:gmatch "." do table.insert(rows[#rows], tonumber(bit)) end
        end
        stamps[i] = tensor(rows, { dtype = "f32" })
    end
    local x, y = randn(n, 1, 12, 12) * 0.15, randint(1, 10, { n })
    local labels, top, left = y:tolist(), randint(1, 6, { n }):tolist(),
        randint(1, 8, { n }):tolist()
    for i = 1, n do
        x[i][1]:narrow(1, top[i], 7):narrow(2, left[i], 5):add_(
            stamps[labels[i]] * (0.5 + 0.5 * (i % 7) / 6))
    end
    return x, y
end

local function read_pictures(file)
    if file:find "%.npy$" then
        local x = npy.load(file):to "f32"
        local n = x.shape[1]
        return x:unsqueeze(2), (arange(1, n) > n // 2):to "i64" + 1
    end
    local arrays = npz.load(file)
    if arrays.x == nil or arrays.y == nil then error("expected arrays x and y", 0) end
    local x, y = arrays.x, arrays.y:to "i64"
    if x.ndim < 3 or x.ndim > 4 or y.ndim ~= 1 or #x ~= #y then
        error(("x is %s, y %s (expected n x height x width or n x channels x height x width, \z
            and n labels)"):format(table.concat(x.shape, "x"), table.concat(y.shape, "x")), 0)
    end
    if x.dtype == "u8" then x = x:to "f32" / 255 end
    if x.ndim == 3 then x = x:unsqueeze(2) end
    return x:to "f32", y - y:min() + 1
end

local ok, x, y = true
if opt.data then ok, x, y = pcall(read_pictures, opt.data) else x, y = draw_digits(opt.count) end
if not ok then refuse("--data %s: %s", opt.data, x) end
local classes = y:max():item()
x = (x - x:mean()) / x:std()
local order = randperm(x.shape[1])
local kept = math.max(1, x.shape[1] // 5) -- pictures that are not trained on
local test_x, test_y = x[order:narrow(1, 1, kept)]:to(opt.device),
    y[order:narrow(1, 1, kept)]:to(opt.device)
local rest = order:narrow(1, kept + 1, x.shape[1] - kept)
if opt.batch > #rest then
    refuse("--batch %d: there are %d pictures to train on, and %d kept back", opt.batch, #rest,
        kept)
end

local loader = data.Loader { dataset = data.TensorDataset(x[rest], y[rest]), batch = opt.batch,
    shuffle = true,
    workers = opt.workers, seed = 7, device = opt.device, drop_last = true }

-- ---- the net ----

local function block(from, to)
    return nn.Sequential(nn.Conv2d(from, to, 3, { padding = "same" }), nn.BatchNorm2d(to),
        nn.ReLU(), nn.MaxPool2d(2))
end

local model = nn.Sequential(block(x.shape[2], 16), block(16, 32), nn.AdaptiveAvgPool2d(3),
    nn.Flatten(),
    nn.Dropout(0.3), nn.Linear(32 * 3 * 3, classes)):to(opt.device)
local optimizer = optim.AdamW(model, { lr = 1e-3, weight_decay = 1e-2 })
local steps = #rest // opt.batch
local schedule = optim.lr.OneCycleLR(optimizer, 1e-2,
    { epochs = opt.epochs, steps_per_epoch = steps })

-- Loss and accuracy on the pictures that were kept back.
local function judge()
    model:eval()
    local _ <close> = no_grad()
    local out = forward(model, test_x)
    local loss = cross_entropy(out:float(), test_y):item()
    local right = (out:argmax(2) == test_y):sum():item()
    model:train()
    return loss, right
end

local function train_epoch(bar)
    local total = zeros({}, { device = opt.device })
    for _, px, py in loader() do
        optimizer:zero_grad()
        local loss = forward(function() return cross_entropy(model(px), py) end)
        scaler:scale(loss):backward()
        scaler:unscale_(optimizer)
        optim.clip_grad_norm_(model, 5.0)
        scaler:step(optimizer)
        scaler:update()
        schedule:step()
        total:add_(loss:detach())
        bar:step()
    end
    return (total / steps):item() -- the epoch's only wait
end

-- ---- the run ----

local history, first = {}, 1
local objects = { model = model, optimizer = optimizer, schedule = schedule }
if scaler:is_enabled() then objects.scaler = scaler end
if opt.resume then
    local ok, saved = pcall(checkpoint.load, opt.checkpoint, objects)
    if not ok then refuse("--checkpoint: %s", saved) end
    if saved.epochs ~= opt.epochs then
        refuse("--epochs %d: the rate was planned for %d epochs", opt.epochs, saved.epochs)
    end
    history, first, loader.epoch = saved.history, saved.epoch + 1, saved.passes
    print(("resumed after epoch %d"):format(saved.epoch))
end
local numbers = 0
for _, p in ipairs(model:parameters()) do numbers = numbers + p:numel() end
say(("%d pictures of %d kinds, %d kept back; %d parameters on %s%s"):format(
    x.shape[1], classes, kept, numbers, opt.device, label))
local bar <close> = progress(math.max(0, opt.epochs - first + 1) * steps, "training")
for epoch = first, opt.epochs do
    local loss = train_epoch(bar)
    local test_loss, right = judge()
    history[epoch] = { loss, test_loss, right }
    bar:clear()
    print(("epoch %2d  loss %.4f  kept back: loss %.4f, %5.1f %% right"):format(
        epoch, loss, test_loss,
        100 * right / kept))
    if opt.checkpoint then
        local all = { epoch = epoch, passes = loader.epoch, epochs = opt.epochs,
            history = history }
        for name, object in pairs(objects) do all[name] = object end
        checkpoint.save(opt.checkpoint, all)
    end
    if epoch == opt.stop then break end
end
bar:done()

-- ---- results ----

-- The two losses as lines of text: * in training, o on the pictures kept back.
local function text_plot(rows)
    local most = 0
    for _, h in ipairs(history) do most = math.max(most, h[1], h[2]) end
    for r = rows, 1, -1 do
        local line = {}
        for i, h in ipairs(history) do
            local function here(v) return math.max(1, math.ceil(v / most * rows)) == r end
            line[i] = here(h[1]) and "*" or here(h[2]) and "o" or " "
        end
        print(("%8.3f |%s"):format(most * r / rows, table.concat(line, " ")))
    end
    print((" "):rep(9) .. "+" .. ("-"):rep(2 * #history) .. " epochs; * learning, o kept back")
end

-- The same as a picture.
local function picture(file)
    local learning, others, epochs = {}, {}, {}
    for i, h in ipairs(history) do epochs[i], learning[i], others[i] = i, h[1], h[2] end
    plot{epochs, learning, others, title = "loss", xlabel = "epoch",
        legend = { "learning", "kept back" }, png = file}
end

-- What follows from the losses: whether more epochs could help, or fewer would have done.
local function tell_losses(say)
    local best, last = 1, #history
    for i, h in ipairs(history) do if h[2] < history[best][2] then best = i end end
    local lowest, now = history[best][2], history[last][2]
    if last < 3 then return say "losses: too few epochs to conclude anything" end
    if now > 1.05 * lowest and history[last][1] < history[best][1] then
        return say(("losses: overfitting: kept back the loss rose from %.4f in epoch %d to %.4f, \z
            while learning went on; the model of that epoch is the better one"):format(lowest, best,
            now))
    end
    if lowest < 0.95 * history[last - 2][2] and last - best < 2 then
        return say(("losses: still falling, from %.4f to %.4f in the last two epochs: more epochs \z
            should help"):format(history[last - 2][2], lowest))
    end
    say(("losses: level, at %.4f kept back: more epochs change little"):format(now))
end

-- What the share says of other pictures of the kind, by Wilson's interval for n of them.
local function tell_share(say, share, n)
    local z <const> = 1.96 -- of 95 %
    local middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    local half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ^ 2) / (1 + z * z / n)
    local low, high, wanted = middle - half, middle + half, opt.accuracy / 100
    say(("accuracy: %.1f to %.1f %% of other such pictures, at 95 %% confidence: %d %% is %s")
        :format(100 * low, 100 * high, opt.accuracy, low >= wanted and "clearly reached"
        or high < wanted and "clearly missed" or "neither clearly reached nor missed by so few"))
end

if #history > 0 then
    text_plot(10)
    if opt.plot then picture(opt.plot) end
    local share = 100 * history[#history][3] / kept
    local shown = math.floor(share * 10 + 1e-9) / 10 -- rounded down: 89.96 is not 90
    loader:report()
    print(("accuracy %.1f %% on %d pictures kept back; %d %% wanted: %s"):format(
        shown, kept, opt.accuracy,
        share >= opt.accuracy and "reached" or "not reached"))
    print "== result =="
    tell_losses(say)
    tell_share(say, share / 100, kept)
    say("loader: " .. loader:report({ print = false }).verdict)
    if share < opt.accuracy and #history == opt.epochs then os.exit(false, true) end
end
