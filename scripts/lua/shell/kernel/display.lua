--!plain
-- What a cell shows before its end: notebook.display(value), notebook.update_display(value, id) and
-- notebook.clear_output(wait), pictures of plot and imshow, pages of prof:report(), and bars of
-- progress, which are updated in place.
local require = ...
local gpush, native, registry = require "gpush", require "kernel.native", require "registry"
local show, html = require "shell.kernel.show", require "shell.kernel.html"
local json = gpush.json
local display = setmetatable({}, { __help = "What a cell shows before its end. \z
    display(value, [id]) shows a value now; update_display(value, id) puts another in place of \z
    what has that id; clear_output([wait]) clears what the cell has shown, with wait only when \z
    more is shown." })
local made = 0 -- displays with a name of ours

-- Sends data by type, {["image/png"] = base64}; again: in place of an earlier one of that id.
local function send(data, id, again)
    native.send(again and "update_display_data" or "display_data", json.encode { data = data,
        metadata = {}, transient = { display_id = id } })
end

-- The data of a value; raises what its display raised.
local function data_of(...)
    local shown, message = show.values(...)
    return shown and shown.data or error(message, 0)
end

-- The id as text, of what the function of that name was called with; raises in its caller.
local function text_of(name, id, n)
    if n == 0 then error(name .. ": expected a value to show", 3) end
    if type(id) ~= "string" and type(id) ~= "number" then
        error(("%s: argument 'id': expected a string or a number, got %s"):format(name,
            type(id)), 3)
    end
    return native.utf8(tostring(id))
end

-- Shows a value now, under an id if update_display is to replace it.
function display.display(...)
    local value, id = ...
    made = made + 1
    id = text_of("display", id == nil and ("gpush-%d"):format(made) or id, select("#", ...))
    send(data_of(value), id, false)
end

-- Shows the value in place of what was displayed under that id.
function display.update_display(...)
    local value, id = ...
    id = text_of("update_display", id, select("#", ...))
    send(data_of(value), id, true)
end

-- Clears what the cell has shown so far; wait: only when more is shown.
function display.clear_output(wait)
    native.send("clear_output", json.encode { wait = not not wait })
end

-- A picture, as the bytes of a PNG file in base64.
registry["gpush.picture"] = function(base64)
    made = made + 1
    send({ ["image/png"] = base64, ["text/plain"] = "a picture" }, ("gpush-%d"):format(made), false)
end

-- The file that a bar writes its line to: begins with \r, and replaces the last one.
registry["gpush.bar"] = function()
    local id, bar = nil, {}
    function bar:write(...)
        local text = native.utf8(table.concat { ... }):gsub("\r", ""):gsub("\27%[K", "")
        if text == "\n" then return end
        local again = id ~= nil
        if not id then
            made = made + 1
            id = ("gpush-%d"):format(made)
        end
        send({ ["text/plain"] = text }, id, again)
    end
    function bar:flush() end
    return bar
end

-- sync.report() with its table, for :sync, too.
local report = gpush.sync.report
function gpush.sync.report(options)
    if type(options) == "table" and options.print == false then return report(options) end
    local text = native.utf8(report { print = false })
    made = made + 1
    send({ ["text/plain"] = text, ["text/html"] = html.report(text) },
        ("gpush-%d"):format(made), false)
end

-- prof:report() without a file: its page, in a frame that has no access to the notebook around it.
local methods = registry["gpush.profile.methods"]
local write = methods.report
function methods.report(prof, ...)
    if select("#", ...) > 0 or not html.is_profile(prof) then return write(prof, ...) end
    made = made + 1
    send({ ["text/plain"] = "the page of a profile, which prof:report(file) writes",
        ["text/html"] = html.frame(require "report".page(prof)) }, ("gpush-%d"):format(made), false)
end

return display
