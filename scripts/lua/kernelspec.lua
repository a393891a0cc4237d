--!plain
-- gpush kernel install: writes the kernelspec, by which Jupyter knows how to start gpush's kernel.
local require = ...
local gpush, registry = require "gpush", require "registry"
local fit = require "fit"

-- The folder that holds Jupyter's kernels: of an environment, or this user's, where jupyter_core
-- looks for it.
local function folder_of(given)
    if given["--prefix"] then return given["--prefix"] .. "/share/jupyter/kernels" end
    local data, xdg = os.getenv "JUPYTER_DATA_DIR", os.getenv "XDG_DATA_HOME"
    local home = os.getenv "HOME"
    if data and data ~= "" then return data .. "/kernels" end
    if xdg and xdg ~= "" then return xdg .. "/jupyter/kernels" end
    return home and home .. "/.local/share/jupyter/kernels"
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function spec(given)
    local argv = { registry["gpush.program"] }
    if given["--card"] then argv[2], argv[3] = "--card", given["--card"] end
    for _, word in ipairs { "kernel", "--connection", "{connection_file}" } do
        argv[#argv + 1] = word
    end
    local card = given["--card"] and gpush.sim.cards()[given["--card"]].name
    return { argv = argv, language = "lua", interrupt_mode = "message",
        display_name = card and ("gpush (%s, modelled)"):format(card) or "gpush" }
end

return function(command, given)
    local name, folder = given["--name"] or "gpush", folder_of(given)
    if not name:find "^[%w._-]+$" or name:find "^%." then
        return command.refuse("--name: expected letters, digits, - and _, got '%s'", name)
    end
    if not folder then return command.refuse "there is no HOME; say --prefix" end
    if given["--user"] and given["--prefix"] then
        return command.refuse "--user and --prefix: one of them"
    end
    folder = folder .. "/" .. name
    if not os.execute("mkdir -p " .. quoted(folder)) then
        return command.files("cannot make " .. folder)
    end
    local ok, message = pcall(require "save", "kernel", folder .. "/kernel.json",
        gpush.json.encode(spec(given)) .. "\n")
    if not ok then return command.files(message) end
    print(("the kernel '%s' is in %s"):format(name, fit.safe(folder)))
    return true
end
