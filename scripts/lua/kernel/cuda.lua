--!plain
-- cuda.kernel: kernels in CUDA C. On cpu and sim they are compiled by GCC and run by fibers
-- (kernels/common/simt), checked unless that is turned off.
local require = ...
local gpush, fail, registry = require "gpush", require "fail", require "registry"
local prototype, source = require "kernel.prototype", require "source"
local is_tensor, simt = gpush.is_tensor, registry["gpush.simt"]

local BLOCK <const>, GRID_X <const>, GRID_YZ <const> = 1024, 2147483647, 65535
local SHARED <const> = 227 * 1024

-- ---- where the text stands ----

-- The first line of the text in the chunk that runs, and the chunk's name; nil where it isn't found
-- there, or is there twice.
local function place_of(text)
    for level = 3, 12 do
        local info = debug.getinfo(level, "S")
        if not info then return nil end
        local chunk = info.what ~= "C" and source.text(info.source)
        local at = chunk and chunk:find(text, 1, true)
        if at and not chunk:find(text, at + 1, true) then
            return info.short_src, prototype.line_of(chunk, at)
        end
    end
end

local function shown_place(kernel, line)
    return kernel.file and ("%s:%d"):format(kernel.file, kernel.line + line - 1)
        or "line " .. line
end

-- ---- compiling ----

-- What the C compiler says: each error with the user's line, the line itself and a caret.
local function errors_of(kernel, log)
    local list = {}
    for line, column, message in log:gmatch "kernel:(%d+):(%d+): error: ([^\n]*)" do
        line = math.tointeger(line)
        local text = source.line(kernel.source, line) or ""
        local at = kernel.read.column(line, math.tointeger(column))
        list[#list + 1] = ("%s: %s\n    %s\n    %s^"):format(shown_place(kernel, line), message,
            text, text:sub(1, at - 1):gsub("[^\t]", " "))
        if #list == 3 then break end
    end
    if #list == 0 then return log:match "error: [^\n]*" or log:match "[^\n]+" or "no reason" end
    return table.concat(list, "\n")
end

-- The function that the program calls, with the addresses of the arguments.
local function entry(kernel)
    local args = {}
    for k, p in ipairs(kernel.params) do
        args[k] = p.pointer and ("*(void **)a[%d]"):format(k - 1)
            or ("*(%s *)a[%d]"):format(p.text:gsub("^const ", ""), k - 1)
    end
    local text = "\n#line 1 \"entry\"\nGP_SHOWN void gp_entry(void **a) { %s(%s); }\n"
    return text:format(kernel.name, table.concat(args, ", "))
end

