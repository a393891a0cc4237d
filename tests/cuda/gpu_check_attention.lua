-- The part of scripts/dev/gpu-check that asks whether cuDNN runs attention, on the stand-in for
-- CUDA: it fails where one call is not cuDNN's.
local t = require "tap"
local fake = require "fake" -- not for a card
local before = fake.count "launch"
local _ = require "gpush".ones(2, { device = "cuda" }) + 1
t.ok(fake.count "launch" > before, "on the stand-in")
local function run(settings)
    local p = assert(io.popen(("env %s %s/gpush %s/scripts/dev/gpu/attention.lua cuda 2>&1"):format(
        settings, os.getenv "GPUSH_BUILD", os.getenv "GPUSH_ROOT")))
    local text = p:read "a"
    return text, (p:close())
end
local text, ok = run ""
t.is({ text, ok }, { "24 of 24 calls by cuDNN\n", true }, "all of it by cuDNN")
text, ok = run "GPUSH_FAKE_ENGINE=3"
t.ok(not ok and text:find "^not by cuDNN: attention_backward, f16, deterministic\n23 of 24 calls",
    "one that cuDNN has no engine for is named")
text, ok = run "GPUSH_FAKE_ARCH=75"
t.ok(ok and text:find "no attention for compute capability 7", "older cards have none")
t.done()
