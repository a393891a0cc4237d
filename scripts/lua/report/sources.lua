--!plain
-- The text of source lines for a page. Files are read once, and only those that can be scripts: a
-- record names files that it did not make, and a page goes to other people.
local require = ...
local source = require "source"
local sources = {}

local LARGEST <const> = 4 << 20 -- bytes of a file

local known = {}

local function is_script(file)
    return (file:find "%.lua$" or arg and file == arg[0]) and not file:find "^/dev/"
        and not file:find "^/proc/"
end

-- All lines of a file, or of typed input ("stdin"); nil where they are unknown.
local function lines_of(file)
    local text = source.text("=" .. file)
    if not text and is_script(file) then
        local f <close> = io.open(file)
        text = f and f:read(LARGEST)
    end
    if not text then return nil end
    local lines = {}
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return lines
end

--- Line n of a file, without its indentation; nil where it is unknown.
function sources.line(file, n)
    if known[file] == nil then known[file] = lines_of(file) or false end
    local line = known[file] and known[file][n]
    line = line and line:match "^%s*(.-)%s*$"
    return line ~= "" and line or nil
end

--- Forgets the files: they may be other ones when the next page is written.
function sources.forget() known = {} end

return sources
