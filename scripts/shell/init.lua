--!plain
-- What the prompt knows beside Lua, read when it is first needed: :commands, ?help, !system, and the showing of tables.
-- Gets the module, what shell/session.c offers, and the folder of the scripts; returns the table that session.c calls.
local gpush, native, dir = ...
local shell = { native = native }

-- scripts/shell/NAME.lua, read at the first use.
local parts = {}
local function part(name)
    parts[name] = parts[name] or assert(loadfile(dir .. "/shell/" .. name .. ".lua", "t"))(gpush, shell, dir)
    return parts[name]
end

function shell.show(v) return part "show" (v, native.columns()) end

-- The global that a dotted name means, without calling anything: nil where there is none.
function shell.find(name)
    local v = _G
    for key in name:gmatch "[^.:]+" do
        if gpush.is_tensor(v) then
            v = debug.getregistry()["gpush.tensor.methods"][key]
        elseif type(v) == "table" then
            local found = rawget(v, key)
            if found == nil and (v == gpush.nn or v == gpush.optim or v == gpush.data) then found = v[key] end
            v = found
        else
            return nil
        end
        if v == nil then return nil end
    end
    return v
end

local function ask(text)
    local help = gpush.help
    local source, name = text:match "^(%??)%s*(.-)%s*$"
    if source == "?" then return gpush.help(name, { source = true }) end
    if name == "" then return help() end
    return help(name)
end

function shell.command(text)
    local mark, rest = text:sub(1, 1), text:sub(2)
    if mark == "?" then return ask(rest) end
    if mark == ":" then return part "commands".run(rest) end
    if mark == "!" then
        local ok, how, code = os.execute(rest)
        if not ok then io.stderr:write(("%s %d\n"):format(how, code)) end
        return
    end
    return ask((text:gsub("%?%s*$", "")))
end

-- What the last line took: seconds until it returned, seconds that devices worked, and waits.
function shell.status(host, device, waits) part "commands".status(host, device, waits) end

return shell
