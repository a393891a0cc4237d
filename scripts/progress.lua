--!plain
-- progress: a bar on stderr for loops, drawn on a terminal only. for i in progress(n, text) do … end, for
-- step, x, y in progress(loader) do … end, for i, v in progress(list) do … end, or bar = progress(n, text);
-- bar:step(note), bar:clear(), bar:done().
local gpush = ...
local WIDTH, EVERY = 30, 0.1 -- cells; seconds between two pictures

local Bar = {}
Bar.__index = Bar

local function clock(seconds)
    seconds = math.floor(seconds + 0.5)
    if seconds >= 3600 then return ("%d:%02d:%02d"):format(seconds // 3600, seconds // 60 % 60, seconds % 60) end
    return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

-- One line: text, bar, count, time gone and time left.
function Bar:line(now)
    local part = self.total > 0 and math.min(self.at / self.total, 1) or 1
    local full = math.floor(part * WIDTH)
    local gone = now - self.began
    local left = self.at > 0 and gone / self.at * (self.total - self.at) or nil
    local bar = ("#"):rep(full) .. ("."):rep(WIDTH - full)
    local line = ("%s[%s] %d/%d %s%s%s"):format(self.text and self.text .. " " or "", bar, self.at, self.total, clock(gone),
        left and ", " .. clock(left) .. " left" or "", self.note and "  " .. self.note or "")
    return (line:gsub("\xc2[\x80-\x9f]", "?"):gsub("%c", "?"))
end

function Bar:draw(force)
    local now = gpush.clock()
    if not self.shown or (not force and now - self.drawn < EVERY) then return end
    self.drawn = now
    self.out:write("\r\27[K", self:line(now))
    self.out:flush()
end

-- One more is done; note, if given, stands behind the bar from now on.
function Bar:step(note)
    self.at = self.at + 1
    if note ~= nil then self.note = tostring(note) end
    self:draw(self.at == self.total)
end

-- Takes the bar away until the next step, for lines of text between.
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

-- The loop's next values: those of the iterator that the bar goes along with, or 1 to n.
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

-- What there is to go along: a loader, or another table that is called for a loop and has a length; a list.
local function loop_of(what)
    local meta = type(what) == "table" and getmetatable(what)
    if meta and meta.__call then return #what, what() end
    if type(what) == "table" then return #what, ipairs(what) end
    if math.type(what) == nil or what < 0 then
        error(("progress: argument 'total' (#1): expected a number of steps, a loader or a list, got %s"):format(
            tostring(what)), 3)
    end
    return what
end

return function(what, text)
    local total, each, state, control, closing = loop_of(what)
    local now = gpush.clock()
    local bar = setmetatable({ total = total, text = text, at = 0, began = now, drawn = -1, out = io.stderr,
        each = each, state = state, closing = closing, shown = gpush.is_terminal(io.stderr) }, Bar)
    bar:draw(true)
    return bar, nil, control, bar
end
