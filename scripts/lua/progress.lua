--!plain
-- progress: a bar on stderr for loops, drawn on a terminal and in a notebook only. for i in
-- progress(n, text) do … end, for step, x, y in progress(loader) do … end, for i, v in
-- progress(list) do … end, or bar = progress(n, text);
-- bar:step(note), bar:clear(), bar:done().
local require = ...
local gpush, declared, fail = require "gpush", require "declared", require "fail"
local registry = require "registry"
local now_of = registry["gpush.clock"] or gpush.clock -- while work is queued
local WIDTH, EVERY = 30, 0.1 -- cells; seconds between two updates

local Bar = {}
Bar.__index = Bar

local function clock(seconds)
    seconds = math.floor(seconds + 0.5)
    if seconds >= 3600 then
        return ("%d:%02d:%02d"):format(seconds // 3600, seconds // 60 % 60, seconds % 60)
    end
    return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

-- Columns that a text takes, and its bytes that fit into that many: a letter that may be wide
-- counts as two.
local function width(s, most)
    local n = 0
    for at, code in utf8.codes(utf8.len(s) and s or s:gsub("[\x80-\xff]", "?")) do
        local wide = code >= 0x1100 and 2 or 1
        if most and n + wide > most then return n, at - 1 end
        n = n + wide
    end
    return n, #s
end

local plain = registry["gpush.safe"]

-- One line, which fits the terminal: text, bar, count, elapsed time and remaining time.
function Bar:line(now)
    local gone, room = now - self.began, (gpush.terminal() or 80) - 1
    local left = self.at > 0 and self.at < self.total and gone / self.at * (self.total - self.at)
    local count = ("] %d/%d %s%s"):format(self.at, self.total, clock(gone),
        left and ", " .. clock(left) .. " left" or "")
    local text, note = self.text and plain(self.text) .. " " or "", self.note and "  " ..
        plain(self.note) or ""
    local cells = math.max(math.min(WIDTH, room - width(text .. "[" .. count .. note)),
        math.min(WIDTH, 8))
    local full = math.floor((self.total > 0 and math.min(self.at / self.total, 1) or 1) * cells)
    text = text:sub(1, (select(2, width(text, math.max(room - cells - #count - 1, 0)))))
    local line = text .. "[" .. ("#"):rep(full) .. ("."):rep(cells - full) .. count .. note
    return line:sub(1, (select(2, width(line, room))))
end

function Bar:draw(force)
    local now = now_of()
    if not self.shown or (not force and now - self.drawn < EVERY) then return end
    self.drawn = now
    self.out:write("\r\27[K", self:line(now))
    self.out:flush()
end

-- Counts one more; note, if given, is shown after the bar from now on.
function Bar:step(note)
    self.at = self.at + 1
    if note ~= nil then self.note = tostring(note) end
    self:draw(self.at == self.total)
end

-- Removes the bar until the next step, for other lines of text.
function Bar:clear()
    if not self.shown then return end
    self.out:write "\r\27[K"
    self.out:flush()
    self.drawn = -1
end

-- Ends the line.
function Bar:done()
    if self.shown and not self.ended then
        self:draw(true)
        self.out:write "\n"
    end
    self.ended = true
end

-- The loop's next values: those of the iterator that the bar follows, or 1 to n.
function Bar:__call(_, control)
    if self.running then self:step() end
    self.running = true
    if self.each then return self:pass(self.each(self.state, control)) end
    if self.at < self.total then return self.at + 1 end
    self:done()
end

function Bar:pass(first, ...)
    if first == nil then self:done() end
    return first, ...
end

-- A loop that ends early leaves the bar where it was.
function Bar:__close()
    local _ <close> = self.closing
    self:done()
end

-- What a bar can follow: a loader, or another table that can be called in a loop and has a length;
-- a list.
local function loop_of(what)
    local meta = type(what) == "table" and getmetatable(what)
    if meta and meta.__call then return #what, what() end
    if type(what) == "table" then return #what, ipairs(what) end
    if not math.tointeger(what) or what < 0 then
        fail("progress: argument 'total' (#1): expected a number of steps, a loader or a list, \z
            got %s", tostring(what))
    end
    return math.tointeger(what)
end

registry["gpush.progress"] = Bar
declared(Bar, "progress.",
    { step = "self progress, any? note", clear = "self progress", done = "self progress",
    draw = "self progress, bool? force", line = "self progress, number now" })

local function progress(what, text)
    local total, each, state, control, closing = loop_of(what)
    local now, own = now_of(), registry["gpush.bar"] -- a notebook's
    local bar = setmetatable({ total = total, text = text, at = 0, began = now, drawn = -1,
        out = own and own() or io.stderr, each = each, state = state, closing = closing,
        shown = own ~= nil or gpush.is_terminal(io.stderr) }, Bar)
    bar:draw(true)
    return bar, nil, control, bar
end

return { progress = progress }
