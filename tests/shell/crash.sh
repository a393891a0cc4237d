#!/bin/bash
# Faults in workers: those that can be errors are, and the session continues, also after a crash
# where the thread may be abandoned. Any other crash reports its place, restores the terminal and
# keeps the history. A file that is truncated while a tensor is mapped from it is a crash that needs
# no bug.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
gpush=$build/gpush

# Errors in a data loader's worker.
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
out=$( [ -z "$limit" ] || ulimit -v 1700000; OMP_NUM_THREADS=2 "$gpush" errors.lua $limit 2>&1)
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
    tap_skip "crashes: the sanitizer's own handlers tell of them and end the program"
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
if arg[1] == "sim" then
    print(pcall(w.to, w, "sim"))
    print(ones(3, { device = "sim" }):sum():item())
end
END
ulimit -c 0
crash() { out=$({ "$gpush" "${2-crash.lua}" "$1"; echo "status $?"; } 2>&1); }
crash small
says "gpush: crashed: bus error, in the op add, at crash.lua:12." "a crash names the op and the line"
says "shortened while tensors are mapped" "and what may be the reason"
says "status 135" "the status is that of the signal"
crash sum
says "in the op sum, at crash.lua:15." "also in a large op, which the pool works on"
crash loader
says "crash.lua:8: data.Loader: worker " "in a loader's worker it is an error at the loop's line"
says "crashed (SIGBUS, bus error) in the op add, at crash.lua:6 (a file that is shortened" "with signal, op, line and reason"
says "status 1" "as any error"
crash sim
says "the worker of sim:0 crashed (SIGBUS, bus error)" "in a stream's worker one at the next wait"
says "3.0" "and the stream goes on"

# In a function in C: code that holds a lock, or may, is not abandoned.
cat >hurt.c <<'END'
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
const char *luaL_checklstring(void *, int, size_t *);
void lua_pushcclosure(void *, int (*)(void *), int);
static char *volatile nowhere = (char *)8;
static int compare(const void *a, const void *b) { return *nowhere; }
static int deeper(int n) { volatile char s[256]; s[0] = n; return deeper(n + 1) + s[0]; }
static int hurt(void *L) {
    const char *how = luaL_checklstring(L, 1, NULL);
    int a[2] = {2, 1};
    if (!strcmp(how, "write")) *nowhere = 1;
    if (!strcmp(how, "stack")) deeper(0);
    if (!strcmp(how, "assertion")) assert(nowhere == 0);
    if (!strcmp(how, "free")) free(nowhere + 8);
    if (!strcmp(how, "twice")) { char *volatile p = malloc(24); free(p), free(p); }
    if (!strcmp(how, "callback")) qsort(a, 2, sizeof *a, compare);
    if (!strcmp(how, "signal")) pthread_kill(pthread_self(), SIGSEGV);
    return 0;
}
int luaopen_hurt(void *L) { return lua_pushcclosure(L, hurt, 0), 1; }
END
cat >native.lua <<'END'
package.cpath = "./?.so"
local function try(how)
    local set = data.Dataset { size = 8, get = function(self, i)
        if how and i == 5 then require "hurt" (how) end
        return i
    end }
    local n = 0
    for _, b in data.Loader { set, batch = 2, workers = 2 } () do n = n + b:sum():item() end
    return n
end
if arg[1] == "main" then require "hurt" "write" end
print(pcall(try, arg[1]))
print("later", try())
END
if cc -w -shared -fPIC hurt.c -o hurt.so 2>/dev/null; then
    for how in "write SIGSEGV" "stack SIGSEGV" "assertion SIGABRT"; do
        crash "${how% *}" native.lua
        [[ $out =~ native.lua:8:\ data.Loader:\ worker\ [12]\ crashed\ \(${how#* },.*at\ native.lua:4\;\ its\ memory\ is\ lost ]]
        tap_ok $? "C in a worker, ${how% *}: an error with its line" "$out"
        says $'later\t36' "and a later loader works"
    done
    for how in free twice callback signal; do
        crash $how native.lua
        says "in the worker 'loader " "C in a worker, $how: the end, which says where"
        [[ $out != *later* ]]
        tap_ok $? "and no more" "$out"
    done
    crash main native.lua
    says "gpush: crashed: segmentation fault, at native.lua:11." "C in the main thread: the end"
else
    tap_skip "crashes of functions in C: there is no compiler"
fi
out=$("$gpush" -e 'local s = ("x"):rep(100) os.execute("kill -SEGV $PPID")' 2>&1)
says "crashed: segmentation fault, at (command line):1" "a fault outside of an op, the line alone"

# At the prompt.
. "$root/tests/support/screen.sh"
screen 90 24 "env PS1='sys> ' bash --norc --noprofile"
until_ has 'sys>'
enter "'$gpush' -i crash.lua; stty -a | grep -o -e '-\\?icanon' -e '-\\?isig' -e ' -\\?echo '"
ready
run 'marked = 1'
enter 'in_loader()'
sees "crashed (SIGBUS, bus error) in the op add" "at the prompt, too, it is an error"
ready
run ':mem'
sees "that crashed" "what is lost is counted"
run 'for _, b in data.Loader { data.Dataset { size = 4, get = function(s, i) return i end }, workers = 2, batch = 4 } () do print(marked, b) end'
sees "1       tensor({1, 2, 3, 4}" "the session goes on, and a later loader works"
enter 'w:sum()'
sees "in the op sum" "in the main thread it is the end"
sees "what was typed is in the history" "with what is left of the session"
sees 'icanon' "the system's shell goes on"
gone '-icanon' "lines are the terminal's again"
gone '-isig' "and Ctrl-C"
gone '-echo' "and what is typed is shown"
grep -qx 'w:sum()' "$HOME/.local/state/gpush/history"
tap_ok $? "the line that crashed is in the history"
enter "'$gpush'"
until_ has '> '
until_ prompt_is_back
key Up
sees '> w:sum()' "and comes back by Up"
tap_done
