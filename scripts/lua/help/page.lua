--!plain
-- The page that help prints: lines no wider than the terminal, or than 80 columns.
local require = ...
local gpush, registry = require "gpush", require "registry"
local page = {}

-- Everything is printed at once, at the end.
local lines
local function print(s) lines[#lines + 1] = s end
local function put(fmt, ...) print((fmt:format(...))) end

-- Of several lines, as a terminal may show it.
local function plain(s) return registry["gpush.safe"](s, true) end

-- The terminal's columns, or 80.
local function terminal() return gpush.terminal and gpush.terminal() or 80 end

-- The width of a line: readable, and within the terminal's.
local function columns() return math.min(terminal(), 80) - 2 end

local function wrapped(text, indent)
    local line, most = indent, columns()
    for word in text:gmatch "%S+" do
        if #line + #word > most and line ~= indent then
            print((line:gsub("%s+$", "")))
            line = indent
        end
        line = line .. word .. " "
    end
    print((line:gsub("%s+$", "")))
end

-- Prints a call, or a line of code; one wider than a line goes on in further lines, broken after a
-- comma, or else before a word.
function page.call(text, indent)
    indent = indent or ""
    local line, most, room = indent, columns(), #indent + 8
    if text:find "\n" then return print(text) end
    local function go_on(from)
        print((line:sub(1, from):gsub(" $", "")))
        line = indent .. "        " .. line:sub(from + 1)
    end
    for part in text:gmatch "[^ ]+ ?" do
        if #line > room and utf8.len(line .. part:gsub(" $", "")) > most then
            local comma = line:match "^.*, ()"
            go_on(comma and comma > room and comma - 1 or #line)
        end
        line = line .. part
    end
    print(line)
end

function page.start() lines = {} end
function page.text() return table.concat(lines, "\n") end
function page.count() return #lines end

page.print, page.put, page.plain, page.wrapped = print, put, plain, wrapped
page.terminal = terminal
return page
