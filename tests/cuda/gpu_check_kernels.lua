-- The list of kernels that scripts/dev/gpu-check gives to compute-sanitizer, on the stand-in for
-- CUDA: each call launches the kernels that its row names, by the addresses that the stand-in was
-- given and the plug-in's symbols, and every kernel in the sources has a row.
local t = require "tap"
local fake = require "fake" -- not for a card
if (os.getenv "GPUSH_SAN" or "") ~= "" then t.skip_all "the kernels' own tests are sanitised" end
local root = os.getenv "GPUSH_ROOT"

local function lines(command)
    local p <close> = assert(io.popen(command))
    return p:read "a":gmatch "[^\n]+"
end

-- The kernels in the sources: "file.cu name" or "file.cuh name".
local sources = {}
for path in lines("find " .. root .. "/kernels/cuda -name '*.cu' -o -name '*.cuh'") do
    local f <close> = assert(io.open(path))
    local text = f:read "a":gsub("/%*.-%*/", ""):gsub("__launch_bounds__%s*%b()", "")
    for name in text:gmatch "__global__[^(;]-([%w_]+)%s*%(" do
        sources[path:match "kernels/cuda/(.*)$" .. " " .. name] = true
    end
end

-- What lies where in the plug-in: its symbols follow the name of their source file.
local at
local function symbols(path)
    local file, found = nil, {}
    for line in lines("nm -apC '" .. path .. "' 2>/dev/null") do
        local address, kind, name = line:match "^(%x+) (%a) (.*)$"
        if kind == "a" then file = name
        elseif kind and kind:find "[tTwW]" then
            name = name:gsub("%(anonymous namespace%)::", ""):gsub("^void ", "")
            found[tonumber(address, 16)] = file .. " " .. name:match "^[%w_]*"
        end
    end
    return found
end

-- The kernels that were launched since the last call, as a set of "file.cu name".
local function launched()
    synchronize "cuda"
    local places, path = fake.kernels()
    at = at or next(places) and symbols(path)
    local names = {}
    for _, place in ipairs(places) do names[at[place] or "unknown"] = true end
    return names
end

local rows, others = assert(loadfile(root .. "/scripts/dev/gpu/kernels.lua"))("cuda")
manual_seed(1)
local listed = {}
local _ = ones(3, { device = "cuda" })
launched()
if not next(at or {}) then t.skip_all "no nm, or a plug-in without symbols" end
for _, row in ipairs(rows) do
    local file, names, call = table.unpack(row)
    local ok, why = pcall(call)
    local got, missing = launched(), {}
    for name in names:gmatch "%S+" do
        listed[file .. " " .. name], listed[name] = true, true
        if not got[file:match "[^/]+$" .. " " .. name] then missing[#missing + 1] = name end
    end
    t.is({ ok or why, table.unpack(missing) }, { true }, file .. ": " .. names)
    collectgarbage()
end

local without = {}
for kernel in pairs(sources) do
    local name = kernel:find "%.cuh " and kernel:match "%S+$" or kernel
    if not listed[name] and not others[kernel] then without[#without + 1] = kernel end
end
t.is(without, {}, "every kernel has a row")
for kernel in pairs(others) do t.ok(sources[kernel], kernel .. " is a kernel") end
t.ok(next(sources) ~= nil, "kernels were found in the sources")
t.done()
