-- The declarations for editors as a checker of programs: which of a program's names and calls do
-- not fit them. Text is read by patterns, not parsed: names of the program's own are left alone.
-- declarations.read(text) -> {functions, methods, tables, globals}; declarations.check(program,
-- read, own) -> a list of findings, {"nn.Linaer"}; own: further names that are the program's.
local declarations = {}

local function split(text)
    local out, depth, piece = {}, 0, ""
    for c in (text .. ","):gmatch "." do
        depth = depth + (c:find "[({<%[]" and 1 or c:find "[)}>%]]" and -1 or 0)
        if c == "," and depth == 0 then
            if piece:find "%S" then out[#out + 1] = piece:match "^%s*(.-)%s*$" end
            piece = ""
        else
            piece = piece .. c
        end
    end
    return out
end

-- A way to call: {{name, type, optional}, …; rest: the type of what may follow, or nil}.
local function way(list)
    local out = {}
    for _, text in ipairs(list) do
        local name, optional, kind = text:match "^([%a_][%w_]*)(%??):?%s*(.*)$"
        if not name then out.rest = text:match "^%.%.%.: (.*)$" or "any" end
        if name and name ~= "self" then out[#out + 1] = { name, kind, optional == "?" } end
    end
    return out
end

-- The ways to call the function of these annotations and these parameters.
local function ways(notes, parameters)
    local kinds, list = {}, {}
    for name, optional, kind in notes:gmatch "%-%-%-@param ([%w_.]+)(%??) ([^\n]*)" do
        kinds[name] = optional .. ": " .. kind
    end
    for i, name in ipairs(split(parameters)) do list[i] = name .. (kinds[name] or "") end
    local out = { way(list) }
    for inside in notes:gmatch "%-%-%-@overload fun(%b())" do
        out[#out + 1] = way(split(inside:sub(2, -2)))
    end
    return out
end

function declarations.read(text)
    local read = { functions = {}, methods = {}, tables = {}, globals = { gpush = true } }
    local notes = ""
    local function add(list, name, parameters)
        list[name] = list[name] or {}
        table.move(ways(notes, parameters), 1, 9, #list[name] + 1, list[name])
    end
    for line in text:gmatch "([^\n]*)\n" do
        local where, mark, name, inside = line:match "^function ([%w_.]+)([.:])([%w_]+)%((.*)%) end"
        if not name then
            where, name, inside = line:match '^([%w_.]+)%["(%w+)"%] = function%((.*)%) end'
        end
        if name and (mark == ":" or not where:find "^gpush") then add(read.methods, name, inside)
        elseif name then add(read.functions, where .. "." .. name, inside) end
        local global = line:match "^([%w_]+) = gpush%.%1$"
        if global then read.globals[global] = true end
        if name or line:find "^gpush%.[%w_.]+ = {}" then
            read.tables[where or line:match "^[%w_.]+"] = true
        end
        notes = line:find "^%-%-%-" and notes .. line .. "\n" or ""
    end
    return read
end

-- ---- Programs ----

-- Without comments, and with '' for each text.
local function bare(program)
    local out, i = {}, 1
    while i <= #program do
        local level = program:match("^%-%-%[(=*)%[", i) or program:match("^%[(=*)%[", i)
        local _, stop
        if level then
            _, stop = program:find("]" .. level .. "]", i, true)
            if program:sub(i, i) == "[" then out[#out + 1] = "''" end
        elseif program:find("^%-%-", i) then
            stop = (program:find("\n", i, true) or #program + 1) - 1
        elseif program:find("^[\"']", i) then
            local quote, at = program:sub(i, i), i
            repeat
                at = program:find("[\\" .. quote .. "]", at + 1)
                if program:sub(at, at) == "\\" then at = at + 1 else stop = at end
            until stop
            out[#out + 1] = "''"
        else
            stop = i
            out[#out + 1] = program:sub(i, i)
        end
        i = stop + 1
    end
    return table.concat(out)
end

local opens = { ["("] = 1, ["{"] = 1, ["["] = 1, ["function"] = 1, ["if"] = 1, ["do"] = 1,
    ["repeat"] = 1, [")"] = -1, ["}"] = -1, ["]"] = -1, ["end"] = -1, ["until"] = -1 }

-- The arguments of the call whose bracket, or text, is at `at`: split at the commas that are in no
-- bracket and no function's body.
local function arguments(program, at)
    local inside = program:match("^%b()", at)
    if not inside then return { program:match("^%b{}", at) or "''" } end
    local out, piece, depth, i = {}, "", 0, 1
    inside = inside:sub(2, -2) .. ","
    while i <= #inside do
        local token = inside:match("^[%w_]+", i) or inside:sub(i, i)
        depth = depth + (opens[token] or 0)
        if token == "," and depth == 0 then
            if piece:find "%S" then out[#out + 1] = piece:match "^%s*(.-)%s*$" end
            piece = ""
        else
            piece = piece .. token
        end
        i = i + #token
    end
    return out
end

local accepted = { number = { "any", "number", "integer", "gpush.index" },
    string = { "any", "string", '"', "gpush.dtype", "gpush.device", "gpush.index" },
    table = { "any", "table", "%[%]", "gpush.index" }, boolean = { "any", "boolean" },
    ["function"] = { "any", "fun" } }

-- Whether an argument may be of that type; what is no literal may be of any.
local function fits(text, type)
    local kind = text:find "^%-?%.?%d[%w.]*$" and "number" or text == "''" and "string"
        or text:find "^%b{}$" and "table" or (text == "true" or text == "false") and "boolean"
        or text:find "^function%s*%(" and "function"
    if not kind or type == "" then return true end
    for _, word in ipairs(accepted[kind]) do if type:find(word) then return true end end
    return false
end

-- A name in the options, the last argument, that is none of the way's parameters; nil where all
-- are, or where the table may be something else.
local function unknown_option(args, of)
    local text, names, options = args[#args] or "", { requires_grad = true }, false
    if not text:find "^%b{}$" then return nil end
    for i, p in ipairs(of) do
        names[p[1]] = true
        if i >= #args and (p[2]:find "any" or not p[3]) then return nil end
        options = options or i >= #args
    end
    for _, item in ipairs(options and arguments("(" .. text:sub(2, -2) .. ")", 1) or {}) do
        local name = item:match "^([%a_][%w_]*)%s*=[^=]"
        if name and not names[name] and not names[name .. "_"] then return name end
    end
end

-- What is wrong with the arguments for that way to call, or nil.
local function misfit(args, of)
    local last = args[#args] or ""
    local open = last:find "%)$" or last:find "%.%.%.$" -- may be several, or none
    if #args > #of and not of.rest then return "too many arguments" end
    for i = 1, math.max(#of, #args) do
        local p, text = of[i] or { "...", of.rest, true }, args[i]
        if not text and not p[3] and not open and not last:find "^%b{}$" then
            return "no " .. p[1]
        elseif text and not fits(text, p[2]) then
            return p[1] .. " is no " .. p[2]
        end
    end
end

-- The finding about a call with these arguments, or nil where it fits one of the ways.
local function wrong_call(args, list)
    local found
    for _, of in ipairs(list) do
        local option = unknown_option(args, of)
        local wrong = option and "no option " .. option or misfit(args, of)
        if not wrong then return nil end
        found = found or wrong
    end
    return found
end

-- Names that the program makes: variables, parameters, functions, methods.
local function names_of(program, own)
    own = own or {}
    local function add(list) for name in list:gmatch "[%a_][%w_]*" do own[name] = true end end
    for list in program:gmatch "local%s+([%a_][%w_,%s]*)%f[=\n<]" do add(list) end
    for list in program:gmatch "for%s+([%w_,%s]+)%s[i=]" do add(list) end
    for list in program:gmatch "function[%w_.: ]*(%b())" do add(list) end
    for name in program:gmatch "function%s+[%w_.]*[.:]([%w_]+)" do own[name] = true end
    for name in program:gmatch "function%s+([%w_]+)" do own[name] = true end
    for name in program:gmatch "([%a_][%w_]*)%s*=%f[^=]" do own[name] = true end
    return own
end

local lua = {}
for name in ("upper lower format rep sub gsub find match gmatch byte len reverse close read write \z
    lines seek setvbuf flush"):gmatch "%S+" do lua[name] = true end

-- The finding about one chain that is called, or nil.
local function wrong_chain(chain, args, read)
    if not read.globals[chain:match "^[%w_]+"] then return nil end
    local name = "gpush." .. chain:gsub("^gpush%.", "")
    local list = read.functions[name]
    if list then
        local wrong = wrong_call(args, list)
        return wrong and chain .. ": " .. wrong
    end
    local head = name:match "^(.*)%.[%w_]+$"
    if head ~= "gpush" and read.tables[head] and not read.tables[name] then return chain end
end

function declarations.check(program, read, own)
    program = bare(program)
    own = names_of(program, own)
    local out = {}
    for before, chain, at in program:gmatch "()%f[%w_.:]([%a_][%w_.]*)%s*()%f[({']" do
        local defines = program:sub(1, before - 1):find "function%s+$"
        if not own[chain:match "^[%w_]+"] and not defines then
            out[#out + 1] = wrong_chain(chain, arguments(program, at), read)
        end
    end
    for method, at in program:gmatch "[%w_%])}]%s*:([%a_][%w_]*)%s*()%f[({']" do
        local list = read.methods[method]
        if list and not lua[method] and not own[method] then
            local wrong = wrong_call(arguments(program, at), list)
            if wrong then out[#out + 1] = ":" .. method .. ": " .. wrong end
        elseif not list and not lua[method] and not own[method] then
            out[#out + 1] = ":" .. method
        end
    end
    return out
end

return declarations
