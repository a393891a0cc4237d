--!plain
-- Reads CUDA C as far as a launch needs: the prototypes of __global__ functions, and what has to be
-- written otherwise for a C compiler. Text is inserted only, or replaced by spaces, so that lines
-- stay where they are.
local require = ...
local fail = require "fail"

-- ---- tokens ----

local OPEN <const> = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- The end of the string or character that begins at `at`.
local function string_end(text, at)
    local quote, i = text:sub(at, at), at + 1
    while i <= #text do
        local c = text:sub(i, i)
        if c == "\\" then i = i + 1
        elseif c == quote or c == "\n" then return i end
        i = i + 1
    end
    return #text
end

-- The end of a directive of the preprocessor: of its last line, of comments in it, too.
local function directive_end(text, at)
    local stop = text:find("\n", at, true) or #text + 1
    while text:sub(1, stop - 1):find "\\%s*$" and stop <= #text do
        stop = text:find("\n", stop + 1, true) or #text + 1
    end
    return stop - 1
end

-- Tokens of the text: {text =, at =, kind = "word", "string", "directive", "number" or "sign"}.
local function tokens(text)
    local list, at, fresh = {}, 1, true
    local function add(kind, stop)
        list[#list + 1] = { kind = kind, at = at, text = text:sub(at, stop) }
        at, fresh = stop + 1, false
    end
    while at <= #text do
        local c, two = text:sub(at, at), text:sub(at, at + 1)
        if c == "\n" then at, fresh = at + 1, true
        elseif c:find "%s" then at = at + 1
        elseif two == "//" then at = text:find("\n", at, true) or #text + 1
        elseif two == "/*" then at = (select(2, text:find("*/", at + 2, true)) or #text) + 1
        elseif c == "#" and fresh then add("directive", directive_end(text, at))
        elseif c == '"' or c == "'" then add("string", string_end(text, at))
        elseif c:find "[%a_]" then add("word", select(2, text:find("^[%w_]+", at)))
        elseif c:find "%d" then add("number", select(2, text:find("^[%w_.]+", at)))
        else add("sign", at) end
    end
    return list
end

-- The index of the token that closes the bracket at index i; nil: none does.
local function closing(list, i)
    local depth = 0
    for k = i, #list do
        local t = list[k]
        if t.kind == "sign" then
            if OPEN[t.text] then depth = depth + 1
            elseif t.text == ")" or t.text == "]" or t.text == "}" then depth = depth - 1 end
            if depth == 0 then return k end
        end
    end
end

-- ---- types ----

local FLOAT <const>, SIGNED <const>, UNSIGNED <const> = 0, 1, 2
-- Of a type's words in alphabetical order: kind, bytes, and the dtype that a pointer takes.
local TYPES <const> = {
    ["float"] = { FLOAT, 4, "f32" }, ["double"] = { FLOAT, 8, "f64" },
    ["int"] = { SIGNED, 4, "i32" }, ["unsigned"] = { UNSIGNED, 4, "i32" },
    ["int unsigned"] = { UNSIGNED, 4, "i32" }, ["int32_t"] = { SIGNED, 4, "i32" },
    ["uint32_t"] = { UNSIGNED, 4, "i32" }, ["uint"] = { UNSIGNED, 4, "i32" },
    ["short"] = { SIGNED, 2, "i16" }, ["short unsigned"] = { UNSIGNED, 2, "i16" },
    ["int16_t"] = { SIGNED, 2, "i16" }, ["uint16_t"] = { UNSIGNED, 2, "i16" },
    ["char"] = { SIGNED, 1, "i8" }, ["char signed"] = { SIGNED, 1, "i8" },
    ["int8_t"] = { SIGNED, 1, "i8" }, ["char unsigned"] = { UNSIGNED, 1, "u8" },
    ["uint8_t"] = { UNSIGNED, 1, "u8" }, ["uchar"] = { UNSIGNED, 1, "u8" },
    ["bool"] = { UNSIGNED, 1, "bool" }, ["size_t"] = { UNSIGNED, 8, "i64" },
    ["long"] = { SIGNED, 8, "i64" }, ["long unsigned"] = { UNSIGNED, 8, "i64" },
    ["int long"] = { SIGNED, 8, "i64" }, ["int64_t"] = { SIGNED, 8, "i64" },
    ["long long"] = { SIGNED, 8, "i64" }, ["long long unsigned"] = { UNSIGNED, 8, "i64" },
    ["int long long"] = { SIGNED, 8, "i64" }, ["uint64_t"] = { UNSIGNED, 8, "i64" },
    ["void"] = { UNSIGNED, 0 },
}
local QUALIFIERS <const> = { const = true, volatile = true, __restrict__ = true, restrict = true,
    __restrict = true }

-- What a kernel takes, from the tokens first … last of a parameter.
local function parameter(list, first, last, what, k)
    local words, stars, constant, name = {}, 0, false, nil
    for i = first, last do
        local t = list[i].text
        if t == "*" then stars = stars + 1
        elseif t == "const" then constant = constant or stars == 0
        elseif list[i].kind == "word" and i == last and #words > 0 then name = t
        elseif list[i].kind == "word" and not QUALIFIERS[t] then words[#words + 1] = t
        elseif list[i].kind ~= "word" then
            fail("%s: parameter %d: '%s' is not taken here (expected a type of C, perhaps with \z
                *, and a name)", what, k, t)
        end
    end
    local shown = (constant and "const " or "") .. table.concat(words, " ") ..
        (stars > 0 and " " .. ("*"):rep(stars) or "")
    table.sort(words)
    local type = TYPES[table.concat(words, " ")]
    if not name then fail("%s: parameter %d has no name", what, k) end
    if not type or stars > 1 or (stars == 0 and type[2] == 0) then
        fail("%s: parameter %d '%s': a launch cannot pass %s (expected a number, or a pointer to \z
            numbers)", what, k, name, shown)
    end
    return { name = name, text = shown, pointer = stars == 1, const = constant, kind = type[1],
        size = type[2], dtype = stars == 1 and type[3] or nil }
end

-- The parameters in the brackets from index i to `last`.
local function parameters(list, i, last, what)
    local params, first, depth = {}, i + 1, 0
    if first == last or (first + 1 == last and list[first].text == "void") then return params end
    for k = first, last do
        local t = list[k].text
        if OPEN[t] then depth = depth + 1 end
        if (t == "," and depth == 0) or k == last then
            params[#params + 1] = parameter(list, first, k - 1, what, #params + 1)
            first = k + 1
        end
        if t == ")" or t == "]" then depth = depth - 1 end
    end
    return params
end

-- ---- what is written otherwise ----

-- What a thread asks for, as a function's own variables: reading them is no access of memory.
local OF_THREAD <const> = { threadIdx = "gp_thread()", blockIdx = "gp_block()",
    blockDim = "gp_block_dim()", gridDim = "gp_grid_dim()" }
local HEADERS <const> = { ["cuda.h"] = true, ["cuda_runtime.h"] = true, ["math.h"] = true,
    ["cuda_runtime_api.h"] = true, ["device_launch_parameters.h"] = true, ["stdint.h"] = true,
    ["stdio.h"] = true, ["float.h"] = true, ["limits.h"] = true, ["math_constants.h"] = true,
    ["stdbool.h"] = true, ["stddef.h"] = true, ["assert.h"] = true, ["stdlib.h"] = true,
    ["cmath"] = true, ["cstdint"] = true, ["cfloat"] = true, ["cstdio"] = true }

local function line_of(text, at) return select(2, text:sub(1, at - 1):gsub("\n", "")) + 1 end

local Writer = {}
Writer.__index = Writer

-- Spaces in place of the characters from `at` on.
function Writer:blank(at, stop)
    for k = at, stop do
        if self.bytes[k] ~= "\n" then self.bytes[k] = " " end
    end
end

function Writer:insert(at, text) self.bytes[at] = self.bytes[at] .. text end

function Writer:directive(t)
    local header = t.text:match '^#%s*include%s*[<"]([^>"]*)'
    if header and not HEADERS[header] then
        fail("%s: #include of '%s' (line %d): a kernel's text stands alone; CUDA's and C's own \z
            functions are there", self.what, header, line_of(self.text, t.at))
    end
    if header or t.text:find "^#%s*line" or t.text:find "^#%s*%d" then
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

-- extern __shared__ T name[]: a pointer to the memory whose size the launch gives.
function Writer:dynamic(i)
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
    self.shared[name.text] = ("%s *const %s = gp_dynamic()"):format(table.concat(words, " "),
        name.text)
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
    local found, texts = {}, {}
    for k = i, last do
        local word = self.list[k].text
        if OF_THREAD[word] or self.shared[word] then found[word] = true end
    end
    for word in pairs(self.everywhere) do found[word] = true end
    for word in pairs(found) do
        texts[#texts + 1] = OF_THREAD[word]
            and ("const gp_uint3 %s = %s; "):format(word, OF_THREAD[word])
            or self.shared[word] .. "; "
    end
    table.sort(texts)
    self:insert(self.list[i].at, " " .. table.concat(texts))
end

local function kernel_at(list, i, what)
    local k = i + 1
    while list[k] and list[k].text ~= "(" do k = k + 1 end
    while list[k] and list[k - 1].text:find "^__launch_bounds__$" do -- its arguments
        k = (closing(list, k) or #list) + 1
        while list[k] and list[k].text ~= "(" do k = k + 1 end
    end
    local last = list[k] and closing(list, k)
    if not last or not list[last + 1] or list[last + 1].text ~= "{" then return nil end
    local name = list[k - 1].text
    return { name = name, params = parameters(list, k, last, what and what .. ": " .. name or name),
        at = list[i].at }
end

-- First all that is declared: an array of dynamic shared memory may stand before the functions.
function Writer:declarations()
    local list = self.list
    for i, t in ipairs(list) do
        if t.kind == "directive" then self:directive(t)
        elseif t.text == "extern" and list[i + 1] and list[i + 1].kind == "string" then
            self:linkage(i)
        elseif t.text == "extern" then
            for k = i, math.min(i + 3, #list) do
                if list[k].text == "__shared__" then
                    self:dynamic(i)
                    break
                end
            end
        elseif t.text == "__shared__" and self.bytes[t.at] == "_" then self:static(i) end
    end
end

function Writer:functions()
    local list, i = self.list, 1
    while list[i] do
        if list[i].text == "__global__" then
            local kernel = kernel_at(list, i, self.what)
            if kernel then self.kernels[#self.kernels + 1] = kernel end
        end
        if list[i].text == "{" then
            local last = closing(list, i)
            if not last then
                fail("%s: the { of line %d is not closed", self.what,
                    line_of(self.text, list[i].at))
            end
            if list[i - 1] and list[i - 1].text == ")" then self:body(i, last) end
            i = last
        end
        i = i + 1
    end
end

-- {text = what a C compiler takes, kernels = {{name =, params =}, …}, dynamic = whether it has
-- dynamic shared memory}.
local function read(text, what)
    local w = setmetatable({ text = text, what = what, list = tokens(text), bytes = {},
        everywhere = {}, shared = {}, kernels = {}, zones = 0 }, Writer)
    for k = 1, #text do w.bytes[k] = text:sub(k, k) end
    w:declarations()
    w:functions()
    -- The column of the user's line for one of the text that is compiled.
    local function column(line, at)
        local k, seen = 1, 0
        for _ = 2, line do k = (text:find("\n", k, true) or #text) + 1 end
        local first = k
        while k <= #text and seen + #w.bytes[k] < at do
            seen, k = seen + #w.bytes[k], k + 1
        end
        return k - first + 1
    end
    return { text = table.concat(w.bytes), kernels = w.kernels, column = column,
        dynamic = w.uses_dynamic or false }
end

return { read = read, line_of = line_of }
