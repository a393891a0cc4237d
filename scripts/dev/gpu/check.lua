-- What scripts/dev/gpu-check does on the machine with the GPU: doctor, the op tests,
-- sync.selftest(), the labs, compute-sanitizer and the benchmark, each within its own time; then
-- report.json and REPORT.md, and exit status 1 where something failed. gpush check.lua ROOT OUT
-- [DEVICE]; DEVICE is cuda, or sim to try the program itself. ROOT has scripts/ and tests/.
local root, out, device = arg[1], arg[2], arg[3] or "cuda"
local gpush = os.getenv "GPUSH_PROGRAM" or root .. "/build/default/gpush"
local started = os.time()
local most = 460 -- seconds in all: under 8 minutes with the report

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function read(path)
    local f = io.open(path)
    local text = f and f:read "a" or ""
    if f then f:close() end
    return text
end

-- The output of a command, or nil if it fails or takes longer than a minute (a driver that hangs,
-- an import from a slow disk).
local function output(command)
    local p = io.popen("timeout -k 5 60 sh -c " .. quote(command) .. " 2>/dev/null </dev/null")
    local text = p:read "a"
    return p:close() and text:gsub("%s+$", "") or nil
end

-- Other programs must not see the libraries of the bundle.
local clean = "env -u LD_LIBRARY_PATH "

-- in order: name, ok, seconds, what, log; the reason if there is no device
local parts, absent = {}, nil
local waiting = {} -- parts that will run at the same time

