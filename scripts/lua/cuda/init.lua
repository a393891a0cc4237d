--!plain
-- The table `cuda`: the GPUs, their memory, waiting for them; PyTorch's names. Loaded on first use.
-- `device` is "cuda" by default; memory_summary and the others take any device, "sim" too.
local require = ...
local gpush, cuda, declared = require "gpush", require "cuda", require "declared"
local raise = require "raise"

local function gib(bytes) return ("%.2f GiB"):format(bytes / 2 ^ 30) end
local function mib(bytes)
    return bytes < 2 ^ 30 and ("%.1f MiB"):format(bytes / 2 ^ 20) or gib(bytes)
end

-- The list of cuda.devices, the reason why it is empty, and the position of the one that "cuda" is.
local function described_cards()
    local list, why, own = gpush.devices "cuda"
    for i, text in ipairs(list) do
        local name, model, capability,
            memory = text:match "^([^,]+), (.*), compute capability ([%d.]+), (.*)$"
        list[i] = { name = name, model = model, capability = capability, memory = memory }
    end
    return list, why, own
end

-- The GPUs of this machine, a table each: name ("cuda:0"), model, capability ("9.0"), memory
-- (text); if there is none, also the reason.
function cuda.devices()
    local list, why = described_cards()
    return list, why
end

function cuda.device_count() return #cuda.devices() end

-- Whether there is a usable GPU. If not, also the reason.
function cuda.is_available()
    local list, why = cuda.devices()
    return #list > 0, why
end

local function described(device, fn)
    local name = (device or "cuda"):gsub("^gpu%f[:\0]", "cuda")
    local list, _, own = described_cards()
    if name == "cuda" and list[own] then return list[own] end
    for _, d in ipairs(list) do
        if d.name == name then return d end
    end
    -- of cpu and sim there is nothing to say; of others why, with what to write instead
    local known, why = pcall(gpush.memory, name)
    raise("%s: '%s' is no CUDA device%s", fn, device or "cuda",
        known and "" or ": " .. (why:match "memory: (.*)" or why))
end
function cuda.get_device_name(device) return described(device, "cuda.get_device_name").model end
function cuda.get_device_capability(device)
    local major,
        minor = described(device, "cuda.get_device_capability").capability:match "(%d+)%.(%d+)"
    return math.tointeger(major), math.tointeger(minor)
end

function cuda.synchronize(device) return gpush.synchronize(device or "cuda") end
function cuda.empty_cache(device) return gpush.empty_cache(device or "cuda") end
function cuda.current_stream(device) return gpush.current_stream(device or "cuda") end
function cuda.stream(device) return gpush.stream(device or "cuda") end

-- ---- settings of NVIDIA's libraries ----

-- Each returns the setting, after changing it if `on` is given. Assignments to them, as in
-- PyTorch's cudnn.benchmark = True, are errors.
local settings = {}
local meta = getmetatable(cuda)
meta.__index = settings
function meta.__newindex(t, name, value)
    if settings[name] then require "assigned"("cuda", name, value) end
    rawset(t, name, value)
end

-- Products and convolutions of f32 in TF32: ten bits of each factor's mantissa. Initially off.
function settings.tf32(on) return gpush.cuda_setting("tf32", on) end
-- Only deterministic algorithms. Initially on.
function settings.deterministic(on) return gpush.cuda_setting("deterministic", on) end
-- Convolutions choose their algorithm by measuring at the first use of a shape, which waits for the
-- device. Initially off.
function settings.benchmark(on) return gpush.cuda_setting("benchmark", on) end

local drivers = { [0] = "auto", "jacobi", "gesvd", "gesvdj", "gesvdjBatched",
    "gesvdaStridedBatched", "cpu" }
local asked = { auto = 0, gesvd = 2, gesvdj = 3, gesvda = 5 }

