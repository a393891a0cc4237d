--!plain
-- Hostile texts and names: whatever they are, cuda.kernel ends with a message, and the compiler's
-- options are the same as for any other text. A compiler in their place notes what it was given.
local t = require "tap"
local g = require "gpush"
require "own_kernels".need_compiler()

local PIECES <const> = { "__global__ ", "void ", "k", "(", ")", "{", "}", "<", ">", "template ",
    "typename T", ", ", "; ", "\n", "\\\n", "#include ", "<x>", '"/etc/passwd"', "#line 1 ", "%:",
    "extern ", '"C" ', "__shared__ ", "float ", "s[]", "*", "&", "const ", "R\"x(", ")x\"", "'",
    '"', "/*", "*/", "//", "namespace ", "struct ", "using T = ", "typedef ", "__constant__ ", "= ",
    "0", "-o /x", " -fplugin=x ", "@/x", "\0", "\xff", "__device__ ", "[", "]", "::", "-> ",
    "operator ",
    "__launch_bounds__(3) ", "__half ", "$(x)", "`x`", "1'0", "_Pragma(\"x\")", "\r", "\t" }
local SEEDS <const> = { "template <typename T, int N = 2> __global__ void k(const T *x, T *y) {\n\z
    extern __shared__ T s[]; __shared__ float a[4], b; y[threadIdx.x] = s[0]; }\n",
    "#include <cuda_fp16.h>\nnamespace n { __constant__ float c[3] = {1, 2, 3};\n\z
    __global__ void k(float *x, int n) { struct Q { int a; } q; x[q.a] = c[n]; } }\n",
    "__constant__ float c[2];\n__global__ void k(float *x, int n) { __syncthreads();\n\z
    x[n] = c[0]; }\n",
    "#define N 3\nextern \"C\" __global__ void k(int *x) { x[N] = 1; } /* more */\n" }
local NAMES <const> = { "k", "k<float>", "n::k", "k<float, 3>", "k<", "k>", "-o", "k -fplugin=x",
    "k<float>; system", "k<'\"'>", "", " ", "\n#include <x>\n", "k<float\0>", ("k<"):rep(2000),
    "k<float, " .. ("("):rep(500) .. ">" }

local function mutate(text)
    for _ = 1, math.random(1, 4) do
        local at, piece = math.random(0, #text), PIECES[math.random(#PIECES)]
        local cut = math.random(4) == 1 and math.random(0, 20) or 0
        text = text:sub(1, at) .. piece .. text:sub(at + 1 + cut)
    end
    return text
end

-- ---- in a program of its own, whose compilers note their arguments and refuse ----

if arg[1] == "in" then
    math.randomseed(tonumber(arg[2]))
    local slowest = 0
    for k = 1, 150 do
        local text, name = mutate(SEEDS[k % #SEEDS + 1]), NAMES[math.random(#NAMES)]
        local begin = os.clock()
        local ok, message
        if k % 3 == 0 then ok, message = pcall(g.cuda.module, text, { name })
        else ok, message = pcall(g.cuda.kernel, text, k % 4 == 0 and name or nil) end
        slowest = math.max(slowest, os.clock() - begin)
        assert(not ok and type(message) == "string" and #message > 10, text)
        assert(not message:find("lua/kernel", 1, true), message) -- an error of the reader itself
    end
    return print(("end %.1f"):format(slowest))
end

local bin, log = os.tmpname(), os.tmpname()
os.execute(("rm %s; mkdir %s"):format(bin, bin))
for _, name in ipairs { "gcc", "g++" } do
    local path = bin .. "/" .. name
    local file <close> = assert(io.open(path, "w"))
    file:write(("#!/bin/sh\nprintf '%%s|' \"$@\" >> %s; echo >> %s\n\z
        echo 'kernel:1:1: error: no' >&2; exit 1\n"):format(log, log))
    file:close()
    os.execute("chmod +x " .. path)
end
for seed = 1, 2 do
    local run <close> = io.popen(("PATH=%s:$PATH %s/gpush %s in %d 2>&1"):format(bin,
        os.getenv "GPUSH_BUILD", arg[0], seed))
    local said = run:read "a"
    t.ok(said:find "^end [01]%.", "each text ends with a message, soon: " .. said:sub(1, 300))
end
local seen, kinds, calls = {}, 0, 0
for line in io.lines(log) do
    line = line:gsub("tmp%-[%w.-]+%.", "tmp.")
    if not seen[line] then kinds = kinds + 1 end
    seen[line], calls = true, calls + 1
end
t.ok(calls > 50, "compilers were started: " .. calls)
t.is(kinds, 2, "with the same options for all texts in C, and for all in C++")
for line in pairs(seen) do
    t.ok(line:find "^%-?w?|?%-x|c[+]*|" and line:find "|%-o|tmp%.so|tmp%.c|$" and
        not line:find("plugin", 1, true), "which are: " .. line)
end
t.done()
