--!plain
-- Reads CUDA C and C++ as far as a launch needs: the prototypes of __global__ functions, variables
-- that the program may set, and what has to be written otherwise for a compiler of C or C++. Text
-- is inserted only, or replaced by spaces, so that lines stay where they are.
local require = ...
local fail, names = require "fail", require "kernel.names"
local parameters = require "kernel.parameters"
local lexer = require "kernel.tokens"
local arrays, casts = require "kernel.arrays", require "kernel.casts"
local spins = require "kernel.spins"
local closing, line_of, OPEN = lexer.closing, lexer.line_of, lexer.OPEN

-- What a thread asks for, as a function's own variables: reading them is no access of memory.
local OF_THREAD <const> = { threadIdx = "gp_thread()", blockIdx = "gp_block()",
    blockDim = "gp_block_dim()", gridDim = "gp_grid_dim()" }
local HEADERS <const> = { ["cuda.h"] = true, ["cuda_runtime.h"] = true, ["math.h"] = true,
    ["cuda_runtime_api.h"] = true, ["device_launch_parameters.h"] = true, ["stdint.h"] = true,
    ["stdio.h"] = true, ["float.h"] = true, ["limits.h"] = true, ["math_constants.h"] = true,
    ["stdbool.h"] = true, ["stddef.h"] = true, ["assert.h"] = true, ["stdlib.h"] = true,
    ["cuda_fp16.h"] = true, ["cuda_bf16.h"] = true, ["cooperative_groups.h"] = true,
    ["cooperative_groups/reduce.h"] = true, ["cmath"] = true, ["cstdint"] = true,
    ["cfloat"] = true, ["cstdio"] = true }

local Writer = {}
Writer.__index = Writer

-- Spaces in place of the characters from `at` on.
function Writer:blank(at, stop)
    for k = at, stop do
        if self.bytes[k] ~= "\n" then self.bytes[k] = " " end
    end
end

function Writer:insert(at, text) self.bytes[at] = self.bytes[at] .. text end

local INCLUDES <const> = { include = true, include_next = true, import = true, embed = true }

