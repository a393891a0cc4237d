--!plain
-- TAP for tests in Lua, under gpush or stock lua5.4: local t = require "tap" ... t.done().
local t = {}
local count, failed = 0, 0

local function diag(...)
    io.stderr:write("#   ", string.format(...):gsub("\n", "\n#   "), "\n")
end

local function report(ok, name)
    count = count + 1
    name = tostring(name or "?"):gsub("[\r\n]+", " ")
    io.stdout:write(ok and "ok " or "not ok ", count, " - ", (name:gsub("[#\\]", "\\%0")), "\n")
    io.stdout:flush()
    if ok then return true end
    failed = failed + 1
    local where = ""
    for level = 3, 5 do -- the first line outside this file
        local info = debug.getinfo(level, "Sl")
        if info and info.currentline > 0 and not info.source:find("tap%.lua$") then
            where = string.format(" (%s:%d)", info.short_src, info.currentline)
            break
        end
    end
    io.stderr:write("# failed ", count, ": ", name, where, "\n")
    return false
end

local function is_tensor(v)
    local ok, method = pcall(function() return type(v) == "userdata" and v.tolist end)
    return ok and type(method) == "function"
end

-- Tensors are compared by their values; everything else is unchanged.
local function values(v)
    return is_tensor(v) and v:tolist() or v
end

local function show(v)
    if type(v) == "number" then
        return string.format(math.type(v) == "integer" and "%d" or "%.17g", v)
    end
    if type(v) == "string" then return string.format("%q", v) end
    if type(v) ~= "table" then return tostring(v) end
    local out = {}
    for i = 1, math.min(#v, 20) do out[i] = show(v[i]) end
    for k, x in pairs(v) do
        if math.type(k) ~= "integer" or k < 1 or k > #v then
            out[#out + 1] = tostring(k) .. "=" .. show(x)
        end
    end
    return "{" .. table.concat(out, ", ") .. (#v > 20 and ", ..." or "") .. "}"
end

-- The path of the first difference, or nil; same(a, b) compares values that are not tables.
local function differs(a, b, same, path)
    if type(a) ~= "table" or type(b) ~= "table" then
        return not same(a, b) and (path == "" and "value" or path) or nil
    end
    for k, v in pairs(b) do
        local d = differs(a[k], v, same, path .. "[" .. tostring(k) .. "]")
        if d then return d end
    end
    for k in pairs(a) do
        if b[k] == nil then return path .. "[" .. tostring(k) .. "]" end
    end
end

local function compare(got, want, same, name)
    local where = differs(got, want, same, "")
    if report(not where, name) then return true end
    diag("got      %s", show(got))
    diag("expected %s", show(want))
    if type(want) == "table" then diag("differ at %s", where) end
    return false
end

-- Asserts that cond is true; a tensor is not a truth value here and fails.
function t.ok(cond, name)
    return report(cond and not is_tensor(cond), name)
end

-- Equal values: numbers by ==, with NaN equal to NaN; tables and tensors element by element; other
-- objects by identity.
function t.is(got, want, name)
    return compare(values(got), values(want), function(a, b)
        return rawequal(a, b)
            or (type(a) == "number" and type(b) == "number" and (a == b or (a ~= a and b ~= b)))
    end, name)
end

-- |got - want| <= tol + tol * |want|, element by element; default tol 1e-6. Equal infinities are
-- close, NaN to NaN.
function t.close(got, want, tol, name)
    if type(tol) == "string" then tol, name = nil, tol end
    tol = tol or 1e-6
    return compare(values(got), values(want), function(a, b)
        if type(a) ~= "number" or type(b) ~= "number" then return rawequal(a, b) end
        return a == b or (a ~= a and b ~= b) or math.abs(a - b) <= tol + tol * math.abs(b)
    end, name)
end

-- fn() must raise a message that matches the Lua pattern.
function t.error(fn, pattern, name)
    local ok, msg = pcall(fn)
    if report(not ok and tostring(msg):find(pattern) ~= nil, name or pattern) then return true end
    if ok then diag("raised nothing") else diag("raised   %s", tostring(msg)) end
    diag("expected %s", pattern)
    return false
end

-- n assertions that cannot be made here; the reason is counted and shown in the summary.
function t.skip(n, why)
    for _ = 1, n do
        count = count + 1
        io.stdout:write("ok ", count, " # SKIP ", (tostring(why):gsub("[\r\n]+", " ")), "\n")
    end
end

-- Instead of any assertion: the whole file cannot run here.
function t.skip_all(why)
    io.stdout:write("1..0 # SKIP ", (tostring(why):gsub("[\r\n]+", " ")), "\n")
    os.exit(0, true)
end

-- Prints the plan and ends the program. A file that made no assertion has failed.
function t.done()
    io.stdout:write("1..", count, "\n")
    os.exit(failed == 0 and count > 0, true)
end

return t
