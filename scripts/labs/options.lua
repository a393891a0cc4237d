-- Reads a lab's options: options{device = "gpu", rows = 500} takes --device cpu --rows 20 from the
-- command line. The values given are the defaults and say by their type what is expected; false
-- stands for a text that is not given, {} for an option without a value: true where it is given.
-- A default such as 8e-6 takes a number above 0. Whole numbers are at least 1, or what `least`
-- says: options({workers = 2}, {workers = 0}). --help prints the comment at the top of the lab's
-- file and lists them.

-- The comment at the top of the lab's file, without its dashes.
local function header()
    local lines = {}
    for line in io.lines(arg[0]) do
        local text = line:match "^%-%- ?(.*)"
        if not text then break end
        lines[#lines + 1] = text
    end
    return table.concat(lines, "\n")
end

return function(defaults, least)
    local function list()
        local names = {}
        for name, value in pairs(defaults) do
            local default = value and type(value) ~= "table" and " (default " .. tostring(value) ..
                ")" or ""
            names[#names + 1] = ("  --%s%s"):format(name, default)
        end
        table.sort(names)
        return "options:\n" .. table.concat(names, "\n") .. "\n"
    end
    local function usage(problem)
        io.stderr:write(arg[0]:match "[^/]*$", ": ", problem, "\n", list())
        os.exit(false)
    end
    local opt = {}
    for name, value in pairs(defaults) do opt[name] = type(value) ~= "table" and value end
    local i = 1
    while i <= #arg do
        local name, value = arg[i]:match "^%-%-(%w+)$", arg[i + 1]
        local default = defaults[name]
        if arg[i] == "--help" or arg[i] == "-h" then
            print(header() .. "\n\n" .. list():sub(1, -2))
            os.exit(true)
        end
        if default == nil then usage("no option " .. arg[i]) end
        if type(default) == "table" then i, value = i - 1, true end
        if math.type(default) == "integer" then
            local from = least and least[name] or 1
            value = math.tointeger(tonumber(value))
            if not value or value < from then
                usage(("%s needs an integer of at least %d"):format(arg[i], from))
            end
        end
        if math.type(default) == "float" then
            value = tonumber(value)
            if not value or not (value > 0) then usage(arg[i] .. " needs a number above 0") end
        end
        opt[name] = value or usage(arg[i] .. " wants a value")
        i = i + 2
    end
    return opt
end
