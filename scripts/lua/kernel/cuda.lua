--!plain
-- cuda.kernel and cuda.module: kernels in CUDA C and C++. On cpu and sim they are compiled by GCC
-- and run by fibers (kernels/common/simt), checked unless that is turned off; on cuda by NVRTC
-- (kernels/cuda/simt).
local require = ...
local gpush, fail, registry = require "gpush", require "fail", require "registry"
local prototype, source = require "kernel.prototype", require "source"
local dialect, names = require "kernel.dialect", require "kernel.names"
local lexer = require "kernel.tokens"
local counts, variables = require "kernel.counts", require "kernel.variables"
local is_tensor, simt = gpush.is_tensor, registry["gpush.simt"]

local BLOCK <const>, GRID_X <const>, GRID_YZ <const> = 1024, 2147483647, 65535
local SHARED <const>, STATIC <const> = 227 * 1024, 48 * 1024
local OVER <const> = 256 -- threads of a block where no card says what is best

-- ---- compiling ----

-- A line of the text as typed.
local function typed(module, line) return module.file and module.line + line - 1 or line end

local function shown_place(module, line)
    return module.file and ("%s:%d"):format(module.file, typed(module, line)) or "line " .. line
end

-- What the compiler says: each error with the user's line, the line itself and a caret.
local function errors_of(module, read, log)
    local list = {}
    for line, column, message in log:gmatch "kernel:(%d+):(%d+): error: ([^\n]*)" do
        line, message = math.tointeger(line), message:gsub(" %[%-W[^%]]*%]$", "")
        local text, at = source.line(module.source, line) or "", math.tointeger(column)
        at = read:column(line, at)
        if line == 1 then
            text, at = text:sub(module.before + 1), math.max(at - module.before, 1)
        end
        list[#list + 1] = ("%s: %s\n    %s\n    %s^"):format(shown_place(module, line), message,
            text, text:sub(1, at - 1):gsub("[^\t]", " "))
        if #list == 3 then break end
    end
    if #list == 0 then return log:match "error: [^\n]*" or log:match "[^\n]+" or "no reason" end
    return table.concat(list, "\n")
end

-- The functions that the program calls: of kernels, with the addresses of the arguments, and of
-- variables.
local function entries(module)
    local list = { "\n#line 1 \"entry\"\n" }
    for i, kernel in ipairs(module.kernels) do
        local args = {}
        for k, p in ipairs(kernel.params) do
            args[k] = ("*(%s *)gp_args[%d]"):format(p.pointer and p.text or p.plain, k - 1)
        end
        list[#list + 1] = ("GP_SHOWN void gp_entry_%d(void **gp_args) { %s(%s); }\n"):format(
            i - 1, kernel.name, table.concat(args, ", "))
    end
    for i, v in ipairs(module.globals) do
        list[#list + 1] = ("GP_SHOWN void *gp_global_%d(unsigned long *gp_n) { \z
            *gp_n = sizeof(%s); return (void *)&%s; }\n"):format(i - 1, v.name, v.name)
    end
    return table.concat(list)
end

-- The text as a compiler of that language takes it.
local function read_as(module, cxx)
    local read = module.read[cxx] or prototype.read(module.source, module.what, cxx)
    module.read[cxx] = read
    return read
end

local function constants_of(module)
    local bits = 0
    for i, v in ipairs(module.globals) do bits = bits | (v.read and 1 << i - 1 or 0) end
    return bits
end

