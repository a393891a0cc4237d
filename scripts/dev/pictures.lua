--!plain
-- Draws the README's pictures: gpush pictures.lua [FOLDER]. Each is the screen of a real session of
-- the prompt in tmux, as an SVG of text; braille and half blocks are drawn as shapes, so that they
-- look the same in every font.
local to = arg[1] or arg[0]:gsub("[^/]*$", "") .. "../../pictures"
local gpush = arg[-1]
local W, H, SIZE, PAD = 8.4, 18, 14, 12 -- of a cell, of the letters, of the border; pixels
local BACK, FORE = "#1e1e2e", "#cdd6f4"
local palette = { [0] = "#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#cba6f7", "#94e2d5",
    "#bac2de",
    "#7f849c", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#cba6f7", "#94e2d5", "#ffffff" }

-- ---- Sessions: columns, rows, typed text; a string ends with Enter, {text, key} presses another
-- key ----

local sessions = {
    prompt = { 96, 32,
        { 'x = randn(2, 3, {device = "gpu"})', "x", "for i, row in ipairs{x[1], x[2]} do",
        'print(("row %d sums to %.2f"):format(i, row:sum():item()))', "end", "?softmax",
        { "x:cum", "Tab" } } },
    warning = { 112, 13,
        { "sync.warn = true", "x = randn(512, 512, {device = \"gpu\"})", "for step = 1, 3 do",
        "x = (x:matmul(x) / 512):tanh()", 'if x:abs():max() > 1 then print "diverged" end', "end",
        "sync.lines()[1].times" } },
    table = { 112, 20,
        { "x = randn(256, 256)",
            ":prof for i = 1, 10 do x = (x:matmul(x) / 256):tanh() end return x:sum():item()" } },
    plot = { 112, 20,
        { "t = linspace(0, 12, 200)",
            'plot{t, t:sin(), (t * 0.7):cos() * (-t / 8):exp(), title = "two waves", legend = \z
                {"sine", "fading"}}' } },
}

-- ---- tmux ----

local home = os.tmpname()
-- without one there is no history, which the prompt reports
os.execute("rm " .. home .. " && mkdir -m 700 " .. home)
local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end
local function sh(command, ...)
    local words = { command }
    for _, w in ipairs { ... } do words[#words + 1] = quoted(w) end
    local p <close> = assert(io.popen(table.concat(words, " ")))
    return p:read "a"
end
local server -- a name for each session: one that ends would end the next
local function tm(...) return sh("tmux -u -f /dev/null -L " .. server, ...) end

local function screen() return (tm("capture-pane", "-p")) end

-- Waits for a condition, 60 s at most: a busy machine is slow.
local function wait(holds)
    for _ = 1, 600 do
        if holds() then return end
        os.execute "sleep 0.1"
    end
    error("pictures: the session does not go on; it shows\n" .. screen())
end

local function cursor()
    return tm("display-message", "-p", "#{cursor_x} #{cursor_y}"):match "(%d+) (%d+)"
end

-- Whether the cursor is after an empty prompt.
local function ready()
    local x, y = cursor()
    local row = 0
    for line in screen():gmatch "([^\n]*)\n" do
        if row == tonumber(y) then return x == "2" and line:find "^> ?$" end
        row = row + 1
    end
end

local function is_open(chunk)
    if chunk:find "^[?:]" or load("return " .. chunk) then return false end
    local _, message = load(chunk)
    return message and message:find "<eof>$"
end

-- Types text, then presses keys; returns when the screen shows the result. chunk: the lines before
-- it, or "".
local function enter(chunk, text, key)
    local _, y = cursor()
    tm("send-keys", "-l", "--", text)
    wait(function() return screen():find(text, 1, true) end)
    local before = screen()
    tm("send-keys", key)
    chunk = chunk .. text .. "\n"
    if key ~= "Enter" then wait(function() return screen() ~= before end)
    elseif is_open(chunk) then
        wait(function() return select(2, cursor()) ~= y end)
        return chunk
    else wait(ready) end
    return ""
end

-- The final content of the screen, with its colours.
local function run(name, columns, rows, typed)
    server = ("gpush-%s-%s"):format(name, home:match "[^/_]*$")
    tm("new-session", "-d", "-x", tostring(columns), "-y", tostring(rows),
        ("env -u NO_COLOR HOME=%s COLORTERM=truecolor GPUSH_GRAPHICS=blocks %s"):format(
            home, quoted(gpush)), ";", "set", "-g", "status", "off")
    wait(ready)
    local chunk = ""
    for _, line in ipairs(typed) do
        if type(line) == "table" then
            enter("", table.unpack(line))
        else
            chunk = enter(chunk, line, "Enter")
        end
    end
    local text
    repeat -- the editor paints its colours last
        text = tm("capture-pane", "-p", "-e")
        os.execute "sleep 0.3"
    until text == tm("capture-pane", "-p", "-e")
    tm "kill-server"
    return text
end

-- ---- From escape sequences to SVG ----

local function colour_of(p, i) -- of 38 or 48 at p[i], and the last part that it took
    if p[i + 1] == 2 then return ("#%02x%02x%02x"):format(p[i + 2], p[i + 3], p[i + 4]), i + 4 end
    local n = p[i + 2]
    if n < 16 then return palette[n], i + 2 end
    if n >= 232 then
        return ("#%02x%02x%02x"):format(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)),
            i + 2
    end
    local function part(k) return k == 0 and 0 or 55 + 40 * k end
    n = n - 16
    return ("#%02x%02x%02x"):format(part(n // 36), part(n // 6 % 6), part(n % 6)), i + 2
end

local function apply(style, sequence)
    local p = {}
    for n in (sequence == "" and "0" or sequence):gmatch "%d+" do p[#p + 1] = tonumber(n) end
    local i = 1
    while i <= #p do
        local n = p[i]
        if n == 0 then style.fore, style.back, style.bold = nil, nil, nil
        elseif n == 1 then style.bold = true
        elseif n == 22 then style.bold = nil
        elseif n == 38 then style.fore, i = colour_of(p, i)
        elseif n == 48 then style.back, i = colour_of(p, i)
        elseif n == 39 then style.fore = nil
        elseif n == 49 then style.back = nil
        elseif n >= 30 and n <= 37 then style.fore = palette[n - 30]
        elseif n >= 90 and n <= 97 then style.fore = palette[n - 82] end
        i = i + 1
    end
end

local function rect(out, x, y, w, h, fill)
    out[#out + 1] = ('<rect x="%.4g" y="%.4g" width="%.4g" height="%.4g" fill="%s"/>'):format(
        x, y, w, h, fill)
end

-- A character that is drawn instead of written; false for others.
local function draw(out, code, x, y, style)
    local fore = style.fore or FORE
    if code == 0x2580 then
        if style.back then rect(out, x, y, W, H, style.back) end
        rect(out, x, y, W, H / 2, fore)
    elseif code > 0x2800 and code <= 0x28ff then
        for i, at in ipairs { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 }, { 0, 3 },
            { 1, 3 } }
        do
            if code - 0x2800 >> i - 1 & 1 == 1 then
                rect(out, x + (at[1] + 0.25) * W / 2, y + (at[2] + 0.25) * H / 4, W / 3.2, W / 3.2,
                    fore)
            end
        end
    else
        return false
    end
    return true
end

-- Words with single spaces between them are an element each, placed by its column: viewers collapse
-- other spaces, and textLength makes the columns line up with any font.
local function write_run(out, text, x, y, style)
    for at, words in (text .. "  "):gmatch "()(%S.-)  +" do
        local escaped = words:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
        out[#out +
            1] =
                ('<text x="%.5g" y="%.5g" textLength="%.5g" \z
                    lengthAdjust="spacingAndGlyphs"%s%s>%s</text>'):format(
            x + utf8.len(text, 1, at - 1) * W, y + H * 0.75, utf8.len(words) * W,
            style.fore and ' fill="' .. style.fore .. '"' or "",
                style.bold and ' font-weight="bold"' or "", escaped)
    end
end

-- One row, run by run of one style.
local function row(out, line, y, style)
    local x, run_x, text = PAD, PAD, ""
    local function flush()
        write_run(out, text, run_x, y, style)
        text, run_x = "", x
    end
    local i = 1
    while i <= #line do
        local sequence, after = line:match("^\27%[([%d;]*)m()", i)
        if sequence then
            flush()
            apply(style, sequence)
            i = after
        else
            local char = line:match("^" .. utf8.charpattern, i)
            if draw(out, utf8.codepoint(char), x, y, style) then
                flush()
                x = x + W
                run_x = x
            else
                text, x = text .. char, x + W
            end
            i = i + #char
        end
    end
    flush()
end

local function svg(screen, columns, title)
    local lines = {}
    for line in screen:gsub("%s+$", ""):gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
    if lines[#lines] == "" then lines[#lines] = nil end
    local w, h = columns * W + 2 * PAD, #lines * H + 2 * PAD
    local out = {
        ('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f \z
            %.0f" role="img" '
        ..
            'aria-label="%s" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" \z
                font-size="%d" fill="%s">')
        :format(w, h, w, h, title, SIZE, FORE),
        ('<rect width="100%%" height="100%%" rx="8" fill="%s"/>'):format(BACK) }
    local style = {}
    for i, line in ipairs(lines) do row(out, line, PAD + (i - 1) * H, style) end
    out[#out + 1] = "</svg>\n"
    return table.concat(out, "\n")
end

for name, s in pairs(sessions) do
    local f <close> = assert(io.open(("%s/%s.svg"):format(to, name), "w"))
    f:write(svg(run(name, s[1], s[2], s[3]), s[1], name .. " of gpush"))
end
os.execute("rm -rf " .. quoted(home))
