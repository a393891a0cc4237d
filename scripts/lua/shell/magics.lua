--!plain
-- IPython's magics, %timeit x, %%time, %who: by the command that does the same, or by a sentence
-- that says what to do in their place. Returns magic(text, run, commands), run and commands being
-- those of commands.lua.
local require = ...
local shell = require "shell"

-- A command; "!": the system's; "?" and "??": help; a text with spaces is an answer.
local magics = { timeit = "timeit", time = "time", prun = "prof", lprun = "prof", memit = "mem",
    who = "who", whos = "who", who_ls = "who", history = "list", hist = "list", debug = "debug",
    tb = "debug", run = "run", edit = "edit", load = "load", save = "save", lsmagic = "help",
    magic = "help", quickref = "help", aimport = "reload", pinfo = "?", pdoc = "?", pinfo2 = "??",
    psource = "??" }

local function answers(text, names)
    for name in names:gmatch "%S+" do magics[name] = text end
end
answers("!", "pwd ls ll cat less more man mkdir rmdir rm cp mv bash sh sx system")
answers("the folder stays; name files by their paths", "cd pushd popd dirs dhist bookmark")
answers("paste the text: it is one block", "paste cpaste")
answers("nothing is installed from the prompt", "pip conda mamba uv")
answers("os.getenv reads a variable; set it before gpush starts", "env set_env")
answers("leave with Ctrl-D and start again", "reset reset_selective")
answers("x = nil lets a variable go", "xdel")
answers("~/.config/gpush/startup.lua has settings and functions", "config alias unalias store")
answers("Up and Ctrl-R bring inputs back, :list 3 shows the third",
    "recall rep rerun macro pastebin")
answers(":save writes this session's inputs to a file", "notebook logstart logon logoff logstop")
answers("printoptions{precision = 3} sets it", "precision")
answers("cells are Lua here; !command runs a program of the system",
    "python python3 pypy perl ruby script html HTML javascript js latex markdown SVG svg")
answers("after an error there is :debug", "pdb xmode")
answers("io.open, or :save of this session, writes a file", "writefile file")
answers("a semicolon at the end of a line keeps its value from being shown", "capture")
magics.psearch = 'help "words" searches'

-- What notebooks begin with: nothing is missing without it, so it is no error.
local needless = { matplotlib = "nothing to set: plot draws here",
    autoreload = ":reload reads modules again", load_ext = "nothing to load: it is all here" }
needless.pylab = needless.matplotlib

local own = { bash = true, sh = true, sx = true, system = true } -- run what follows them

-- What follows the options of IPython, as in -n 10 x:sum(), unless it is Lua with them.
local function without_options(text)
    while text:find "^%-%a" and not load("return " .. text) do
        local rest = text:match "^%-s%s+%a+%s+(.*)$" or text:match "^%-%a%s*%d*%s+(.*)$" or ""
        if rest == text then break end
        text = rest
    end
    return text
end

return function(text, run, commands)
    local name, rest = text:match "^%%%%?([%a_%d]+)%s*(.-)%s*$"
    local to = magics[name]
    if needless[name] then return print(("%%%s: %s"):format(name, needless[name])) end
    if not to then shell.fail(("no magic %%%s; :help lists the commands"):format(name)) end
    if to == "!" then
        return shell.command("!" .. (own[name] and rest or name .. " " .. rest))
    end
    if to == "?" or to == "??" then return shell.command(to .. rest) end
    if to:find " " then shell.fail(("%%%s: %s"):format(name, to)) end
    if to == "list" and not rest:find "^%d+$" or to == "help" then rest = "" end
    if to == "timeit" or to == "prof" or to == "time" then
        local plain = without_options(rest)
        if plain ~= rest then
            print(("%%%s: options are left out; it chooses how many runs there are"):format(name))
        end
        rest = plain
    end
    return run(commands[to].argument == "" and to or to .. " " .. rest)
end