-- Before a text whose threads' own arrays are not looked at, and whose conversions are GCC's.
local BARE <const> = ("ARRAY ARRAY_END(n) ARRAY_INIT(name) ARRAY_INIT_END ARRAY_OF(n) \z
    ARRAY_KNOWN(n,name,of,w) "):gsub("([%w_]+)(%S*) ", "#undef GP_%1\n#define GP_%1%2\n")
    .. "#undef GP_CAST\n#define GP_CAST(kind,T,...) ((T)(__VA_ARGS__))\n"

-- Compiles it, or looks for it on disk: a module and its bytes of shared memory; nil, and what the
-- compiler says of the text.
local function try(module, how, cxx, only_found)
    local name = module.name
    if cxx and module.reason then
        name = ("%s: it needs C++ ('%s' at %s)"):format(name, module.reason.text,
            shown_place(module, lexer.line_of(module.source, module.reason.at)))
    end
    return simt.build { name = name, file = module.file, line = module.line, cxx = cxx,
        checked = how and true or false, counted = how == "counted", half = module.half,
        only_found = only_found, nglobals = #module.globals, constants = constants_of(module),
        text = (module.bare and BARE or "") .. "#line 1 \"kernel\"\n" ..
            read_as(module, cxx).compiled .. entries(module) }
end

-- As C++ where the text needs it; else as C, and what that refuses as C++.
local function compile(module, how)
    if module.cxx ~= nil then return module.cxx, try(module, how, module.cxx) end
    for _, cxx in ipairs { false, true } do
        local found, shared = try(module, how, cxx, true)
        if found then return cxx, found, shared end
    end
    local made, said = try(module, how, false)
    if made then return false, made, said end
    local ok, again, shared = pcall(try, module, how, true)
    if ok and again then return true, again, shared end
    return false, nil, said
end

-- The module as it is compiled for that: false, true: checked, or "counted", which is checked too.
local build
function build(module, how)
    local known = module.built[how]
    if known then return known end
    local cxx, handle, shared = compile(module, how)
    local read = read_as(module, cxx)
    if not handle and not module.bare and read.arrays + read.casts > 0 then -- perhaps for these
        module.bare = true
        return build(module, how)
    end
    if not handle then
        fail("%s: the compiler refuses the text: %s", module.name,
            errors_of(module, read_as(module, cxx), shared))
    end
    module.cxx = cxx
    if shared > STATIC then
        fail("%s: %d B of static shared memory (expected at most %d; extern __shared__ may have \z
            more)", module.name, shared, STATIC)
    end
    local built = { handle = handle, shared = shared }
    for i, kernel in ipairs(module.kernels) do
        local described = table.move(kernel.params, 1, #kernel.params, 1, { name = kernel.name })
        built[i] = simt.add(handle, i - 1, described)
    end
    module.built[how], module.shared = built, shared
    return built
end

-- ---- for cards ----

-- The numbers of the kernels as a card's compiler takes them.
local function card(module)
    if module.card then return module.card end
    local described = { name = module.name, file = module.file, line = module.line,
        half = module.half, nkernels = #module.kernels, nglobals = #module.globals,
        constants = constants_of(module),
        text = "#line 1 \"kernel\"\n" .. read_as(module, "card").compiled }
    for i, kernel in ipairs(module.kernels) do described[i] = kernel.name end
    for _, v in ipairs(module.globals) do described[#described + 1] = "&" .. v.name end
    local handle = simt.card(described)
    local list = {}
    for i, kernel in ipairs(module.kernels) do
        list[i] = simt.add(handle, i - 1,
            table.move(kernel.params, 1, #kernel.params, 1, { name = kernel.name }))
    end
    module.card = list
    return list
end

-- What NVRTC says: each error with the user's line, the line itself and a caret.
local function card_errors(module, log)
    local list = {}
    for line, message, at in log:gmatch "kernel%((%d+)%): error: ([^\n]*)\n?()" do
        line = math.tointeger(line)
        local text = source.line(module.source, line) or ""
        if line == 1 then text = text:sub(module.before + 1) end
        local shown, caret = log:match("^([^\n]*)\n([ \t]*)%^", at)
        local skip = shown and shown:find(text:match "^%s*(.-)%s*$", 1, true)
        local before = skip and text:sub(1, #caret + 1 - skip + #text:match "^%s*")
        list[#list + 1] = ("%s: %s\n    %s%s"):format(shown_place(module, line), message, text,
            before and "\n    " .. before:gsub("[^\t]", " ") .. "^" or "")
        if #list == 3 then break end
    end
    return #list > 0 and table.concat(list, "\n") or log:match "[^\n]+" or "no reason"
end

-- The kernel's number on the card that has tensor x, and what is known of it there.
local function on_card(kernel, x)
    local module, device = kernel.module, tostring(x.device)
    local known = kernel.on[device]
    if known then return known end
    local number = card(module)[kernel.index]
    local registers, spilled, shared, block = simt.prepare(number, x)
    if not registers then
        fail("%s: NVRTC refuses the text: %s", module.name, card_errors(module, spilled))
    end
    known = { number = number, registers = registers, spilled = spilled, shared = shared,
        block = block, device = device }
    kernel.on[device], kernel.card = known, known
    return known
end

-- The tensor whose device a launch runs on: the first of its arguments, or where there is none an
-- empty one of the device that tensors are made on; and whether it was given.
local function first_tensor(...)
    for k = 1, select("#", ...) do
        local x = select(k, ...)
        if is_tensor(x) then return x, true end
    end
    return gpush.zeros(0), false
end

-- That tensor, where it is on a card.
local function of_card(...)
    local x = first_tensor(...)
    return tostring(x.device):find "^cuda" and x or nil
end

-- ---- calls ----

local function whole(kernel, what, v, most)
    v = math.tointeger(v) or v
    if math.type(v) ~= "integer" or v < 1 or v > most then
        fail("%s: %s: expected an integer from 1 to %d, got %s", kernel.name, what, most,
            tostring(v))
    end
    return v
end

-- Three sizes from a number or {x, y, z}.
local function three(kernel, what, v, x, y, z)
    if type(v) == "number" then return whole(kernel, what, v, x), 1, 1 end
    if type(v) ~= "table" or is_tensor(v) or #v < 1 or #v > 3 then
        fail("%s: %s: expected a number or {x, y, z}, got %s", kernel.name, what,
            is_tensor(v) and "a tensor" or v == nil and "nothing"
            or type(v) == "table" and ("a table of %d"):format(#v) or tostring(v))
    end
    return whole(kernel, what .. "'s x", v[1], x), whole(kernel, what .. "'s y", v[2] or 1, y),
        whole(kernel, what .. "'s z", v[3] or 1, z)
end

local KNOWN <const> = { shared = true, check = true }

local function options_of(kernel, options)
    for key in pairs(options) do
        if not KNOWN[key] then
            fail("%s: unknown option '%s' (expected shared or check)", kernel.name, tostring(key))
        end
    end
    local shared, check = options.shared or 0, options.check
    local most = SHARED - kernel.module.shared
    if math.type(shared) ~= "integer" or shared < 0 or shared > most then
        fail("%s: option 'shared': expected bytes from 0 to %d, got %s", kernel.name, most,
            tostring(shared))
    end
    if check == nil then check = kernel.module.check end
    return shared, check and true or false
end

-- Where a card is modelled, a checked launch is counted: its time comes from the counts.
local function how_to(check, ...)
    if not check or not gpush.sim.card then return check end
    for k = 1, select("#", ...) do
        local v = select(k, ...)
        if is_tensor(v) then return tostring(v.device):find "^sim" and "counted" or check end
    end
    return check
end

-- The number of the kernel on the device of the arguments.
local function number_for(kernel, how, check, ...)
    local x = of_card(...)
    if x and how then fail("%s: launches are counted on cpu and sim", kernel.name) end
    if x then return on_card(kernel, x).number end
    return build(kernel.module, how or how_to(check, ...))[kernel.index]
end

-- Queues a launch; how: as build's, nil: as the kernel and the options say.
local function start(kernel, how, grid, block, ...)
    local n, module = select("#", ...), kernel.module
    local last = n > 0 and select(n, ...)
    local bx, by, bz = three(kernel, "block", block, BLOCK, BLOCK, 64)
    local gx, gy, gz = three(kernel, "grid", grid, GRID_X, GRID_YZ, GRID_YZ)
    if bx * by * bz > BLOCK then
        fail("%s: block: %d threads (expected at most %d)", kernel.name, bx * by * bz, BLOCK)
    end
    if type(last) ~= "table" or is_tensor(last) then
        kernel.threads, kernel.dynamic = bx * by * bz, 0
        return simt.launch(number_for(kernel, how, module.check, ...), gx, gy, gz, bx, by, bz, 0,
            variables.values(module, first_tensor(...)), ...)
    end
    local args = table.pack(...)
    local shared, check = options_of(kernel, last)
    kernel.threads, kernel.dynamic = bx * by * bz, shared
    return simt.launch(number_for(kernel, how, check, ...), gx, gy, gz, bx, by, bz, shared,
        variables.values(module, first_tensor(...)), table.unpack(args, 1, n - 1))
end

local function launch(kernel, ...) return start(kernel, nil, ...) end

-- counts(grid, block, arguments...): launches it, waits for it, and returns what that costs a card;
-- without arguments what its last counted launch did.
local function counts_of(kernel, ...)
    if select("#", ...) > 0 then start(kernel, "counted", ...) end
    for k = 1, select("#", ...) do
        local v = select(k, ...)
        if is_tensor(v) then gpush.synchronize(v.device) end
    end
    local built = kernel.module.built.counted
    local found = built and simt.counts(built[kernel.index])
    if not found then
        fail("%s: no launch of it was counted; k:counts(grid, block, x, n) launches and counts",
            kernel.name)
    end
    return counts.made(kernel, found, function(line) return typed(kernel.module, line) end)
end

-- A launch with a thread for each of n elements, in blocks that the card is filled by best; else of
-- 256.
local function over(kernel, n)
    if is_tensor(n) then n = n:numel() end
    if n == 0 then return function() end end
    n = whole(kernel, "over", n, GRID_X)
    return function(...)
        local x = of_card(...)
        local best = x and on_card(kernel, x).block or OVER
        local block = math.min(best, (n + 31) // 32 * 32)
        return launch(kernel, (n + block - 1) // block, block, ...)
    end
end

-- ---- making one ----

-- Its parameters, and what is known of it without a block.
local function headline(kernel)
    local params, module = {}, kernel.module
    for k, p in ipairs(kernel.params) do
        params[k] = p.text .. (p.pointer and "" or " ") .. p.name
    end
    local known = kernel.card -- of the card that it ran on last
    local shared = known and known.shared or module.shared
    local of_it = known and ("%d registers"):format(known.registers) or "registers not known here"
    if known and known.spilled > 0 then
        of_it = of_it .. (", %d B of local memory"):format(known.spilled)
    end
    return ("kernel %s(%s): %s, %d B of static shared memory%s, %s"):format(kernel.name,
        table.concat(params, ", "), of_it, shared,
        read_as(module, module.cxx or false).uses_dynamic and ", more by {shared = bytes}" or "",
        known and "unchecked on a card" or module.check and "checked" or "unchecked")
end

-- The same, and how many blocks as the last one a card holds at once.
local function shown(kernel)
    local known = kernel.card
    local occupancy = require "kernel.occupancy".text(known and known.device,
        kernel.threads or known and known.block or OVER,
        (known and known.shared or kernel.module.shared) + (kernel.dynamic or 0),
        known and known.registers)
    return headline(kernel) .. (occupancy and "\n    " .. occupancy or "")
end

-- The variable of that name as a tensor of the device.
local function global_of(module, name, device)
    return variables.global(module, build(module, module.check).handle, name, device)
end

-- Their names, for help.
registry["gpush.kernel.methods"] = setmetatable({}, { __mode = "k" })

-- What users hold: calls its methods with `of` in the first place.
local function object(of, kind, help, methods, show, call)
    local bound = {}
    for name, fn in pairs(methods) do
        bound[name] = function(_, ...) return fn(of, ...) end
        registry["gpush.kernel.methods"][bound[name]] = name
    end
    setmetatable(bound, { __index = function(_, key)
        fail("a %s has no '%s'; %s", kind, tostring(key),
            call and "call it, as in k(grid, block, x, n) or k:over(n)(x); it has over, counts \z
                and global"
            or "its kernels are m:kernel(name), its variables m:global(name)")
    end })
    return setmetatable({}, { __name = kind, __help = help, __index = bound,
        __call = call and function(_, ...) return call(of, ...) end,
        __tostring = function() return show(of) end })
end

local function kernel_object(kernel)
    return object(kernel, "kernel", headline(kernel), { over = over, counts = counts_of,
        global = function(_, ...) return global_of(kernel.module, ...) end }, shown, launch)
end

-- The kernel that the text has by that name; nil: the only one.
local function choose(read, name)
    local list, base = {}, name
    for k, kernel in ipairs(read.kernels) do
        if kernel.name == base or (name == nil and #read.kernels == 1) then return kernel end
        list[k] = kernel.name
    end
    if #list == 0 then fail("cuda.kernel: the text has no __global__ function with a body") end
    table.sort(list)
    if name == nil then
        fail("cuda.kernel: argument 'name': expected one of %s", table.concat(list, ", "))
    end
    fail("cuda.kernel: the text has no kernel '%s' (it has %s)", name, table.concat(list, ", "))
end

-- Adds the kernel of that name to the module.
local function add_kernel(module, read, name)
    local base, args
    if name ~= nil then base, args = names.read(name) end
    local found = choose(read, base)
    local full = name and name:match "^%s*(.-)%s*$" or found.name
    if found.template and not args then full = full .. "<>" end
    local kernel = { name = full, params = read:parameters_of(found, args), module = module,
        on = {}, index = #module.kernels + 1 }
    module.kernels[kernel.index] = kernel
    return kernel
end

local VARIABLES <const> = 64

-- at: {file =, line =, before =}, where the text stands, and what of its first line was not typed.
local function new_module(text, what, check, at)
    if text:find("\0", 1, true) then fail("%s: the text has a byte of value 0", what) end
    local list = lexer.tokens(text)
    local reason = dialect.reason(list)
    dialect.refuse_heap(list, what, function(i)
        return (at.line or 1) + lexer.line_of(text, i) - 1
    end)
    local module = { source = text, what = what, file = at.file, line = at.line, check = check,
        before = #(at.before or ""), reason = reason, half = dialect.uses_half(list), read = {},
        built = {}, values = {}, kernels = {}, shared = 0 }
    if reason then module.cxx = true end
    local read = read_as(module, module.cxx or false)
    module.globals = table.move(read.globals, 1, math.min(#read.globals, VARIABLES), 1, {})
    return module, read
end

-- When it is made, it is compiled for the card where there is one, else for the processor.
local function compile_first(module)
    if not gpush.cuda.is_available() then return build(module, module.check) end
    on_card(module.kernels[1], gpush.zeros(0, { device = "cuda" }))
end

-- The kernel of that name of the text; at: as new_module's.
local function made(text, what, name, check, at)
    local module, read = new_module(text, what, check, at)
    local k = add_kernel(module, read, name)
    module.name = k.name
    compile_first(module)
    return kernel_object(k)
end

local function kernel(text, name, check)
    return made(text, "cuda.kernel", name, check, source.place_of(text))
end

-- ---- several kernels of a text ----

local function list_of(module)
    local list = {}
    for k, kernel in ipairs(module.kernels) do list[k] = kernel.name end
    return #list > 0 and table.concat(list, ", ") or "none"
end

local function kernel_of(module, name)
    for _, k in ipairs(module.kernels) do
        if k.name == name then return kernel_object(k) end
    end
    fail("module: it has no kernel '%s' (it has %s); those of templates are listed as in \z
        cuda.module(source, {'scale<float>'})", tostring(name), list_of(module))
end

local function shown_module(module)
    local list = {}
    for i, v in ipairs(module.globals) do list[i] = v.name end
    return ("module of kernels %s; variables: %s"):format(list_of(module),
        #list > 0 and table.concat(list, ", ") or "none")
end

-- The names of templates' kernels that cuda.module is given.
local function names_of(given)
    for k, name in ipairs(given or {}) do
        if type(name) ~= "string" then
            fail("cuda.module: argument 'names', entry %d: expected text, as 'f<float>', got %s", k,
                type(name))
        end
    end
    return given or {}
end

local function module(text, given, check)
    given = names_of(given)
    local m, read = new_module(text, "cuda.module", check, source.place_of(text))
    for _, k in ipairs(read.kernels) do
        if not k.template then add_kernel(m, read, k.name) end
    end
    for _, name in ipairs(given) do add_kernel(m, read, name) end
    if #m.kernels == 0 then fail("cuda.module: the text has no __global__ function with a body") end
    m.name = m.kernels[1].name
    compile_first(m)
    return object(m, "module", shown_module(m), { kernel = kernel_of, global = global_of },
        shown_module)
end

return { kernel = kernel, module = module, made = made }