local function build(kernel, checked)
    local known = kernel.built[checked]
    if known then return known end
    local source_of = { name = kernel.name, file = kernel.file, line = kernel.line,
        checked = checked, text = "#line 1 \"kernel\"\n" .. kernel.read.text .. entry(kernel) }
    table.move(kernel.params, 1, #kernel.params, 1, source_of)
    local number, shared = simt.build(source_of)
    if not number then
        fail("%s: the C compiler refuses the kernel: %s", kernel.name, errors_of(kernel, shared))
    end
    kernel.built[checked], kernel.shared = number, shared
    return number
end

-- ---- calls ----

local function whole(kernel, what, v, most)
    if math.type(v) ~= "integer" or v < 1 or v > most then
        fail("%s: %s: expected an integer from 1 to %d, got %s", kernel.name, what, most,
            tostring(v))
    end
    return v
end

-- Three sizes from a number or {x, y, z}.
local function three(kernel, what, v, x, y, z)
    if type(v) == "number" then return whole(kernel, what, v, x), 1, 1 end
    if type(v) ~= "table" or is_tensor(v) or #v < 1 or #v > 3 then
        fail("%s: %s: expected a number or {x, y, z}, got %s", kernel.name, what,
            is_tensor(v) and "a tensor" or v == nil and "nothing" or tostring(v))
    end
    return whole(kernel, what .. "'s x", v[1], x), whole(kernel, what .. "'s y", v[2] or 1, y),
        whole(kernel, what .. "'s z", v[3] or 1, z)
end

local KNOWN <const> = { shared = true, check = true }

local function options_of(kernel, options)
    for key in pairs(options) do
        if not KNOWN[key] then
            fail("%s: unknown option '%s' (expected shared or check)", kernel.name, tostring(key))
        end
    end
    local shared, check = options.shared or 0, options.check
    if math.type(shared) ~= "integer" or shared < 0 or shared + kernel.shared > SHARED then
        fail("%s: option 'shared': expected bytes from 0 to %d, got %s", kernel.name,
            SHARED - kernel.shared, tostring(shared))
    end
    if check == nil then check = kernel.check end
    return shared, check and true or false
end

local function launch(kernel, grid, block, ...)
    local n = select("#", ...)
    local last = n > 0 and select(n, ...)
    local bx, by, bz = three(kernel, "block", block, BLOCK, BLOCK, 64)
    local gx, gy, gz = three(kernel, "grid", grid, GRID_X, GRID_YZ, GRID_YZ)
    if bx * by * bz > BLOCK then
        fail("%s: block: %d threads (expected at most %d)", kernel.name, bx * by * bz, BLOCK)
    end
    if type(last) ~= "table" or is_tensor(last) then
        return simt.launch(build(kernel, kernel.check), gx, gy, gz, bx, by, bz, 0, ...)
    end
    local args = table.pack(...)
    local shared, check = options_of(kernel, last)
    return simt.launch(build(kernel, check), gx, gy, gz, bx, by, bz, shared,
        table.unpack(args, 1, n - 1))
end

-- A launch with a thread for each of n elements, in blocks of 256.
local function over(kernel, n)
    if is_tensor(n) then n = n:numel() end
    whole(kernel, "over", n, GRID_X)
    local block = math.min(256, (n + 31) // 32 * 32)
    return function(...) return launch(kernel, (n + block - 1) // block, block, ...) end
end

-- ---- making one ----

local function shown(kernel)
    local params = {}
    for k, p in ipairs(kernel.params) do
        params[k] = p.text .. (p.pointer and "" or " ") .. p.name
    end
    return ("kernel %s(%s): %d B of static shared memory%s, %s"):format(kernel.name,
        table.concat(params, ", "), kernel.shared,
        kernel.read.dynamic and ", more by {shared = bytes}" or "",
        kernel.check and "checked" or "unchecked")
end

local METHODS <const> = { over = over }

-- What users hold.
local function object(kernel)
    local methods = {}
    for name, fn in pairs(METHODS) do
        methods[name] = function(_, ...) return fn(kernel, ...) end
    end
    return setmetatable({}, { __name = "kernel", __help = shown(kernel),
        __call = function(_, ...) return launch(kernel, ...) end,
        __tostring = function() return shown(kernel) end,
        __index = function(_, key)
            if methods[key] then return methods[key] end
            fail("a kernel has no '%s'; call it, as in k(grid, block, x, n) or k:over(n)(x)",
                tostring(key))
        end })
end

local function choose(read, name)
    local names = {}
    for k, kernel in ipairs(read.kernels) do
        if kernel.name == name or (name == nil and #read.kernels == 1) then return kernel end
        names[k] = kernel.name
    end
    if #names == 0 then fail("cuda.kernel: the text has no __global__ function with a body") end
    table.sort(names)
    if name == nil then
        fail("cuda.kernel: argument 'name': expected one of %s", table.concat(names, ", "))
    end
    fail("cuda.kernel: the text has no kernel '%s' (it has %s)", name, table.concat(names, ", "))
end

local function kernel(text, name, check)
    local read = prototype.read(text, "cuda.kernel")
    local found = choose(read, name)
    local file, line = place_of(text)
    local k = { name = found.name, params = found.params, read = read, source = text,
        file = file, line = line, check = check, built = {}, shared = 0 }
    build(k, check)
    return object(k)
end

return { kernel = kernel }
