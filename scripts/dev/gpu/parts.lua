-- The parts of scripts/dev/gpu-check, in the order in which they run: what a card has not shown yet
-- comes first, in case time runs out. check.lua gives this file what runs a part; each entry has a
-- name, its most seconds, what it does, and a function that does it.
local c = ...
local device, quote, output = c.device, c.quote, c.output
local card = device == "cuda"
local list = {}
local function entry(name, seconds, what, run)
    list[#list + 1] = { name = name, seconds = seconds, what = what, run = run }
end

local sanitizer = output "command -v compute-sanitizer"
    or output "ls /usr/local/cuda/bin/compute-sanitizer"

-- ---- helpers ----

local function last_line(text, ok) return ok, text:match "([^\n]+)%s*$" or "no result" end

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

-- The first Python that prints a text for `what`, run in a process of its own; and the text.
local function python_with(what)
    for _, p in ipairs { os.getenv "GPUSH_BENCH_PYTHON" or "python3", "/usr/bin/python3" } do
        local said = output(c.clean .. quote(p) .. " -c " .. quote(what))
        if said then return p, said end
    end
end
local python, torch
-- The Python with PyTorch, or nil; "no" where there is none.
local function torch_python()
    if torch == nil then
        python, torch = python_with 'import torch; assert torch.cuda.is_available(); \z
            print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)'
        torch = torch or "no PyTorch that sees the GPU"
        c.facts.python = torch
    end
    return python
end

-- What a program of PyTorch's of this folder prints.
local function peer(name, seconds, script)
    local p = torch_python()
    return p and c.part(name .. ", PyTorch", seconds,
        c.clean .. quote(p) .. " scripts/dev/gpu/" .. script)
end

