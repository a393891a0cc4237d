-- Runs programs of all kinds in random order for a time, and prints how often, and how memory
-- went: soak.lua SECONDS [SEED], in a folder of its own (scripts/dev/soak). Each must give what it
-- gave at first, and memory, threads, open files and what devices hold must not grow. The programs
-- are those of tests/support/faults/programs.lua and the larger ones below.
local seconds, seed = tonumber(arg[1]), tonumber(arg[2] or 1)
local programs = require "programs"

-- A classifier of noisy pictures, trained on a device with a loader's workers under the profiler,
-- saved and resumed.
local function train_on(device)
    manual_seed(3)
    local label = arange(0, 63) % 4 + 1
    local picture = randn(64, 1, 8, 8) * 0.1
    for i = 1, 64 do picture[i][1][label[i]:item() * 2] = 1 end
    local model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
    model:to(device)
    local optimizer = optim.AdamW(model:parameters(), { lr = 0.01 })
    local set = data.TensorDataset(picture, label)
    local last
    local prof = profile.run({ memory = true, shapes = true }, function()
        for _ = 1, 3 do
            for _, x, y in data.Loader(set, { batch = 16, workers = 2 })() do
                optimizer:zero_grad()
                last = cross_entropy(model(x:to(device)), y:to(device))
                last:backward()
                optimizer:step()
            end
        end
    end)
    local rows = #prof:rows()
    prof:trace "soak.json.gz"
    prof:report "soak.html"
    checkpoint.save("soak.safetensors", { model = model, optimizer = optimizer, epochs = 3 },
        { rng = true })
    local resumed = checkpoint.load("soak.safetensors", { model = model, optimizer = optimizer })
    return ("%.4f %s %s"):format(last:item(), rows > 5, resumed.epochs)
end
function programs.train_cpu() return train_on "cpu" end
function programs.train_sim() return train_on "sim" end
-- Errors of every layer: raised, caught, and forgotten.
function programs.errors()
    local texts = {}
    for _, chunk in ipairs {
        "return ones(2, 3):matmul(ones(2, 3))", "return ones(2)[5]", "return zeros(3):foo()",
        "return nn.Linear(3)", "return npy.load 'missing.npy'", "if ones(2) then end",
        "return wait(fork(function() error 'in a fork' end))", "x = = 1", "return json.decode '{'",
        "return ones(3, {device = 'sim'}) + ones(4, {device = 'sim'})",
    } do
        local f, why = load(chunk, "=soak")
        local ok, raised = pcall(f or error, why)
        texts[#texts + 1] = tostring(not ok) .. tostring(raised)
    end
    return table.concat(texts, "\n")
end
function programs.pictures()
    local text = tostring(nn.Linear(2, 3))
    local x = linspace(0, 6, 50)
    imshow(x:sin():reshape(5, 10), { png = "soak.png" })
    return text .. tostring(image.load "soak.png":numel() > 0)
end
-- Blocks of many sizes from several coroutines, some of them abandoned.
function programs.memory()
    local total = 0
    for i = 1, 40 do
        local turn = coroutine.wrap(function()
            local x = full({ i * 1000 }, i, { device = i % 2 == 0 and "sim" or "cpu" })
            coroutine.yield((x:sum() / x:numel()):item())
            coroutine.yield(x * 2)
        end)
        total = total + turn()
    end
    return tostring(total)
end

local function status(name)
    for line in io.lines "/proc/self/status" do
        local value = line:match("^" .. name .. ":%s*(%d+)")
        if value then return tonumber(value) end
    end
end
local function open_files()
    local pipe <close> = io.popen "ls /proc/$PPID/fd | wc -l"
    return tonumber(pipe:read "a")
end

local names, want, runs = {}, {}, {}
for name, program in pairs(programs) do
    if type(program) == "function" then names[#names + 1] = name end
end
table.sort(names)
for _, name in ipairs(names) do want[name], runs[name] = programs[name](), 0 end
math.randomseed(seed)

local bad, rounds = 0, 0
local function round()
    for i = #names, 2, -1 do
        local j = math.random(i)
        names[i], names[j] = names[j], names[i]
    end
    for _, name in ipairs(names) do
        local ok, got = pcall(programs[name])
        runs[name] = runs[name] + 1
        if not ok or got ~= want[name] then
            bad = bad + 1
            print(("BAD %s, run %d: %s"):format(name, runs[name], tostring(got)))
        end
    end
    rounds = rounds + 1
end
-- The programs share a model, and keep the last one's: it is the same one at each measurement.
local function measure()
    programs.train()
    collectgarbage()
    collectgarbage()
    synchronize()
    local held = {}
    for _, device in ipairs { "cpu", "sim" } do held[device] = memory(device).in_use end
    return { rss = status "VmRSS", threads = status "Threads", files = open_files(),
        lua = collectgarbage "count", cpu = held.cpu, sim = held.sim }
end

-- Seconds; what is queued ends first, or os.time warns that it is not in it.
local function now()
    synchronize()
    return os.time()
end
-- What a session keeps once (pools, caches) is there after a tenth of the time.
local start = now()
repeat round() until now() - start > seconds / 10 and rounds >= 5
local first, before = measure(), rounds
repeat round() until now() - start > seconds and rounds >= 2 * before
local last = measure()
-- threads: fork opens up to 8 streams on a device, when those that it has are busy. files: a few
-- are opened once, at a first use that may come late.
local LIMIT = { rss = 16384, threads = 8, files = 2, lua = 256, cpu = 0, sim = 0 }
for what, limit in pairs(LIMIT) do
    if last[what] - first[what] > limit then
        bad = bad + 1
        print(("BAD %s grew from %d to %d"):format(what, first[what], last[what]))
    end
end
print(("%d rounds of %d programs in %d s; resident %.0f to %.0f MiB, Lua %.0f to %.0f KiB, " ..
    "%d threads, %d files; %d bad"):format(rounds, #names, now() - start, first.rss / 1024,
    last.rss / 1024, first.lua, last.lua, last.threads, last.files, bad))
os.exit(bad == 0, true)
