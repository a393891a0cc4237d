#!/bin/bash
# :debug after an error: frames with their variables, expressions in one of them, and what the
# devices had queued. :dbg of a chain; and what of a long string is shown.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"

command -v script >/dev/null || tap_skip_all "script(1) is not installed: inputs of a terminal alone have names"
cd "$HOME" || exit 1

# said LINES: what the prompt prints of them on a terminal, whose echo is left out.
said() { printf '%s\nos.exit()\n' "$1" | TERM=dumb script -qec "stty -echo; exec $build/gpush" /dev/null | tr -d '\r' | sed 's/^\(>>* \)*//'; }
# shows TEXT NAME: the last output has it.
shows() { [[ $got == *"$1"* ]]; tap_ok $? "$2" "waited for: $1"$'\n'"$got"; }
hides() { [[ $got != *"$1"* ]]; tap_ok $? "$2" "there: $1"$'\n'"$got"; }

got=$(said 'up = 5
function f(a, ...)
    local y, k = ones(5), up
    local y = "again"
    return a + ones(7)
end
function g(n)
    local x = ones(3, n)
    local s = f(x, 7)
    return s
end
g(4)
:debug
:debug 2
:debug x:sum():item() + n
:debug zzz.y
:debug 1
:debug a.shape[2] .. k .. y
:debug 7
up = 6
:debug')
shows $'1  stdin[2]:4 in ' "the innermost frame comes first"
shows $'    a                    f32 3x4 cpu, 48 B\n    y                    "again"\n    k                    5\n    (argument 1 of ...)  7' \
    "with its variables, of equal names the last, and further arguments"
shows $'2  stdin[3]:3 in ' "and then the frame that called it"
shows $'    n  4\n    x  f32 3x4 cpu, 48 B' ":debug 2 chooses that"
shows $'\n16.0\n' "an expression is evaluated in the chosen frame"
shows "global 'zzz'" "an error there is one as elsewhere"
shows $'\n45again\n' "and leaves the frames as they were"
shows 'there is no frame 7, of 3' "a frame that is none"
shows 'no error since the last input that succeeded' "an input that succeeds lets the frames go"
got=$(said $'function h(kept) error "oh" end h(41)\n\n:debug')
shows '    kept  41' "Enter alone does not"

# Errors that come out of coroutines.
cat >co.lua <<'E'
local function inner(w, n)
    local k = n + 1
    return w:matmul(w) * k
end
coroutine.wrap(function(v) inner(v, 4) end)(ones(2, 3))
E
got=$(said 'x = ones(3)
function g(a)
    local z = a:sum() error("bad")
end
coroutine.wrap(function(v) g(v) end)(x)
:debug
:debug z:item() + 1
co = coroutine.create(function(v) g(v) end)
assert(coroutine.resume(co, x))
:debug
co = coroutine.create(g); _, m = coroutine.resume(co, x); error("late: " .. m)
:debug
coroutine.wrap(function(q) coroutine.wrap(function(v) g(v) end)(q) end)(x)
pcall(coroutine.wrap(g), x) error "other"
:debug
coroutine.wrap(function() error{code = 3} end)()
co = coroutine.create(g); coroutine.resume(co, x) weak = setmetatable({[co] = 1}, {__mode = "k"})
co = nil; collectgarbage(); print("left", next(weak))
print(pcall(coroutine.wrap(function() error "as Lua has it" end)))
:run -d co.lua')
shows $'\nstdin[2]:2: bad\n    2 | local z = a:sum() error("bad")\n        z is f32 scalar cpu\n        a is f32 3 cpu\n' \
    "an error in a coroutine has one place, its line, and the tensors there"
shows $'\tstdin[2]:2: in function \'g\'\n\tstdin[3]:1: in function <stdin[3]:1>\n\t[C]: in ?\n\tstdin[3]:1: in main chunk' \
    "its calls, and then the caller's"
shows $'1  stdin[2]:2 in \'g\'\n       local z = a:sum() error("bad")\n    a  f32 3 cpu, 12 B\n    z  f32 scalar cpu, 4 B\n2  stdin[3]:1' \
    ":debug has its frames with their variables"
shows $'\n4.0\n' "expressions in them"
shows $'    z  f32 scalar cpu, 4 B\n2  stdin[6]:1\n       co = coroutine.create(function(v) g(v) end)\n3  stdin[7]:1\n       assert(' \
    "of coroutine.resume, too, and then the caller's"
shows $'\nstdin[9]:1: late: stdin[2]:2: bad\n1  stdin[2]:2' "where the message was added to, it is whole"
shows $'stdin[11]:1: in function <stdin[11]:1>\n\t[C]: in ?\n\tstdin[11]:1: in function <stdin[11]:1>\n' "of a coroutine in another"
shows $'other\n1  stdin[12]:1\n' "an error that was caught is none of a later one"
shows '(error object is a table value) {code = 3}' "what an error value holds is shown"
shows $'left\tnil' "what failed is not held"
shows $'false\tstdin[17]:1: as Lua has it' "the message that pcall gives is Lua's"
shows $'1  co.lua:3 in \'inner\'\n       return w:matmul(w) * k\n    w  f32 2x3 cpu, 24 B\n    n  4\n    k  5\n2  co.lua:5' \
    ":run -d has a coroutine's frames"

# Errors of coroutines that are gone when the error is raised again.
got=$(said 'x = ones(3) function g(a) local z = a:sum() error("bad") end
co = coroutine.create(g) _, m = coroutine.resume(co, x) coroutine.close(co) co = nil collectgarbage() error(m, 0)
:debug
:debug z
_, m = pcall(coroutine.wrap(g), x) collectgarbage() error("late: " .. m)
:debug
_, m = pcall(coroutine.wrap(function(v) local k = 5 error{code = 3} end)) collectgarbage() error(m)
:debug')
shows $'1  stdin[1]:1\n       x = ones(3) function g(a) local z = a:sum() error("bad") end\n    a  f32 3 cpu, 12 B\n    z  f32 scalar cpu, 4 B\n2  stdin[2]:1\n' \
    "a coroutine that was closed has its frames"
shows $'\nno device had work queued\n:debug: of this frame the values were not kept' "but not their values"
shows $'late: stdin[1]:1: bad\n1  stdin[1]:1\n' "one whose error a pcall caught has them where that is raised again"
shows $'{code = 3}\n1  stdin[7]:1\n' "with a table, too"
shows $'\n    k  5\n2  stdin[7]:1\n' "whole"

got=$(said 'w = randn(64, 64, {device = "sim"})
rows = tensor({1, 99}, {device = "sim"})
y = w:index_select(1, rows)
y:sum()
:debug
:debug rows:numel()')
shows 'sim:0  failed an op that was queued at stdin[3]:1' "the op that failed on a device"
shows $'    w  f32 64x64 sim:0, 16.0 KiB\n' "with its inputs"
shows $'    rows  i64 2 sim:0, 16 B\n' "all of them"
shows $'\n2' "and expressions"

got=$(said 'x = randn(64, 64, {device = "sim"})
sync.mode = "error"
y = x:matmul(x); error "here"
:debug')
shows 'sim:0  had ' "what a device had queued"
shows ', the last matmul (stdin[3]:1' "its last op, and the line"

got=$(said 'function h(n) local big = ones(10); return zeros(n) end
h(1 << 50)
:debug
:debug big')
shows '    big  f32 10 cpu, 40 B' "without memory a frame is described"
shows 'of this frame the values were not kept: memory was short' "but its values are let go"

# They are let go: what a frame held can be freed.
got=$(said 'function f() local big = ones(1 << 20); error "here" end
f()
a = memory("cpu").in_use
collectgarbage() collectgarbage()
print(a - memory("cpu").in_use)')
shows '4194304' "an input that succeeds frees what the frames held"

# The startup file.
mkdir -p .config/gpush
printf '%s\n' 'started = "from the file"' 'error "a mistake"' >.config/gpush/startup.lua
got=$(said '"it is " .. started')
shows 'startup.lua:2: a mistake' "an error in the startup file is said"
shows 'it is from the file' "and the session begins"
tap_is "$("$build/gpush" -i <<<'started' 2>/dev/null | sed '1d;s/^> //;q')" 'nil' "a pipe has none"
rm -r .config

# A chain step by step.
got=$(said 'x = ones(8, 4, {device = "sim"})
calls = 0
function one(t) calls = calls + 1 return t end
dbg(one(x):matmul(x.T):relu():sum():item())
:dbg x["1:2, :"].shape[2]
:dbg x:sum() + 1;
:dbg ("a)b"):rep(3):len()
print("calls", calls)
:dbg x:nosuch():sum()
dbg(nothing:sum())
function dbg(v) return "mine", v end
dbg(3)' | sed 's/host [0-9.]* [mu]*s/host T/; s/device [0-9.]* [mu]*s (CPU-backed.*\(GPU.s\))/device T/')
shows 'one(x)        f32 8x4 sim:0, 128 B; host T
:matmul(x.T)  f32 8x8 sim:0, 256 B; host T, device T
:relu()       f32 8x8 sim:0, 256 B; host T, device T
:sum()        f32 scalar sim:0, 4 B; host T, device T
:item()       256.0; host T, device T, waited
256.0' "dbg shows the value, the times and the wait of each step"
shows 'x           f32 8x4 sim:0, 128 B; host T
["1:2, :"]  f32 2x4 sim:0, 32 B; host T' "indices are steps"
shows 'x:sum() + 1  f32 scalar' "what is no chain is one"
shows $'len()  9; host T\n9' "brackets in a string are none"
shows $'calls\t1' "each step runs once"
shows "no method or property 'nosuch'" "a step that fails ends it"
shows "(global 'nothing')" "a variable that is nil is named"
hides "variable 'dbg'" "and no other"
shows $'mine\t3' "a function of that name is the user's"

got=$(said '("é"):rep(1500)
_ == ("é"):rep(1500)
("x"):rep(2000):len()')
shows $'é\n… and 1000 more bytes; print(_) shows all\ntrue' "of a long string the beginning is shown"

got=$(printf '%s\n' 'function f() local x = 1; error "in a script" end f()' >script.lua; "$build/gpush" script.lua 2>&1)
hides 'debug' "a script's error keeps nothing"
# A script that is run for its error, and dbg of several lines.
cat >bad.lua <<'E'
local function inner(w, n)
    return w:matmul(w) * n
end
local w = ones(2, 3)
print("begins", ...)
inner(w, 4)
E
printf 'x = 1\ny = = 2\n' >slip.lua
got=$(said ':time x = = 2
:run slip.lua
:run -d bad.lua one
:debug w:sum():item() + n
:debug 2
:run -d nosuch.lua
:run -d')
shows $'\n    1 | x = = 2\n            ^\n' "a command's text has a caret under its mistake"
shows $'slip.lua:2: unexpected symbol near \'=\'\n    2 | y = = 2\n            ^\n' "and so has a script"
shows $'begins\tone\nbad.lua:2: matmul: f32 2x3 x f32 2x3' ":run -d runs a script with its arguments, up to its error"
shows $'1  bad.lua:2 in \'inner\'\n       return w:matmul(w) * n\n    w  f32 2x3 cpu, 24 B\n    n  4\n2  bad.lua:6' "and shows its frames"
shows $'\n10.0\n2  bad.lua:6\n' "which :debug goes on with"
shows 'nosuch.lua: No such file or directory' "a file that is not there"
shows ':run needs a file' "and none"
got=$(said 'error "first"
:debug
:who
:debug')
shows $'first\n1  stdin' "the error before :debug"
hides 'an error 1 inputs ago' "is not said to be old"
shows $'\nan error 3 inputs ago:\nstdin[1]:1: first' "one that is older is"
got=$(said 'dbg(nope:sum())
t = {w = ones(2, 3)}
dbg(t.nope:sum():item())
n = 1
dbg(n:sum())
dbg(t.w:sum()
  :item():nope())
function f(x) return x:nope() end
dbg(t.w:sum(f(t.w)))
:debug
dbg(t.w:matmul(t.w):sum())')
shows $'stdin[1]:1: attempt to index a nil value (global \'nope\')\n    1 | nope:sum()\n' \
    "an error in a chain names what is in it"
shows $"stdin[3]:1: attempt to index a nil value (field 'nope')" "a field"
shows $"stdin[5]:1: attempt to index a number value (global 'n')" "and a value without methods"
shows $'stdin[6]:2: attempt to index a number value\n    2 | :item():nope()' "at its line"
shows $'stdin[7]:1: a tensor has no method or property \'nope\'' "in a function that it calls"
shows $'stdin[10]:1: matmul: f32 2x3 x f32 2x3' "and in an op"
hides '_before' "not our own variables"
hides 'dbg:1' "nor our own chunk"
got=$(said 'x = ones(2, 3)
dbg(x
  :sum()
  :item())
dbg(x:add(
  1):sum():item())
dbg(("a)b("):rep(3):len())
dbg(("\")("):len())
print("whole")
y = dbg(x:sum())' | sed 's/host [0-9.]* [mu]*s/host T/')
shows $'x        f32 2x3 cpu, 24 B; host T\n:sum()   f32 scalar cpu, 4 B; host T\n:item()  6.0; host T\n6.0\n' "dbg of several lines, in plain lines"
shows $':add(1)  f32 2x3 cpu, 24 B; host T\n:sum()' "and of a call that is divided"
shows $'\n12.0\n' "after which all goes on"
shows $':len()  12; host T' "brackets in a text are none"
shows $'\n3\nwhole' "nor are escaped quotes its end"
shows 'dbg(x:sum()) is a line of its own' "and in a statement it is answered"
tap_done