-- A table of the report: a program's lines beside PyTorch's.
local function show(title, ours, theirs, more)
    local t = more or {}
    t.title, t.ours, t.theirs = title, ours and ours.text, theirs and theirs.text
    c.tables[#c.tables + 1] = t
end

-- No line of measure.lua says that an item failed.
local function all_ran(text, ok)
    local failed = {}
    for name in text:gmatch "([^\n\t]+)\tfailed\t" do failed[#failed + 1] = name end
    local _, n = text:gsub("\n", "")
    return ok and #failed == 0 and n > 0,
        #failed > 0 and "failed: " .. table.concat(failed, "; ") or n .. " lines"
end

-- A file of rows by both sides.
local function rows(p, file, more)
    local half = p.seconds // 2
    local ours = c.part(p.name, half, c.program .. " scripts/dev/gpu/rows.lua scripts/dev/gpu/" ..
        file .. " " .. device .. c.small, all_ran)
    local theirs = peer(p.name, half, "rows.py scripts/dev/gpu/" .. file)
    show(p.what, ours, theirs, more)
end

-- A part that only a card can show, elsewhere.
local function left_out(p, why) c.add_part(p.name, true, 0, "left out: " .. why) end

-- ---- the parts ----

entry("steps", 120, "training steps of ResNet-50 and GPT-2 small, and the plans that they made",
    function(p)
        local ours = c.part(p.name, 60, c.script "steps.lua" .. c.small, function(text, ok)
            local ran, what = all_ran(text, ok)
            for name, plans in text:gmatch "([^\n\t]+), plans\t(%d+)" do
                if plans ~= "0" then ran, what = false, name .. ": " .. plans .. " plans" end
            end
            return ran, what
        end)
        show(p.what, ours, peer(p.name, 60, "steps.py"))
    end)

-- Of cuDNN's attention memcheck sees all; the other tools report its own kernels, and are given
-- ours alone.
entry("sanitizers", 120, "compute-sanitizer over one call of every kernel", function(p)
    if not sanitizer or not card then
        return left_out(p, sanitizer and "no card" or "no compute-sanitizer")
    end
    for _, tool in ipairs { "memcheck", "racecheck", "initcheck", "synccheck" } do
        c.later("compute-sanitizer " .. tool, p.seconds,
            ("%s --tool %s --error-exitcode 9 %s%s"):format(quote(sanitizer), tool,
                c.script "touch.lua", tool == "memcheck" and "" or " ours"),
            function(text, ok) return ok, text:match "(%w+ SUMMARY: [^\n]+)" or "no summary" end)
    end
    c.together(4)
end)

entry("sweep", 150, "the sweep of op families on 100 MB, the worst 30", function(p)
    rows(p, "sweep.rows", { worst = 30 })
end)

entry("mended", 60, "rows that were behind PyTorch in tests/gpu/REPORT.md", function(p)
    local older = os.getenv "GPUSH_CHECK_BEFORE"
    local before = older and c.part("mended, before", 20, quote(older) ..
        " scripts/dev/gpu/rows.lua scripts/dev/gpu/mended.rows " .. device .. c.small, all_ran)
    rows(p, "mended.rows", { before = before and before.text, reported = {
        ["cumprod of a line"] = 4.4, ["var of a middle dim f32"] = 3.6,
        ["logical_not f32"] = 2.9, ["adaptive_avg_pool2d bf16"] = 2.7, ["diff f32"] = 2.6,
        ["erfinv bf16"] = 2.6, ["max of a middle dim f32"] = 2.4, ["unique_consecutive"] = 2.3,
        ["lgamma f32"] = 2.0, ["gradient of max_pool2d f32"] = 2.0,
        ["x * 2 of the transposed"] = 1.09, ["to the device"] = 0.86 } })
end)

entry("recording", 20, "what it costs to begin and to end a profile", function(p)
    show(p.what, c.part(p.name, p.seconds, c.script "recording.lua" .. c.small, all_ran))
end)

entry("status", 20, ":status of work in flight", function(p)
    c.part(p.name, p.seconds, "env GPUSH_PROGRAM=" .. c.program .. " " .. c.script "status.lua" ..
        c.small, last_line)
end)

-- The driver compiles the plug-in's PTX where it has to forget the plug-in's code.
entry("ptx", 80, "the first use of each kernel, by the plug-in's code and by its PTX", function(p)
    local run = c.script "first_use.lua" .. " ours"
    local code = c.part(p.name, 20, run, all_ran)
    local ptx = c.part("ptx alone", 60, "env CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_DISABLE=1 " .. run,
        all_ran)
    show(p.what, ptx, code, { peer = "by its code", ours_is = "by its PTX", worst = 20 })
end)

entry("attention", 60, "attention with deterministic algorithms and without", function(p)
    c.part("attention by cuDNN", 30, c.script "attention.lua", last_line)
    rows(p, "attention.rows")
end)

-- The script measures each way of computing them, and writes the table that chooses among these.
entry("svd-table", 120, "the ways of linalg.svd and its like, by shape", function(p)
    if not card then return left_out(p, "no card") end
    c.part(p.name, p.seconds, ("%s %s %d%s"):format(c.script "svd_table.lua", quote(c.out),
        p.seconds - 20, c.small), last_line)
end)

entry("verdicts", 90, "checked kernels' verdicts beside compute-sanitizer's", function(p)
    local checked = c.part(p.name, p.seconds, c.program .. " scripts/dev/gpu/verdicts.lua",
        function(text, ok)
            local _, n = text:gsub("\n", "")
            return ok and n > 0, n .. " kernels by gpush's checks"
        end)
    if not sanitizer or not card then return end
    for name, tool, verdict in checked.text:gmatch "([^\t\n]+)\t([^\t\n]+)\t([^\n]+)" do
        if tool ~= "none" then
            c.later("verdict, " .. name, 30, ("%s --tool %s --error-exitcode 9 %s \z
                scripts/dev/gpu/verdicts.lua %s cuda"):format(quote(sanitizer), tool, c.program,
                quote(name)), function(_, ok)
                return ok == (verdict == "right"),
                    ("%s %s; gpush: %s"):format(tool, ok and "finds nothing" or "finds it", verdict)
            end)
        end
    end
    c.together(4)
end)

entry("record", 60, "gpush record of a program in the PyTorch that is here", function(p)
    local with = torch_python()
    if not with then return left_out(p, torch) end
    c.part(p.name, p.seconds, ("%s record --json -- %s scripts/dev/gpu/steps.py small"):format(
        c.program, quote(with)), function(text, ok)
        local longest = text:match '"kernels":%[{"name":"([^"]+)'
        return ok and longest ~= nil, longest and "longest kernel: " .. longest or "no kernels"
    end)
end)

entry("suite", 200, "sync.selftest, labs, and the tests of cuda against cpu", function()
    c.later("sync.selftest", 120,
        c.program .. " -e " .. quote(("sync.selftest(%q)"):format(device)),
        function(text, ok)
            local what, missed, alarms =
                text:match "(%d+ caught, (%d+) missed, (%d+) false alarms)"
            return ok and missed == "0" and alarms == "0", what or "no result"
        end)
    -- as many pictures as a processor plays in seconds, where there is no card
    local masked = ("masked_loss --batch %d --steps 2 --workers 0"):format(card and 8 or 1)
    for _, lab in ipairs { "gathernd --rows 200", "svd", masked, "seven_tips",
        card and "digits" or nil }
    do
        local file, options = lab:match "^(%S+)(.*)$"
        c.later("lab " .. file, 90,
            ("%s scripts/labs/%s.lua%s --device %s"):format(c.program, file, options, device))
    end
    -- The tests start the program as $GPUSH_BUILD/gpush and write to $TMPDIR. Those that control
    -- the stand-in for CUDA (tests/fake_cuda) are not for a GPU.
    local scratch = c.out .. "/scratch"
    os.execute(("rm -rf %s && mkdir -p %s && ln -s %s %s/gpush"):format(
        quote(scratch), quote(scratch), c.program, quote(scratch)))
    local environment = ("env GPUSH_ROOT=%s GPUSH_BUILD=%s GPUSH_TEST_DEVICE=%s LUA_PATH=%s ")
        :format(quote(c.root), quote(scratch), device, quote(c.root .. "/tests/support/?.lua;;"))
    local tests = output("cd " .. quote(c.root) ..
        " && grep -L 'require \"fake\"\\|/fake/' $(find tests/cuda -name '*.lua' | sort)" ..
        " && sed 's,.*,tests/support/on_cuda.lua tests/&.lua,' tests/cuda/also") or ""
    for files in tests:gmatch "[^\n]+" do
        local name = files:match "([^ ]+)%.lua$":gsub("^tests/", ""):gsub("^cuda/", "")
        local place = quote(scratch .. "/" .. name:gsub("/", "-"))
        c.later("test " .. name, 90, ("mkdir %s && %s TMPDIR=%s HOME=%s %s %s"):format(place,
            environment, place, place, c.program, files), tap)
    end
    c.together(card and 4 or 1) -- sim is the processor
end)

entry("records", 60, "whether a profile is whole, and its times are right", function(p)
    c.part(p.name, p.seconds, c.script "records.lua" .. c.small,
        function(text, ok) return ok, (text:gsub("\n", "; "):gsub("; $", "")) end)
end)

entry("model", 60, "the modelled card of that name beside it", function(p)
    local model
    for _, name in ipairs { "h200", "h100", "a100", "v100", "t4" } do
        if c.facts.card:lower():find(name, 1, true) then model = name end
    end
    model = model or not card and "h200"
    if not model then return left_out(p, "no model of this card") end
    c.predicted = c.part("modelled card", p.seconds, c.script "predict.lua" .. " " .. model ..
        c.small)
    c.model = model
end)

entry("benchmark", 250, "the table of tests/gpu/REPORT.md", function(p)
    local ours = c.part(p.name, 120, c.script "bench.lua" .. c.small)
    local theirs = peer(p.name, 120, "peers.py")
    local with = python_with "import cupy; assert cupy.cuda.runtime.getDeviceCount() > 0; \z
        print(cupy.__version__)"
    local cupys = with and c.part("benchmark, CuPy", 60,
        c.clean .. quote(with) .. " scripts/dev/gpu/peers_cupy.py")
    show(p.what, ours, theirs, { cupy = cupys and cupys.text, targets = true })
end)

return list