-- The driver of linalg.svd: initially "auto" (by the shape, as cuda.linalg_routes says), or
-- PyTorch's "gesvd", "gesvdj" (many small ones: gesvdjBatched) or "gesvda" (approximate, for tall
-- matrices, and without full_matrices). Sets it if a name is given; returns it, and the driver of
-- the last singular value decomposition.
function settings.svd_driver(name)
    if name ~= nil and not asked[name] then
        raise("cuda.svd_driver: no driver '%s' (expected 'auto', 'gesvd', 'gesvdj' or 'gesvda')",
            name)
    end
    local chosen = gpush.cuda_setting("svd_driver", asked[name] or -1)
    local used = gpush.cuda_setting("svd_used", -1)
    return chosen == 5 and "gesvda" or drivers[chosen], used > 0 and drivers[used] or nil
end

-- The table by which svd, svdvals, eigh, qr, solve and LU choose their routines by shape: puts that
-- of the file in force, such as scripts/dev/gpu/svd_table.lua writes for a card; "built-in": the
-- one that gpush was built with. Returns where the one in force is from, how many rows it has, and
-- the routine that was chosen last.
function settings.linalg_routes(file)
    local text
    if file == "built-in" then
        text = ""
    elseif file then
        local f <close>, why = io.open(file)
        if not f then raise("cuda.linalg_routes: cannot open %s", why) end
        text = f:read "a"
        if not text or text == "" then raise("cuda.linalg_routes: %s is empty", file) end
    end
    local ok, rows, source, used = pcall(gpush.cuda_routes, text)
    if ok then return source, rows, used end
    raise("cuda.linalg_routes: %s%s", file and file ~= "built-in" and file .. ": " or "",
        (tostring(rows):gsub("^.-linalg_routes: ", "", 1)))
end

-- ---- memory ----

-- What gpush's own function gives; its errors bear the name by which it was called.
local function ask(name, device, own)
    local ok, result = pcall(gpush[own or "memory"], device or "cuda")
    if ok then return result end
    raise("cuda.%s: %s", name, (tostring(result):gsub("^.-" .. (own or "memory") .. ": ", "", 1)))
end
function cuda.memory_stats(device) return ask("memory_stats", device) end
function cuda.memory_allocated(device) return ask("memory_allocated", device).in_use end
function cuda.max_memory_allocated(device) return ask("max_memory_allocated", device).peak end
function cuda.memory_reserved(device)
    local m = ask("memory_reserved", device)
    return m.in_use + m.cached
end
function cuda.reset_peak_memory_stats(device)
    return ask("reset_peak_memory_stats", device, "reset_peak")
end

-- The state of the device's allocator as text: bytes in use, their peak, cached bytes, the limit,
-- and counts.
function cuda.memory_summary(device)
    local m = ask("memory_summary", device)
    local function row(name, value, what) return ("%-12s %12s   %s"):format(name, value, what) end
    return table.concat({
        row("in use", mib(m.in_use), "in live tensors, and the workspace of kernels"),
        row("peak", mib(m.peak), "the most that was in use"),
        row("cached", mib(m.cached), "freed, and kept for the next tensors"),
        row("limit", m.limit > 0 and mib(m.limit) or "none known", "what others leave of it"),
        row("allocations", m.allocations, "blocks handed out"),
        row("reused", m.reused, "of these from the cache, without a device call"),
        row("flushes", m.flushes, "times the cache was freed"),
    }, "\n")
end

-- A kernel in CUDA C or C++, and several of one text.
function cuda.kernel(...) return require "kernel.cuda".kernel(...) end
function cuda.module(...) return require "kernel.cuda".module(...) end

declared(cuda, "cuda.", { kernel = "text source, text? name, bool check=true",
    module = "text source, list? names, bool check=true" })
declared(cuda, "cuda.",
    { devices = "", device_count = "", is_available = "" })
declared(settings, "cuda.", { tf32 = "bool? on", deterministic = "bool? on",
    benchmark = "bool? on", svd_driver = "text? name", linalg_routes = "text? file" })
for _, name in ipairs { "get_device_name", "get_device_capability", "synchronize", "empty_cache",
    "current_stream", "stream",
    "memory_stats", "memory_allocated", "max_memory_allocated", "memory_reserved",
    "reset_peak_memory_stats",
    "memory_summary" } do
    declared(cuda, "cuda.", { [name] = "text? device" })
end
