--!plain
-- The Lua part of the prompt, loaded on first use: :commands, ?help, !system, and showing tables.
-- Returns the table that shell/session.c calls.
local require = ...
local gpush, native = require "gpush", require "shell.native" -- session.c's functions
local shell = { native = native } -- looks_on: another state's session is looked at, and kept

shell.nearest = require "nearest"

-- Words that people type at other prompts.
local words = { ls = "!ls", pwd = "!pwd", who = ":who", whos = ":who", history = ":list",
    clear = "Ctrl-L", cls = "Ctrl-L" }

-- IPython's display, clear_output: as functions of a notebook's, or nil.
function shell.of_notebook(name)
    local notebook = rawget(_G, "notebook")
    return type(notebook) == "table" and rawget(notebook, name) and "notebook." .. name or nil
end

-- What a nil global was probably meant to be, or nil.
function shell.unset(name)
    local shows = shell.of_notebook(name)
    if shows then return shows .. " does that" end
    if words[name] then return words[name] .. " does that at the prompt" end
    local number = require "shell.elsewhere".numbers[name]
    if number then return "Lua writes " .. number end
    local dtype = require "shell.elsewhere".dtypes[name]
    if dtype then return ('a dtype is a string: "%s"'):format(dtype) end
    local names = {}
    for k in next, _G do names[#names + 1] = type(k) == "string" and k or nil end
    local meant = shell.nearest(name, names)
    return meant and ("did you mean %s?"):format(meant)
end

function shell.show(v) return require "shell.show" (v, native.columns()) end

-- Raises an error without the calls that led to it, which are the prompt's own.
function shell.fail(message)
    error(setmetatable({}, { __tostring = function() return message end }), 0)
end

local function ask(text)
    local source, name = text:match "^(%??)%s*(.-)%s*$"
    if name == "" then return gpush.help() end
    if name:find "^:" then return require "shell.commands".run("help " .. name) end
    local ok, message = pcall(gpush.help, name, { source = source == "?" })
    if not ok then shell.fail(tostring(message)) end
end

-- The page of help about a name, or nil; source: its source.
function shell.page(name, source)
    return require "help" (name, source, true)
end

-- Words of other programs for the end and for help, unless they are variables: exit, quit(), help.
local function plain_word(text)
    local word, call = text:match "^%s*(%a+)%s*(%(?)"
    local v = rawget(_G, word)
    if v == nil then return require "shell.commands".run "quit" end
    if call ~= "" then return v() end
    if v == gpush.help then return v() end
    return v
end

-- dbg(expr) as :dbg expr, unless there is such a function.
local function dbg(text)
    local expr = text:match "^dbg%((.*)%)%s*$" -- as session.c saw
    if expr and rawget(_G, "dbg") == nil then
        return require "shell.commands".run("dbg " .. expr)
    end
    return assert(load("return " .. text, "=dbg"))()
end

function shell.command(text)
    if text:find "^dbg%(" then return dbg(text) end
    if text:find "^%s*%a+[%s();]*$" then return plain_word(text) end
    local mark, rest = text:sub(1, 1), text:sub(2)
    if mark == "?" then return ask(rest) end
    if mark == ":" then return require "shell.commands".run(rest) end
    if mark == "%" then return require "shell.commands".magic(text) end
    if mark == "!" then
        rest = rest:gsub("^!", "") -- !!ls of IPython
        local ok, how, code = os.execute(rest)
        if not ok then io.stderr:write(("%s %d\n"):format(how, code)) end
        return
    end
    local name, marks = text:match "^(.-)(%?+)%s*$"
    return ask(marks == "??" and "?" .. name or name)
end

-- Candidates at the end of text: {from = first byte that is replaced, word, …, help =
-- function(word) -> line}.
function shell.complete(text) return require "shell.complete".at_cursor(text) end

-- A suggestion for a message about an unknown name; see hint.lua.
function shell.hint(...) return require "shell.hint" (...) end

-- Hints for text in another language; see foreign.lua. line(typed, value, before) is the translator
-- that every front end asks.
function shell.line(...) return require "shell.foreign".line(...) end
function shell.syntax(...) return require "shell.foreign".syntax(...) end
function shell.block(text) return require "shell.foreign".block(text) end
function shell.constants(text) require "shell.notes"(text) end

-- What :debug shows later of the frames that led to an error.
function shell.keep_frames(...) return require "shell.debug.frames".keep(...) end
function shell.keep_coroutine(...) require "shell.debug.frames".keep_coroutine(...) end

-- What a file is that was to be run and is not Lua; see script.lua.
function shell.script(...) return require "shell.script" (...) end

-- The cost of the last line: seconds until it returned, seconds that devices worked, and waits.
function shell.status(...) require "shell.commands".status(...) end

return shell