-- A directive may be parted by comments and by ends of lines.
function Writer:directive(t)
    local plain = t.text:gsub("\\\r?\n", ""):gsub("/%*.-%*/", " ")
    local name = plain:match "^#%s*([%a_]*)"
    local header = plain:match '^#%s*%a+%s*<%s*([^>"]*)>' or plain:match '^#%s*%a+%s*"([^"]*)"'
    if INCLUDES[name] and not HEADERS[header] then
        fail("%s: #include of '%s' (line %d): a kernel's text stands alone; CUDA's and C's own \z
            functions are there", self.what, header or plain:match "^#%s*%a+%s*(.-)%s*$",
            line_of(self.text, t.at))
    end
    if INCLUDES[name] or name == "line" or name == "" then
        self:blank(t.at, t.at + #t.text - 1)
    end
    for word in t.text:gmatch "[%a_][%w_]*" do
        if OF_THREAD[word] then self.everywhere[word] = true end
    end
end

-- extern "C" goes, with its braces.
function Writer:linkage(i)
    local list = self.list
    self:blank(list[i].at, list[i + 1].at + #list[i + 1].text - 1)
    if list[i + 2] and list[i + 2].text == "{" then
        local last = closing(list, i + 2)
        self:blank(list[i + 2].at, list[i + 2].at)
        if last then self:blank(list[last].at, list[last].at) end
        list[i + 2].text = ";" -- no depth
        if last then list[last].text = ";" end
    end
end

-- The index of the ; that ends the declaration at index i.
local function declaration_end(list, i)
    local depth = 0
    for k = i, #list do
        local t = list[k].text
        if OPEN[t] then depth = depth + 1
        elseif t == ")" or t == "]" or t == "}" then depth = depth - 1
        elseif t == ";" and depth <= 0 then return k end
    end
    return #list
end

-- extern __shared__ T name[]: a pointer to the memory whose size the launch gives. In a function it
-- takes the place of the declaration, else it is declared in each that has the name.
function Writer:dynamic(i, inside)
    local list, last, name, words = self.list, declaration_end(self.list, i), nil, {}
    for k = i, last do
        local t = list[k]
        if t.text == "[" then
            name = list[k - 1]
            break
        end
        if t.kind == "word" and t.text ~= "extern" and t.text ~= "__shared__" then
            words[#words + 1] = t.text
        elseif t.text == "__align__" or t.text == "(" or t.text == ")" or t.kind == "number" then
            words[#words + 1] = t.text
        end
    end
    if not name or list[last - 1].text ~= "]" or list[last - 2].text ~= "[" then
        fail("%s: extern __shared__ (line %d): expected one array of no given size, as in \z
            'extern __shared__ float s[];'", self.what, line_of(self.text, list[i].at))
    end
    table.remove(words)
    self:blank(list[i].at, list[last].at - 1)
    local type = table.concat(words, " ")
    local declared = ("%s *const %s = (%s *)gp_dynamic()"):format(type, name.text, type)
    if inside then self:insert(list[last].at - 1, declared)
    else self.shared[name.text] = declared end
    self.uses_dynamic = true
end

-- __shared__ T a[4], b: each is followed by 64 elements that nothing may touch.
function Writer:static(i)
    local list, last, depth = self.list, declaration_end(self.list, i), 0
    for k = i, last do
        local t = list[k].text
        if OPEN[t] then depth = depth + 1
        elseif t == ")" or t == "]" or t == "}" then depth = depth - 1
        elseif (t == "," or t == ";") and depth == 0 then
            self.zones = self.zones + 1
            self:insert(list[k].at - 1,
                (", gp_zone_%d[64] __attribute__((used))"):format(self.zones))
        end
    end
end

-- A function's body, from its { at index i to `last`: its first words are the thread's variables.
function Writer:body(i, last)
    self.bodies[#self.bodies + 1] = { i, last }
    local found, texts = {}, {}
    for k = i, last do
        local word = self.list[k].text
        if (OF_THREAD[word] and not self.cxx) or self.shared[word] then found[word] = true end
    end
    for word in pairs(self.cxx and {} or self.everywhere) do found[word] = true end
    for word in pairs(found) do
        texts[#texts + 1] = OF_THREAD[word]
            and ("const gp_uint3 %s = %s; "):format(word, OF_THREAD[word])
            or self.shared[word] .. "; "
    end
    table.sort(texts)
    if #texts > 0 then self:insert(self.list[i].at, " " .. table.concat(texts)) end
end

-- ---- declarations ----

-- The kernel that is declared at index i; nil: it has no body there.
function Writer:kernel(i)
    local list, k = self.list, i + 1
    while list[k] and list[k].text ~= "(" do k = k + 1 end
    while list[k] and list[k - 1].text:find "^__launch_bounds__$" do -- its arguments
        k = (closing(list, k) or #list) + 1
        while list[k] and list[k].text ~= "(" do k = k + 1 end
    end
    local last = list[k] and closing(list, k)
    if not last or not list[last + 1] or list[last + 1].text ~= "{" then return end
    local name, void = list[k - 1].text, false
    for j = i + 1, k - 2 do void = void or list[j].text == "void" end
    for j = i - 1, math.max(i - 3, 1), -1 do -- as in: static void __global__ f()
        if list[j].text == "void" then void = true
        elseif list[j].kind ~= "word" then break end
    end
    if not void then fail("%s: %s: a __global__ function returns void", self.what, name) end
    self.kernels[#self.kernels + 1] = { name = self.space .. name, first = k, last = last,
        template = self.template and names.template_of(list, self.template[1], self.template[2],
            self.what .. ": " .. name) }
end

-- __constant__ or __device__ variables that are declared at index i. Returns the index after them,
-- or nil where it is a function.
function Writer:variables(i)
    local list, last, depth, at = self.list, declaration_end(self.list, i), 0, nil
    local read, names_at, first = list[i].text == "__constant__", {}, nil
    for k = i, last do
        local t, next = list[k].text, (list[k + 1] or {}).text
        if t == "(" and not at and list[k - 1].text ~= "__align__" then return nil end
        if depth == 0 and list[k].kind == "word" and not (at and at ~= ",")
            and (next == "[" or next == "=" or next == "," or next == ";" or next == "{") then
            at, first = "name", first or k
            names_at[#names_at + 1] = k
        elseif depth == 0 and t == "," then at = "," end
        read = read or t == "__constant__"
        if OPEN[t] then depth = depth + 1
        elseif t == ")" or t == "]" or t == "}" then depth = depth - 1 end
    end
    for _, k in ipairs(names_at) do
        self.globals[#self.globals + 1] = { name = self.space .. list[k].text, read = read, at = k,
            first = i, type_end = first - 1 }
    end
    return last
end

-- struct name {, class name {, enum name {.
function Writer:declares(i)
    local list, k, kind = self.list, i + 1, self.list[i].text == "enum" and "enum" or "struct"
    if list[k] and (list[k].text == "class" or list[k].text == "struct") then k = k + 1 end
    while list[k] and list[k].text:find "^__align" do
        k = (closing(list, k + 1) or #list) + 1
    end
    local next = list[k + 1] and list[k + 1].text
    if list[k] and list[k].kind == "word" and (next == "{" or next == ":" or next == "final") then
        self.env[""][list[k].text] = self.env[""][list[k].text] or kind
    end
end

-- #define name type
function Writer:names_type(t)
    local name, rest = t.text:match "^#%s*define%s+([%a_][%w_]*)%s+([%a_][%w_ \t]*)$"
    if name then self.env[name] = lexer.tokens(rest) end
end

-- typedef … name; and using name = …;
function Writer:alias(i)
    local list, last = self.list, declaration_end(self.list, i)
    local using = list[i].text == "using"
    local name = using and list[i + 1] or list[last - 1]
    local first, stop = using and i + 3 or i + 1, using and last - 1 or last - 2
    if not name or name.kind ~= "word" then return end
    for k = first, stop do
        if list[k].text == "{" then
            self.env[""][name.text] = list[first].text == "enum" and "enum" or "struct"
            return
        end
    end
    if using and (list[i + 2] or {}).text ~= "=" then return end
    self.env[name.text] = table.move(list, first, stop, 1, {})
end

-- For NVRTC only the headers go, which it has not.
function Writer:directives()
    for _, t in ipairs(self.list) do
        if t.kind == "directive" then self:directive(t) end
    end
end

local DECLARES <const> = { struct = true, class = true, union = true, enum = true }

-- First all that is declared: an array of dynamic shared memory may stand before the functions.
function Writer:declarations()
    local list, ends = self.list, 0
    for i, t in ipairs(list) do
        if t.text == "{" and i > ends and self:is_body(i) then ends = closing(list, i) or #list end
        if t.kind == "directive" then
            self:directive(t)
            self:names_type(t)
        elseif t.text == "extern" and list[i + 1] and list[i + 1].kind == "string" then
            self:linkage(i)
        elseif t.text == "extern" then
            for k = i, math.min(i + 3, #list) do
                if list[k].text == "__shared__" then
                    self:dynamic(i, i < ends)
                    break
                end
            end
        elseif t.text == "typedef" or t.text == "using" then self:alias(i)
        elseif DECLARES[t.text] then self:declares(i)
        elseif t.text == "__shared__" and self.bytes[t.at] == "_" then
            for _, near in ipairs { list[i - 1] or t, list[i + 1] or t } do -- it is static already
                if near.text == "static" then self:blank(near.at, near.at + 5) end
            end
            self:static(i)
        end
    end
end

local BEFORE_BODY <const> = { const = true, noexcept = true, override = true, final = true }

-- Whether the { at index i begins a function's body.
function Writer:is_body(i)
    local list, k = self.list, i - 1
    while list[k] and BEFORE_BODY[list[k].text] do k = k - 1 end
    if list[k] and list[k].text == ")" then return true end
    for back = k, math.max(k - 8, 2), -1 do -- -> type
        local t = list[back].text
        if t == ">" and list[back - 1].text == "-" then return true end
        if t == ";" or t == "}" or t == "{" or t == "=" then return false end
    end
    return false
end

-- Of a { that is no function's: "ns::" of a namespace, "" of a class; nil of others.
function Writer:scope(i)
    local list = self.list
    for back = i - 1, math.max(i - 12, 1), -1 do
        local t = list[back].text
        if t == "namespace" then return list[i - 1].text .. "::" end
        if t == "struct" or t == "class" or t == "union" then return "" end
        if t == ";" or t == "}" or t == "{" or t == "=" then return nil end
    end
end

-- The index of the > that closes the < at index i.
local function angle_end(list, i)
    local depth = 0
    for k = i, #list do
        local t = list[k].text
        if t == "<" or t == "(" then depth = depth + 1
        elseif t == ">" or t == ")" then depth = depth - 1 end
        if depth == 0 then return k end
        if t == ";" or t == "{" then return nil end
    end
end

-- Functions and variables from index i to `last`, within namespaces and classes, too.
function Writer:functions(i, last)
    local list = self.list
    while i <= last do
        local t = list[i].text
        if t == "__global__" then self:kernel(i)
        elseif t == "__constant__" or t == "__device__" then
            i = not self.template and not self.class and self:variables(i) or i
        elseif t == "template" and (list[i + 1] or {}).text == "<" then
            local stop = angle_end(list, i + 1)
            self.template, i = stop and { i + 2, stop - 1 }, stop or i
        elseif t == ";" or t == "}" then self.template = nil
        elseif t == "{" then i = self:braces(i) end
        i = i + 1
    end
end

-- What is in the { at index i. Returns the index of its }.
function Writer:braces(i)
    local last = closing(self.list, i)
    if not last then
        fail("%s: the { of line %d is not closed", self.what,
            line_of(self.text, self.list[i].at))
    end
    local space = self.cxx and self:scope(i)
    if self:is_body(i) then self:body(i, last)
    elseif space then
        local before, class = self.space, self.class
        self.space, self.template, self.class = before .. space, nil, class or space == ""
        self:functions(i + 1, last - 1)
        self.space, self.class = before, class
    end
    self.template = nil
    return last
end

-- The kernel's parameters; args: of its template.
function Writer:parameters_of(kernel, args)
    local what = self.what .. ": " .. kernel.name
    return parameters.parameters(self.list, kernel.first, kernel.last, what,
        names.bind(kernel, args, self.env))
end

-- The column of the user's line for one of the text that is compiled.
function Writer:column(line, at)
    local text, k, seen = self.text, 1, 0
    for _ = 2, line do k = (text:find("\n", k, true) or #text) + 1 end
    local first = k
    while k <= #text and seen + #self.bytes[k] < at do
        seen, k = seen + #self.bytes[k], k + 1
    end
    return k - first + 1
end

-- The numbers in the brackets after a variable's name.
local function dims_of(list, k)
    local dims = {}
    while list[k + 1] and list[k + 1].text == "[" do
        dims[#dims + 1] = math.tointeger(tonumber(list[k + 2].text))
        k = closing(list, k + 1) or #list
    end
    return dims
end

-- What a compiler of C, of C++ (cxx), or NVRTC ("card") takes of the text: result.compiled,
-- .kernels, .globals {name =, dtype =, read = whether kernels only read it, dims =}, .uses_dynamic:
-- whether it has dynamic shared memory.
local function read(text, what, cxx)
    local w = setmetatable({ text = text, what = what, list = lexer.tokens(text), bytes = {},
        everywhere = {}, shared = {}, kernels = {}, globals = {}, env = { [""] = {} }, space = "",
        zones = 0, arrays = 0, casts = 0, bodies = {}, cxx = cxx }, Writer)
    for k = 1, #text do w.bytes[k] = text:sub(k, k) end
    if cxx == "card" then w:directives()
    else
        w:declarations()
        w:functions(1, #w.list)
        for _, body in ipairs(w.bodies) do
            arrays.of_body(w, body[1], body[2])
            casts.of_body(w, body[1], body[2])
        end
        spins.of_text(w)
    end
    for _, v in ipairs(w.globals) do
        v.dtype = parameters.dtype_of(w.list, v.first, v.type_end, w.env)
        v.dims = dims_of(w.list, v.at)
    end
    w.compiled = table.concat(w.bytes)
    return w
end

return { read = read }
