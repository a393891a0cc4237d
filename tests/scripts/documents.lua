-- The examples of README.md and docs/*.md run, and print the blocks below them.
--
-- The Lua blocks of a page run in order, in one program with one set of globals; the name after
-- "lua" is the file's. A plain block right below one is its output. A plain block that begins with
-- a prompt is a session: its input is given to `gpush -i`. Times differ from run to run: only the
-- unit of such a number counts.
local t = require "tap"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"
local scratch = os.getenv "TMPDIR"

local function read(path)
    local file <close> = assert(io.open(path))
    return file:read "a"
end

local function write(path, text)
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
end

-- The blocks of a page: {language =, name =, text =, line =, below = the block right below}.
local function blocks_of(text)
    local blocks, open, number, gap = {}, nil, 0, true
    for line in (text .. "\n"):gmatch "(.-)\n" do
        number = number + 1
        local info = line:match "^```(.*)"
        if info and open then
            open.text = table.concat(open, "\n")
            open, gap = nil, false
        elseif info then
            open = { language = info:match "^%S*", name = info:match "^%S+%s+(%S+)", line = number }
            if not gap and #blocks > 0 then blocks[#blocks].below = open end
            blocks[#blocks + 1] = open
        elseif open then
            open[#open + 1] = line
        else
            gap = gap or line ~= ""
        end
    end
    return blocks
end

local function run(command)
    local p <close> = assert(io.popen(("cd '%s' && %s 2>&1"):format(scratch, command)))
    return p:read "a"
end

-- Times, counts of processor time and similar figures differ in each run.
local function steady(text)
    text = text:gsub("%d+%.?%d*%s?([mun]?s)%f[%W]", "N %1"):gsub("%d+%.?%d*%%",
        "N%%"):gsub("%d+ queued ops?", "N queued ops"):gsub("[ -]*\n", "\n")
    return (text:gsub("%s+$", ""))
end

-- All Lua blocks of a page, each after a mark, with its name as the file's.
local mark = "-- block %d ends --"
local function run_page(page, blocks)
    local parts = {}
    for i, b in ipairs(blocks) do
        if b.language == "lua" then
            local name = b.name or page
            local pad = b.name and "" or ("\n"):rep(b.line)
            parts[#parts +
                1] =
                    ("do local f, message = load(%q, %q)\nif f then f() else error(message, 0) \z
                        end end"):format(pad .. b.text, "=" .. name)
            parts[#parts + 1] = ("io.stdout:write(%q)"):format(mark:format(i) .. "\n")
        end
    end
    write(scratch .. "/page.lua", "io.stdout:setvbuf 'no'\n" .. table.concat(parts, "\n"))
    return run(("LUA_CPATH='%s/tests/extension/?.so;;' '%s/gpush' page.lua"):format(build, build))
end

local function check_page(page, path)
    local blocks = blocks_of(read(path))
    local output = run_page(page, blocks)
    for i, b in ipairs(blocks) do
        if b.language == "lua" then
            local ending = mark:format(i) .. "\n"
            local at = output:find(ending, 1, true)
            local printed = output:sub(1, at and at - 1)
            if not t.ok(at, ("%s:%d runs"):format(page, b.line)) then
                io.stderr:write("#   ", printed:gsub("\n", "\n#   "), "\n")
                return
            end
            output = output:sub(at + #ending)
            if b.below and b.below.language == "" and not b.below.text:find "^%$? ?>" then
                t.is(steady(printed), steady(b.below.text),
                    ("%s:%d prints what stands below it"):format(page, b.line))
            end
        end
    end
    for _, b in ipairs(blocks) do
        if b.language == "" and (b.text:find "^> " or b.text:find "^gpush [%d.]+, Lua") then
            local typed = {}
            for line in b.text:gmatch "[^\n]+" do typed[#typed + 1] = line:match "^>>? ?(.*)" end
            write(scratch .. "/typed", table.concat(typed, "\n") .. "\n")
            local got = run(("TERM=dumb '%s/gpush' -i <typed"):format(
                build)):gsub("^gpush [^\n]*\n", "")
            got = ("\n" .. got):gsub("\n[> ]*> ", "\n"):gsub("^\n", "")
            local expected = b.text:gsub("^gpush [^\n]*\n", "")
            expected = ("\n" .. expected .. "\n"):gsub("\n>[^\n]*", ""):gsub("\n>[^\n]*",
                ""):gsub("^\n", "")
            t.is(steady(got), steady(expected),
                ("%s:%d is what the session shows"):format(page, b.line))
        end
    end
end

check_page("README.md", root .. "/README.md")
for page in run(("ls '%s/docs'"):format(root)):gmatch "[^\n]+%.md" do
    check_page(page, root .. "/docs/" .. page)
end

-- The test can fail.
local sample = blocks_of "```lua\nprint(1)\n```\n```\n2\n```\n\ntext\n```\n> 1\n```\n"
t.is(#sample, 3, "blocks are found")
t.is(sample[1].below and sample[1].below.text, "2", "with what stands below")
t.is(sample[2].below, nil, "but not below other text")
t.is(steady "took 1.25 ms of 3 s, 40%  ", "took N ms of N s, N%", "times do not count")
t.done()