local function add_part(name, ok, seconds, what, log)
    parts[#parts + 1] = { name = name, ok = ok and true or false, seconds = seconds, what = what,
        log = log, text = log and read(log) or "" }
    return parts[#parts]
end

local function log_of(name) return out .. "/" .. name:gsub("[^%w]+", "-") .. ".log" end

-- What became of a part that has ended with this exit status.
local function judged(name, limit, seconds, status, judge)
    local text, ok = read(log_of(name)), status == 0
    local what = ok and "ran" or "exit status " .. tostring(status)
    if status == 124 or status == 137 then ok, what = false, "stopped after " .. limit .. " s"
    elseif judge then ok, what = judge(text, ok, status) end
    return add_part(name, ok, seconds, what, log_of(name))
end

-- The shell's command for a part, and its limit of time; nil where it does not run.
local function command_of(name, limit, command)
    if absent then add_part(name, false, 0, "not run: there is no CUDA device") return end
    limit = math.min(limit, most - (os.time() - started))
    if limit < 1 then add_part(name, false, 0, "not run: no time was left") return end
    return ("cd %s && timeout -k 5 %d %s >%s 2>&1 </dev/null"):format(quote(root), limit, command,
        quote(log_of(name))), limit
end

-- Runs a part alone, as what is timed must.
local function part(name, limit, command, judge)
    local shell, seconds = command_of(name, limit, command)
    if not shell then return parts[#parts] end
    io.stderr:write("gpu-check: ", name, "\n")
    local t0 = os.time()
    local _, _, status = os.execute(shell)
    return judged(name, seconds, os.time() - t0, status, judge)
end

-- Puts a part among those that `together` runs.
local function later(name, limit, command, judge)
    waiting[#waiting + 1] = { name = name, limit = limit, command = command, judge = judge }
end

-- Runs the parts of `later`, several at a time: a program takes seconds to begin on a card.
local function together(jobs)
    local script = out .. "/parts.sh"
    local f = assert(io.open(script, "w"))
    for i, p in ipairs(waiting) do
        p.shell, p.limit = command_of(p.name, p.limit, p.command)
        if p.shell then
            f:write(("%d)\nbegun=$(date +%%s)\n%s\necho $? $(($(date +%%s) - begun)) >%s\n;;\n")
                :format(i, p.shell, quote(log_of(p.name) .. ".status")))
        end
    end
    f:close()
    local text = "case $1 in\n" .. read(script) .. "esac\n"
    f = assert(io.open(script, "w"))
    assert(f:write(text))
    f:close()
    io.stderr:write(("gpu-check: %d parts, %d at a time\n"):format(#waiting, jobs))
    os.execute(("seq %d | timeout -k 5 %d xargs -P %d -n 1 sh %s"):format(#waiting,
        math.max(1, most - (os.time() - started)), jobs, quote(script)))
    for _, p in ipairs(waiting) do
        if p.shell then
            local status, seconds = read(log_of(p.name) .. ".status"):match "(%d+) (%d+)"
            os.remove(log_of(p.name) .. ".status")
            if status then
                judged(p.name, p.limit, tonumber(seconds), tonumber(status), p.judge)
            else
                add_part(p.name, false, 0, "not run to its end: no time was left", log_of(p.name))
            end
        end
    end
    os.remove(script)
    waiting = {}
end

-- The summary of a TAP file.
local function tap(text, ok)
    local good, bad, skipped = 0, 0, 0
    for line in text:gmatch "[^\n]+" do
        if line:find "^ok %d" then
            if line:find "# SKIP" then skipped = skipped + 1 else good = good + 1 end
        elseif line:find "^not ok %d" then bad = bad + 1 end
    end
    local what = ("%d passed, %d failed, %d skipped"):format(good, bad, skipped)
    return ok and bad == 0 and good > 0, what
end

-- ---- the parts ----

local program = quote(gpush)
part("doctor", 60, program .. " doctor", function(text) return text ~= "", "see its text below" end)

-- Without a device no other part is tried; if the query itself fails, all are.
local answer = device == "cuda" and output(program .. " -e 'print(cuda.is_available())'") or ""
absent = answer:match "^false%s*(.*)" -- and the reason

later("sync.selftest", 120, program .. " -e " .. quote(("sync.selftest(%q)"):format(device)),
    function(text, ok)
        local what, missed, alarms = text:match "(%d+ caught, (%d+) missed, (%d+) false alarms)"
        return ok and missed == "0" and alarms == "0", what or "no result"
    end)

local function last_line(text, ok) return ok, text:match "([^\n]+)%s*$" or "no result" end
later("attention by cuDNN", 60, program .. " scripts/dev/gpu/attention.lua " .. device, last_line)

-- As many pictures as a processor plays in seconds, where there is no card.
local masked = ("masked_loss --batch %d --steps 2 --workers 0"):format(device == "cuda" and 8 or 1)
for _, lab in ipairs { "gathernd --rows 200", "svd", masked, "seven_tips",
    device == "cuda" and "digits" or nil }
do
    local file, options = lab:match "^(%S+)(.*)$"
    later("lab " .. file, 90,
        ("%s scripts/labs/%s.lua%s --device %s"):format(program, file, options, device))
end

local facts = {
    date = os.date "!%Y-%m-%d %H:%M UTC",
    card =
        output "nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap \z
            --format=csv,noheader" or "nvidia-smi is not here",
    device = device, system = output "uname -srm" or "", python = "no PyTorch that sees the GPU",
}

-- The tests start the program as $GPUSH_BUILD/gpush and write to $TMPDIR. Those that control the
-- stand-in for CUDA (tests/fake_cuda) are not for a GPU.
local scratch = out .. "/scratch"
os.execute(("rm -rf %s && mkdir -p %s && ln -s %s %s/gpush"):format(
    quote(scratch), quote(scratch), program, quote(scratch)))
local environment = ("env GPUSH_ROOT=%s GPUSH_BUILD=%s GPUSH_TEST_DEVICE=%s LUA_PATH=%s "):format(
    quote(root), quote(scratch), device, quote(root .. "/tests/support/?.lua;;"))
local tests = output("cd " .. quote(root) ..
    " && grep -L 'require \"fake\"\\|/fake/' $(find tests/cuda -name '*.lua' | sort)" ..
    " && sed 's,.*,tests/support/on_cuda.lua tests/&.lua,' tests/cuda/also") or ""
for files in tests:gmatch "[^\n]+" do
    local name = files:match "([^ ]+)%.lua$":gsub("^tests/", ""):gsub("^cuda/", "")
    local folder = quote(scratch .. "/" .. name:gsub("/", "-"))
    later("test " .. name, 90, ("mkdir %s && %s TMPDIR=%s HOME=%s %s %s"):format(folder,
        environment, folder, folder, program, files), tap)
end

local sanitizer = output "command -v compute-sanitizer"
    or output "ls /usr/local/cuda/bin/compute-sanitizer"
-- Of cuDNN's attention memcheck sees all; the other tools report its own kernels, and are given
-- ours alone.
for _, tool in ipairs(sanitizer and device == "cuda"
    and { "memcheck", "racecheck", "initcheck", "synccheck" } or {})
do
    later("compute-sanitizer " .. tool, 120,
        ("%s --tool %s --error-exitcode 9 %s scripts/dev/gpu/touch.lua %s%s"):format(
            quote(sanitizer), tool, program, device, tool == "memcheck" and "" or " ours"),
        function(text, ok) return ok, text:match "(%w+ SUMMARY: [^\n]+)" or "no summary" end)
end
together(device == "cuda" and 4 or 1) -- sim is the processor

-- The first Python that prints a text for `what`, run in a process of its own; and the text.
local function python_with(what)
    for _, p in ipairs { os.getenv "GPUSH_BENCH_PYTHON" or "python3", "/usr/bin/python3" } do
        local said = output(clean .. quote(p) .. " -c " .. quote(what))
        if said then return p, said end
    end
end
local python,
    torch =
        python_with 'import torch; assert torch.cuda.is_available(); print("PyTorch", \z
            torch.__version__, "CUDA", torch.version.cuda)'
facts.python = torch or facts.python
-- a trial on the stand-in for CUDA, too
local small = (device ~= "cuda" or os.getenv "GPUSH_CHECK_SMALL") and " small" or ""
part("records", 60, program .. " scripts/dev/gpu/records.lua " .. device .. small,
    function(text, ok) return ok, (text:gsub("\n", "; "):gsub("; $", "")) end)
-- on the card of that name, if there is one
local model
for _, name in ipairs { "h200", "h100", "a100", "v100", "t4" } do
    if facts.card:lower():find(name, 1, true) then model = name end
end
model = model or device ~= "cuda" and "h200"
local predicted = model
    and part("modelled card", 60, ("%s scripts/dev/gpu/predict.lua %s %s%s"):format(program, device,
        model, small))
local ours = part("benchmark", 120, program .. " scripts/dev/gpu/bench.lua " .. device .. small)
local with_cupy =
    python_with "import cupy; assert cupy.cuda.runtime.getDeviceCount() > 0; \z
        print(cupy.__version__)"
local theirs = python
    and part("benchmark, PyTorch", 120, clean .. quote(python) .. " scripts/dev/gpu/peers.py")
local cupys = with_cupy
    and part("benchmark, CuPy", 60, clean .. quote(with_cupy) .. " scripts/dev/gpu/peers_cupy.py")

-- ---- the benchmark's table ----

-- Time relative to PyTorch's, at most; relative to the copy's bandwidth, at least.
local targets = { ["launch x + y, 16"] = 0.5, ["matmul bf16 8192"] = 1.03,
    ["matmul f32 8192"] = 1.03, ["conv2d 10 to 10, 128x256x256"] = 1.0,
    ["conv2d 10 to 10 backward, 128x256x256"] = 1.0,
    ["masked loss, batch 256, baseline"] = 0.9, ["masked loss, batch 256, ignore_index"] = 0.9,
    ["svd 8x128x128"] = 0.25, ["svd 512x128x128"] = 0.25,
    ["svd 1000x64x64"] = 0.25, ["svd 2048x2048"] = 1.0, ["lstm 50x50x1024"] = 1.0,
    ["profiling an op"] = 0.2, ["eigh 4096"] = 1.0, ["topk(10) 64x1000000"] = 1.0,
    ["group_norm backward 32x64x112x112"] = 1.0 }
local shares = { ["x * 2, 1e8"] = 0.9, ["x + y, 1e8"] = 0.9, ["exp 1e8"] = 0.9, ["sum 1e8"] = 0.9,
    ["bf16 x * 2, 1e8"] = 0.9,
    ["softmax 32768x4096"] = 0.85, ["layer_norm 32768x4096"] = 0.85,
    ["softmax 100000x1001"] = 0.7, ["softmax 10000x10000, dim 1"] = 0.7, ["softmax 1e8"] = 0.7,
    ["softmax 8x131072"] = 0.7, ["cumsum 1e8"] = 0.7, ["cumsum 10000x10000, dim 1"] = 0.7,
    ["cumsum 10000x10000, dim 2"] = 0.7, ["cumsum 1000000x100"] = 0.7,
    ["cross_entropy 100000x1000"] = 0.7, ["histc 1e8"] = 0.7, ["bincount 1e8"] = 0.7,
    ["masked_select 1e8"] = 0.7 }

local function figures(p)
    local by = {}
    for line in (p and p.text or ""):gmatch "[^\n]+" do
        local name, seconds, rest = line:match "^([^\t]+)\t([^\t]+)\t?(.*)$"
        local bytes, operations = (rest or ""):match "^([^\t]*)\t?(.*)$"
        if name then
            by[#by + 1], by[name] = name,
                { seconds = tonumber(seconds), bytes = tonumber(bytes) or 0,
                    operations = tonumber(operations) or 0,
                    failed = not tonumber(seconds) and rest }
        end
    end
    return by
end

local a, b, cupy = figures(ours), figures(theirs), figures(cupys)
local copy = a["copy 1e8"] and a["copy 1e8"].seconds and a["copy 1e8"].bytes / a["copy 1e8"].seconds
local rows = {}
for _, name in ipairs(a) do
    local x, y = a[name], b[name]
    local row = { name = name, seconds = x.seconds, failed = x.failed, peer = y and y.seconds,
        cupy = cupy[name] and cupy[name].seconds, target = targets[name],
        share_target = shares[name] }
    row.target = row.target or not row.share_target and row.peer and 1 or nil
    row.ratio = x.seconds and y and y.seconds and x.seconds / y.seconds
    row.rate = x.seconds and x.operations > 0 and x.operations / x.seconds or nil
    row.share = x.seconds and x.bytes > 0 and copy and x.bytes / x.seconds / copy or nil
    if row.target and row.ratio then row.met = row.ratio <= row.target end
    if row.share_target and row.share then row.met = row.share >= row.share_target end
    rows[#rows + 1] = row
end

-- ---- the report ----

facts.version = output(program .. " -v") or ""
facts.sanitizer = sanitizer or "not here"

local function time(s)
    return not s and "-" or s < 1e-3 and ("%.2f us"):format(s * 1e6) or ("%.3f ms"):format(s * 1e3)
end

local text = { "# gpush on a GPU\n\n", "Made by `scripts/dev/gpu-check`; do not edit.\n\n" }
local function add(...) text[#text + 1] = (...):format(select(2, ...)) end
for _, key in ipairs { "date", "card", "version", "system", "python", "sanitizer" } do
    add("- %s: %s\n", key, facts[key])
end
if absent then
    add("\n**There is no CUDA device here (%s): nothing in this report ran on a GPU.**\n", absent)
end
if device ~= "cuda" then
    add "\n**This is a trial on the simulated device: nothing here ran on a GPU.**\n"
end
add "\n| part | | seconds | |\n|---|---|---|---|\n"
local failed = 0
for _, p in ipairs(parts) do
    if not p.ok then failed = failed + 1 end
    add("| %s | %s | %d | %s |\n", p.name, p.ok and "ok" or "**failed**", p.seconds, p.what)
end
add "\n| benchmark | gpush | PyTorch | CuPy | ratio to PyTorch | target | of copy | target | met \z
    | Tflop/s |\n|---|---|---|---|---|---|---|---|---|---|\n"
for _, r in ipairs(rows) do
    local function number(v, f) return v and f:format(v) or "" end
    add("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name,
        r.failed and "failed" or time(r.seconds), time(r.peer), time(r.cupy),
            number(r.ratio, "%.3f"), number(r.target, "%g"),
        number(r.share, "%.2f"), number(r.share_target, "%g"),
            r.met == nil and "" or r.met and "yes" or "no",
        number(r.rate and r.rate / 1e12, "%.1f"))
end
if predicted then
    add("\n| on a modelled %s | measured | modelled | modelled / measured |\n|---|---|---|---|\n",
        model:upper())
    for name, measured, modelled in predicted.text:gmatch "([^\t\n]+)\t([^\t\n]+)\t([^\n]+)" do
        local m, p = tonumber(measured), tonumber(modelled)
        add("| %s | %s | %s | %s |\n", name, m and time(m) or measured, p and time(p) or modelled,
            m and p and ("%.2f"):format(p / m) or "")
    end
end
add("\n```\n%s\n```\n", (parts[1].text:gsub("%s+$", "")))
for _, p in ipairs(parts) do
    if not p.ok and p.text ~= "" then
        local bad = {}
        for line in p.text:gmatch "[^\n]+" do
            if line:find "^not ok" or line:find "^#" or line:find "rror" then
                bad[#bad + 1] = line
            end
            if #bad == 60 then break end
        end
        add("\n## %s\n\n```\n%s\n%s\n```\n", p.name, table.concat(bad, "\n"), p.text:sub(-1500))
    end
end

local function write(name, s)
    local f = assert(io.open(out .. "/" .. name, "w"))
    assert(f:write(s))
    f:close()
end
write("REPORT.md", table.concat(text))
for _, p in ipairs(parts) do p.text = nil end
write("report.json",
    require "gpush".json.encode { facts = facts, parts = parts, benchmark = rows, failed = failed,
        seconds = os.time() - started })
io.write(table.concat(text))
io.stderr:write(("gpu-check: %d of %d parts failed; %d s; the report is %s/REPORT.md\n"):format(
    failed, #parts, os.time() - started, out))
os.exit(failed == 0 and 0 or 1)
