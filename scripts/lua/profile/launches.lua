--!plain
-- What to do about launches, of gpush's own or of a trace of PyTorch, where what is on the record
-- says more than cause.def has for all: what launches already, where most of the host's time is,
-- and how long a call takes.
local require = ...
local fit = require "fit"
local time = fit.time

local GRAPHS <const> = "launch less: CUDA graphs launch most of the work already \z
    (cudaGraphLaunch): take what is left of the step into them; or larger batches"
local COMPILED_LAUNCHES <const> = "launch less: torch.compile made kernels already (triton_…), \z
    mode=\"reduce-overhead\" replays their launches at once, by CUDA graphs; or larger batches"

local FUSED <const> = "launch less: fuse(f) made kernels of several ops already; capture(step) \z
    replays at once the launches of a step that never waits (with SGD, Adam, AdamW, RMSprop or \z
    Adagrad); or larger batches"
local CAPTURED <const> = "launch less: captured functions replay %d of %d already, and only their \z
    first call launches one by one; %slarger batches"
local FUSES <const> = "fuse(f) in them makes one kernel of several ops; or "

-- Where calls that launch return after their kernels: 9 of 10, and three.
local BLOCKING <const> = "%d of %d launches of kernels of 20 us and more return after their \z
    kernel's end: CUDA_LAUNCH_BLOCKING=1 (or a debugger) makes each wait: without it the host \z
    goes on"

-- Launches that take the host far longer than a launch does: in the calls themselves, or in what
-- their ops do before them; nil: they do not.
local SLOW_LAUNCH <const> = 200000 -- ns; a launch by PyTorch takes 5 to 20 us
local LONG_GRAPHS <const> = "%s of it lies in %d calls of %s, %s each: the more kernels a graph \z
    has, the longer its launch takes: fewer of them (torch.compile joins some; larger batches), \z
    or launch it before the device has nothing left to do"
local LONG_CALLS <const> = "%s of it lies in %d calls of %s, %s each, which is no launch's time: \z
    nothing on the record says what the driver did in them (it may load code, or wait for memory, \z
    a lock or room in a queue)"
local function slow_launches(row, prof)
    if row.times == 0 or row.ns < SLOW_LAUNCH * row.times then return end
    for _, it in ipairs(prof:launches()) do
        if it.call and it.called and 2 * it.called >= row.ns and it.times > 0 then
            return (it.call:find("GraphLaunch", 1, true) and LONG_GRAPHS or LONG_CALLS):format(
                time(it.called), it.times, fit.safe(it.call), time(it.called / it.times))
        end
    end
    return ("the host takes %s for each of %d, which is no launch's time: its ops do something \z
        else before them (compile, check guards, make memory); record later steps, where a first \z
        use has passed%s")
        :format(time(row.ns / row.times), row.times,
        prof.writer and "" or ", with with_stack=True, which names it")
end

-- Most of it in an optimizer's step, whose ops are not of many tensors at once; nil: it is not.
local BY_TENSOR <const> = "%s of it is in the optimizer's step, and none of the ops is of many \z
    parameters at once: of torch.optim's, foreach=True takes lists of them, and fused=True (Adam, \z
    AdamW, SGD, Adagrad) does all in a few kernels; one of your own can call torch._foreach_ \z
    functions, or be compiled (torch.compile)"
local BY_LIST <const> = "%s of it is in the optimizer's step, which takes lists of parameters \z
    (foreach) already: fused=True (Adam, AdamW, SGD, Adagrad) does all of it in a few kernels"
local function of_optimizer(row, prof)
    if 2 * row.optimizer < row.ns then return end
    local lists
    for _, op in ipairs(prof:rows { group = "op" }) do
        if op.name:find "^aten::_fused_" then return end
        lists = lists or op.name:find "^aten::_foreach_"
    end
    return (lists and BY_LIST or BY_TENSOR):format(time(row.optimizer))
end

--- -> the advice; nil: what cause.def says.
return function(row, built, prof)
    local fused = row.name and row.name:find("+", 1, true)
    if built.captured then
        return CAPTURED:format(built.replayed, built.launches, fused and "" or FUSES)
    end
    if not prof.foreign then return fused and FUSED or nil end
    if built.longer >= 3 and 10 * built.blocked >= 9 * built.longer then
        return BLOCKING:format(built.blocked, built.longer)
    end
    if row.reads and 2 * row.most >= row.ns then
        return ("%s of it is in %s, which reads a result on the host: no CUDA graph holds that, \z
            and torch.compile joins nothing across it: %s"):format(time(row.most),
            fit.safe(row.name), row.reads)
    end
    return not built.compiled and of_optimizer(row, prof) or slow_launches(row, prof)
        or built.graphs and built.torch and GRAPHS or built.compiled and COMPILED_LAUNCHES or nil
end
