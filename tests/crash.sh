#!/bin/bash
# Faults in workers: what can be an error is one and the session goes on; a crash says where it was, gives the terminal
# back and keeps the history. A file that is cut while a tensor is mapped from it is a crash that needs no bug.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/tools/tap.sh"
cd "$HOME" || exit 1
gpush=$build/gpush

# Errors in a loader's worker.
cat >errors.lua <<'END'
local function try(get)
    local loader = data.Loader { data.Dataset { size = 8, get = get }, batch = 2, workers = 2 }
    local ok, message = pcall(function() for _ in loader() do end end)
    print(ok, (tostring(message):match "sample %d: ([^\n]*)"))
end
try(function() error "boom" end)
try(function() local function f() return 1 + f() end return f() end)
try(function() local function f(s) return (s:gsub(".", f)) end return f "a" end)
try(function() local t = {} for _ = 1, 1000000 do t = { t } end return t end)
try(function() return zeros(1 << 40) end)
try(function() error(setmetatable({}, { __tostring = function() error "again" end })) end)
if arg[1] then try(function() return #("x"):rep(0x70000000) end) end
local function on_device(f)
    local ok, message = pcall(f)
    print(ok, (message:gsub("%(queued.*", "")))
end
on_device(function()
    local x = ones(4, { device = "sim" })
    return x:gather(1, tensor({ 9 }, { device = "sim" })):item()
end)
on_device(function() return linalg.cholesky(eye(3, { device = "sim" }) * 0):sum():item() end)
on_device(function() return ones(1 << 50, { device = "sim" }):sum():item() end)
print "alive"
END
limit=
[ -z "$GPUSH_SAN" ] && limit=memory
out=$( [ -z "$limit" ] || ulimit -v 1700000; "$gpush" errors.lua $limit 2>&1)
says() { [[ $out == *"$1"* ]]; tap_ok $? "$2" "$out"; }
says 'errors.lua:6: boom' "an error in a worker is an error"
says 'errors.lua:7: stack overflow' "so is a stack overflow"
says 'C stack overflow' "one of the C stack"
says 'nested too deeply' "a result that is nested too deeply"
says 'out of memory on cpu' "no memory for a tensor"
says 'again' "an error in an error's text"
if [ -n "$limit" ]; then says 'not enough memory' "no memory for Lua"; else tap_skip "no memory for Lua: the sanitizer has its own"; fi
says 'index 9 is out of range' "in a stream's worker: a bad index"
says 'not positive definite' "a matrix that cannot be factored"
says 'out of memory on sim' "no memory"
[[ $out == *alive ]]; tap_ok $? "and the session goes on" "$out"

# Crashes.
if [ -n "$GPUSH_SAN" ]; then
    tap_skip "crashes: the sanitizer tells of them"
    tap_done
fi
cat >crash.lua <<'END'
safetensors.save("cut.safetensors", { w = ones(1000000) })
w = safetensors.load("cut.safetensors").w
assert(io.open("cut.safetensors", "w")):close()
function in_loader()
    local set = data.Dataset { size = 100, get = function(self, i)
        return w[i] + 1
    end }
    for _ in data.Loader { set, batch = 4, workers = 2 } () do end
end
if arg[1] == "loader" then in_loader() end
if arg[1] == "small" then
    return w[1] + 1
end
if arg[1] == "sum" then
    return w:sum()
end
if arg[1] == "sim" then w:to "sim" end
END
ulimit -c 0
crash() { out=$({ "$gpush" crash.lua "$1"; echo "status $?"; } 2>&1); }
crash small
says "gpush: crashed: bus error, in the op add, at crash.lua:12." "a crash names the op and the line"
says "shortened while tensors are mapped" "and what may be the reason"
says "status 135" "the status is that of the signal"
crash sum
says "in the op sum, at crash.lua:15." "also in a large op, which the pool works on"
crash loader
says "in the worker 'loader " "in a loader, its worker"
says "in the op add, at crash.lua:6." "with its op and line"
crash sim
says "in the worker 'sim:0 stream'" "in a stream, its worker"
out=$("$gpush" -e 'local s = ("x"):rep(100) os.execute("kill -SEGV $PPID")' 2>&1)
says "crashed: segmentation fault, at (command line):1" "a fault outside of an op, the line alone"

# At the prompt.
. "$root/tests/tools/screen.sh"
screen 90 24 "env PS1='sys> ' bash --norc --noprofile"
until_ has 'sys>'
enter "'$gpush' -i crash.lua; stty -a | grep -o -e '-\\?icanon' -e '-\\?isig' -e ' -\\?echo '"
ready
run 'marked = 1'
enter 'in_loader()'
sees "in the worker 'loader " "at the prompt, too"
sees "what was typed is in the history" "with what is left of the session"
sees 'icanon' "the system's shell goes on"
gone '-icanon' "lines are the terminal's again"
gone '-isig' "and Ctrl-C"
gone '-echo' "and what is typed is shown"
grep -qx 'in_loader()' "$HOME/.local/state/gpush/history"
tap_ok $? "the line that crashed is in the history"
enter "'$gpush'"
until_ has '> '
until_ prompt_is_back
key Up
sees '> in_loader()' "and comes back by Up"
tap_done
