#!/bin/bash
# The prompt with input from a pipe: values, muting, remembered values, commands, errors.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
build=$(cd "$build" && pwd)
cd "$HOME" || exit 1

# says TEXT NAME: the session on standard input prints exactly TEXT (prompts and the first line left
# out).
session() { { echo '_PROMPT, _PROMPT2 = "", ""'; cat; } | "$build/gpush" -i 2>&1 | sed '1d;s/^> //' | sed '${/^$/d}'; }
says() { tap_is "$(session)" "$1" "$2"; }
holds() { # TEXT NAME: it prints TEXT somewhere
    local got
    got=$(session)
    [[ $got == *"$1"* ]]
    tap_ok $? "$2" "expected to hold: $1"$'\n'"got: $got"
}

# Globals that are nil.
says $'nil\nstdin[2]:1: the global \'float16\' is nil; a dtype is a string: "f16"' "a global that is nil is said, with what it may be" <<<'float16'
says $'stdin[2]:1: the global \'zeross\' is nil; did you mean zeros?' "once, after the chunk" <<<'for i = 1, 2 do local _ = zeross end'
says nil "rawget asks without a word" <<<'rawget(_G, "x")'
printf '%s\n' 'local x = zeros(2, {dtype = float16})' 'for i = 1, 3 do if nosuch == nil then end end' >unset.lua
tap_is "$("$build/gpush" -W unset.lua 2>&1)" $'Lua warning: unset.lua:1: the global \'float16\' is nil; a dtype is a string: "f16"
Lua warning: unset.lua:2: the global \'nosuch\' is nil' "-W says so of scripts, once a place"
tap_is "$("$build/gpush" unset.lua 2>&1)" '' "which are silent without it"
tap_is "$("$build/gpush" -W -e 'warn "@off"' unset.lua 2>&1)" '' "and with warnings off"

# Inputs are numbered: waits of two lines are two, and each line is warned of.
inputs=$'x = ones(2, {device = "sim"})\n%s\nx:sum():item()\nfor i = 1, 3 do (x * i):sum():item() end\n%s'
holds $'\n1\t3' "sync.lines has a row for each input" \
    < <(printf "$inputs" "" 'local l = {} for _, r in ipairs(sync.lines()) do l[r.file] = r.times end print(l["stdin[4]"], l["stdin[5]"])')
tap_is "$(session 2>&1 < <(printf "$inputs" 'sync.warn = true' "") | grep -o 'stdin.*: item waited')" \
    $'stdin[4]:1: item waited\nstdin[5]:1: item waited' "and sync.warn warns of each"
holds '[2] x = 5' ":list shows them" <<<$'x = 5\n:list'

says $'x.size is the method: x:size() gives the sizes, x:numel() NumPy\'s number of elements\nfalse\nfalse' "x.size of a tensor is said to be a method, once" \
    <<<$'x = ones(2, 3)\nx.size == 6\nx.size == 6'
says '1' "x.size of a table is the user's" <<<$'x = {size = 1}\nx.size'
holds '[[1, 2], [3, 4]] is a text to Lua: lists are {{1, 2}, {3, 4}}' "a list of lists is a text" <<<'m = [[1, 2], [3, 4]]'
holds 'in Lua: q = {} for _ = 1, 2 do q[#q + 1] = {0, 0} end' "and one that never ends is Python's" <<<'q = [[0] * 2 for _ in range(2)]'

# A line is read as the language of the lines before it.
holds "A * A is elementwise: Julia's product is A @ A" "a product of matrices, after one of Julia's" <<<$'A = ones(2, 2)\nusing CUDA\nA * A'
holds 'lab:eq(2)' "what a line set to indices counts from 1" <<<$'x = eye(3)\nlab = x:argmax(2)\nlab.eq(1).sum()'
holds 'in Lua: A["1:2, 1"]' "ranges after a line of Julia's include their end" <<<$'A = ones(3, 3)\nusing CUDA\nA[1:2, 1]'
holds 'in Lua: A["2:2, 2"]' "and not after one of Python's" <<<$'A = ones(3, 3)\nusing CUDA\nimport torch\nA[1:2, 1]'

# Values.
says 42 "an expression is printed" <<<'6 * 7'
says "" "a semicolon mutes it" <<<'6 * 7;'
says "" "also after a block, and with spaces after it" <<<$'do local x = 6 end; \n6 * 7;;  '
says 43 "_ is the last value, muted or not" <<<$'6 * 7 ;\n_ + 1'
says $'1\n2\n3\n3\t2\t1' "_1 _2 _3 are the last three" <<<$'1\n2\n3\n_1, _2, _3'
says $'2\n2' "nil and nothing leave _ alone" <<<$'2\nnil;\ndo local x = 5 end\n_'
says $'local y ends with this line: without \'local\' it stays\nnil\nstdin[3]:1: the global \'y\' is nil' "a local variable that ends says so" <<<$'local y = 5\ny'
says "local f ends with this line: without 'local' it stays" "once" <<<$'local function f() end;\nlocal g = 1'
says $'5\n6' "not where it was used" <<<$'local y = 5; print(y)\ndo local y = 1 end\nf = function() local y = 6; return y end\nf()'
says $'load compiles Lua, and \'a/x.npy\' is a file\'s name: npy.load "a/x.npy" reads that\nnil\nstdin[3]:1: the global \'t\' is nil' "load of a file's name" \
    <<<$'t = load "a/x.npy"\nt'
says $'nil\nstdin[3]:1: the global \'t\' is nil' "and of any other text that is no Lua" <<<$'t = load "x.y"\nt'
holds 'x = x @ y' "x @= y shows what to write" <<<'x @= y'
says $'tensor({2.0, 2.0}, f32 2 cpu)' "x @ y is the matrix product" <<<$'x = ones(2, 2); y = ones(2)\nz = x @\ny\nz'
says '{1, 2, 3, a = "x", ["two words"] = {}}' "a table is readable" <<<'{1, 2, 3, a = "x", ["two words"] = {}}'
says '{t = (itself, above)}' "a table that holds itself" <<<'local t = {}; t.t = t; return t'
says '{1, x = {7}, y = (shown above)}' "a table that is there twice" <<<'local t = {7}; return {1, x = t, y = t}'
says '{x = tensor(f32 2x3 sim:0)}' "tensors in tables are described" <<<'{x = zeros(2, 3, {device = "sim"})}'
says '{"\27[31mred", "\u{9b}"}' "nothing in a table steers the terminal" <<<'{"\27[31mred", "\xc2\x9b"}'
says '{name = "n"}' "no metamethod runs" <<<'setmetatable({name = "n"}, {__index = error, __pairs = error, __len = error})'
says '{größe \x1b[31m}' "a text of its own in a table" <<<'{setmetatable({}, {__tostring = function() return "größe \27[31m" end})}'
says 'mine' "but a text of its own is used" <<<'setmetatable({}, {__tostring = function() return "mine" end})'
says 'tensor({1, 2, 3}, i64 3 cpu)' "a tensor shows itself" <<<'arange(1, 3)'
holds '… and 950 more' "of a long table the beginning" <<<'local t = {}; for i = 1, 1000 do t[i] = i end; return t'

# An echo is a wait that is recorded as such, without a warning.
says $'tensor({2.0, 2.0}, f32 2 sim:0)\necho' "an echo is recorded as one" <<<$'sync.mode = "error"\nones(2, {device = "sim"}) * 2\nsync.lines()[1].why'

# Commands.
holds '0 waits (measured)' ":time says what a run took" <<<':time 1 + 1'
holds "1 wait (CPU-backed, not a GPU's)" "and of what kind it is" <<<$'x = ones(3, {device = "sim"})\n:time (x + 1):sum():item()'
tap_is "$(session <<<':time 1 + 1' | tail -1)" 2 ":time gives the value"
holds '; measured)' ":timeit" <<<':timeit 1 + 1'
holds 'matmul' ":prof" <<<':prof ones(3, 3):matmul(ones(3, 3))'
holds 'cpu' ":mem" <<<':mem'
says $'a  f32 2x3 cpu, 24 B\nb  "text"\nc  table of 1' ":who" <<<$'a, b, c = zeros(2, 3), "text", {1}\n:who'
says "no waits since the last report" ":sync without any" <<<':sync'
holds 'item' ":sync tells of a wait" <<<$'x = ones(3, {device = "sim"}) + 1\nx:sum():item();\n:sync'
tap_is "$(printf '%s\n' 'x = ones(3, {device = "sim"}) + 1' 'x:sum():item();' ':sync' ':sync' | session | tail -1)" \
    "no waits since the last report" ":sync starts over"
tap_is "$(session <<<':dev sim' | grep '\*')" '* sim:0' ":dev"
says 'no command :nothing; :help lists them' "an unknown command" <<<':nothing'
holds '(prompt)  explicit: synchronize' "a wait of :time's own has no line of ours" <<<$'x = ones(700, 700, {device = "sim"})\ny = x:matmul(x)\n:time x:sum();\n:sync'
says ':s could be :sync, :status, :save' "one that is not clear" <<<':s'
holds ':timeit expr' ":help" <<<':h'
says $'hi\nexit 3' "!command" <<<$'!echo hi\n!exit 3'
says ':mem takes no argument' "what takes no argument says so" <<<':mem all'
says ':status is on or off, not maybe' "as does what takes others" <<<':status maybe'
holds 'no kept input is stdin[99]' ":list of what is not there" <<<':list 99'
holds ":dev: unknown device 'nonsense' (expected" ":dev of none" <<<':dev nonsense'
says 'cannot write /nosuch/x: No such file or directory (its folder does not exist)' ":save where it cannot" <<<':save /nosuch/x'
says $':save file\n    successful chunks of this session, as a script' ":help of one" <<<':help sa'
says $':time expr\n    the time of one run, and its value' "?:name" <<<'?:time'
says "$(session <<<'?')" "help alone is the way in" <<<'help'
says "$(session <<<'?')" "and so is ??" <<<'??'
for word in exit 'quit()' ':quit'; do says 1 "$word ends" <<<$"1"$'\n'"$word"$'\n2'; done
says $'5\n6' "but not where it is a variable of the user's" <<<$'exit = 5\nexit\n6'
holds '-- cpu' ":status shows a line after each" <<<$':status on\n1 + 1'
got=$(session <<<$':status on\nx = ones(700, 700, {device = "sim"}) x:sum():item()\n1 + 1\n:status off\n2 + 2')
[[ $(grep -c -- '^-- sim:0 [0-9.]* [KM]iB, host .*, devices .*, [01] waits\? (.*)$' <<<"$got") = 2 &&
    $got == *", 1 wait (CPU-backed, not a GPU's)"$'\n'*', 0 waits (measured)'$'\n'4 ]]
tap_ok $? ":status: memory in use, times and waits of that line, until it is off" "$got"
got=$(session <<<$':status on\nx = ones(700, 700, {device = "sim"})\nfor i = 1, 30 do y = x:matmul(x) end\n!sleep 0.5')
[[ $(grep -E 'host ([5-9][0-9][0-9]\.[0-9]+ m|[0-9.]+ )s' <<<"$got") == *'devices '[1-9]* ]]
tap_ok $? "work that a device does between two lines counts for the second" "$got"
echo 'got = {...}; return #arg, arg[1]' >file.lua
says $'2\tone\ntwo' ":run with arguments" <<<$':run file.lua one two\ngot[2]'
printf '%s\n' 'x = 1' 'x + 1' 'error "no"' 'function f()' '    return 2' 'end' ':save saved.lua' | session >/dev/null
tap_is "$(tail -n +2 saved.lua)" $'x = 1\n_ = x + 1\nfunction f()\n    return 2\nend' ":save keeps what went well"
says $'2\t2' ":load brings it back" <<<$':load saved.lua\n_, f()'
printf '%s\n' 'local y = 5; x = y' 'y' 'z = y == nil' ':save locals.lua' | session >/dev/null
says $'5\tnil\ttrue\nstdin[3]:1: the global \'y\' is nil' "locals end with their chunk there too" <<<$':load locals.lua\nx, y, z'
{ for i in {1..250}; do echo "local v$i = $i"; done; echo ':save many.lua'; } | session >/dev/null
says 7 "and may be many" <<<$':load many.lua\n7'
echo 'return {value = 1}' >mod.lua
says $'1\nreloaded mod\n2' ":reload, and who holds the table sees it" <<<$'m = require "mod"\nm.value\n!echo "return {value = 2}" >mod.lua\n:reload\nm.value'
export EDITOR=./ed
printf '#!/bin/sh\necho "edited = 5; return edited" >"$1"\n' >./ed
chmod +x ./ed
says $'5\n10' ":edit runs what the editor leaves" <<<$':edit\nedited * 2'
printf '#!/bin/sh\necho "$1" >>names; cat "$1" >>seen; echo "edited = = 1" >"$1"\n' >./ed
printf '%s\n' 'x = 1' ':edit' ':edit' 'x = 2' | session >/dev/null
tap_is "$(cat seen)" $'x = 1\nedited = = 1' "what does not run is there to be mended"
tap_empty "$(for f in $(cat names); do ls "$f" "${f%.lua}"; done 2>/dev/null)" "no file is left behind"
printf '#!/bin/sh\necho "local a = 1\nreturn nothing.x" >"$1"\n' >./ed
holds 'own.lua:2: attempt to index a nil value' "in a file of the user's an error has its name" <<<':edit own.lua'
printf '#!/bin/sh\n' >./ed
holds ':edit: none.lua: No such file' "an editor that leaves nothing" <<<':edit none.lua'

[ -w /dev/full ] && ln -s /dev/full full.lua
says 'cannot write full.lua: No space left on device' ":save on a full disk" <<<':save full.lua'
tap_empty "$(ls full.lua.* 2>/dev/null)" "leaves nothing behind"
echo kept >victim
ln -s victim planted.lua.new
says '1 chunks in planted.lua' ":save beside a link to another file" <<<':save planted.lua'
tap_is "$(cat victim)" kept "does not write there"

# Errors.
holds 'x is f32 2x3 sim:0' "an error shows the tensors of its line, unwaited for" <<<$'sync.mode = "error"\nx = zeros(2, 3, {device = "sim"}) + 1\nx:matmul(x)'
got=$(session <<<$'x = zeros(2, 3)\nnothing.x = x:matmul(1).x')
[[ $(grep -c 'x is f32' <<<"$got") = 1 ]]
tap_ok $? "once" "$got"
got=$(session <<<$'x = zeros(2, 3)\nnothing.x = 1')
[[ $got != *'x is f32'* ]]
tap_ok $? "a field of that name is none" "$got"
got=$(session <<<$'x = zeros(2, 3)\nerror "x" -- x')
[[ $got != *'x is f32'* ]]
tap_ok $? "a word in a string or a comment is none" "$got"
holds '1 | x:matmul(x)' "and the line" <<<$'x = zeros(2, 3)\nx:matmul(x)'
holds 'a is f32 2x3 cpu' "in a function of an earlier chunk its variables" <<<$'function f(a) return a:matmul(a) end\nf(zeros(2, 3))'
got=$(session <<<'linalg.norm(zeros(2, 3), "nonsense")')
[[ $got == *traceback* && $got != */scripts/* ]]
tap_ok $? "the calls leave out gpush's own" "$got"
tap_is "$(session <<<'error("bad \27[31mred\xc2\x9b", 0)' | head -1)" 'bad \x1b[31mred\u{9b}' "an error's text does not steer the terminal"
printf 'local w = zeros(2)\nreturn w:matmul(zeros(3, 3))\n' >wrong.lua
got=$("$build/gpush" wrong.lua 2>&1)
[[ $got == *'2 | return w:matmul'*'w is f32 2 cpu'* ]]
tap_ok $? "a script's errors too" "$got"

got=$("$build/gpush" -e 'help(5)' 2>&1)
tap_is "$(grep -c "function 'error'\|tail call" <<<"$got")" 0 "tracebacks leave out what gpush's own Lua called"
[[ $got == *"help'"* ]]
tap_ok $? "but not what the user called" "$got"

# Suggestions.
meant() { # CODE NAME: the error of CODE names NAME, at the prompt and in a script
    holds "did you mean $2?" "$1: $2" <<<"$1"
    echo "$1" >meant.lua
    got=$("$build/gpush" meant.lua 2>&1)
    [[ $got == *"did you mean $2?"* ]]
    tap_ok $? "in a script, too" "$got"
}
meant 'zerso(3)' zeros
meant 'nnn.Linear(1, 2)' nn
meant 'nn.Liner(1, 2)' Linear
meant 'nn.Embeding(1, 2)' Embedding
meant 'ones(3):summ()' sum
meant 'local shape = ones(3).shap' shape
meant 'nn.Conv2D(1, 2, 3)' Conv2d
meant 'local l = linalg; l.sdv(ones(3, 3))' svd
meant 'data.transforms.RandmCrop(3)' RandomCrop
meant 'ones(3, {requires_grd = true})' requires_grad
meant 'zeros(3, {dtype = "f3"})' f32
meant 'ones(3):to "gp"' gpu
meant 'sync.wran = true' warn
meant 'fft.fft(ones(3), {norm = "forwrd"})' forward
meant 'svd(ones(3, 3))' linalg.svd
meant 'local u = torch.svd' linalg.svd
holds 'in Lua: local u = (function(u_, s, vh) return u_, s, vh.mT end)(linalg.svd(ones(3, 3), ' \
    "PyTorch's svd, whose V is not transposed" <<<'local u = ones(3, 3):svd()'
meant 'Linear(2, 3)' nn.Linear
holds 'in Lua: z = where(x > 0, x, -x)' "a choice by a mask is no bits" <<<$'x = tensor({-3, 5})\nz = x > 0 and x or -x'
holds 'in Lua: -- a tensor has no truth: where(cond, a, b)' "nor are two tensors" <<<$'x = randn(4, 4)\nz = x and x.T'
tap_is "$(session <<<$'x = randn(4, 4)\nprint(x.T and x.T.shape); print(#x)' | grep -c 'in Lua')" 0 "what raised is no hint"
meant 'local s = ones(3).shape()' 'x.shape, without brackets'
meant 'local u = ones(3):unsqueeze_(1)' 'x = x:unsqueeze(…)'
holds 'stdin[3]:1: x.sum(): call a method with a colon: x:sum()' "a method with a dot" <<<$'x = ones(3)\nx.sum()'
holds 'stdin[3]:1: opt.step(): call a method with a colon: opt:step()' "of our classes, written in Lua" <<<$'opt = optim.SGD({ones(2)}, 0.1)\nopt.step()'
tap_is "$(session <<<$'x = ones(3)\nx:matmul(3)' | grep -c 'with a colon')" 0 "not where the colon is there"
printf '%s\n' 'local model = nn.Linear(2, 2)' 'for p in model.parameters() do print(p) end' >dotted.lua
[[ $("$build/gpush" dotted.lua 2>&1) == *'dotted.lua:2: model.parameters(): call a method with a colon: model:parameters()'* ]]
tap_ok $? "in a script, at its line"
[[ $("$build/gpush" -e 'local x = ones(3) x.cuda()' 2>&1) == *'(command line):1: x.cuda(): call a method with a colon: x:cuda()'* ]]
tap_ok $? "and in -e"
holds 'in Lua: #"x"' "a function of Python's" <<<'len("x")'
holds 'did you mean print?' "a function of Lua" <<<'prnt(3)'
holds 'did you mean counter?' "a variable of the user's" <<<$'counter = {}\ncuonter.x = 1'
holds 'did you mean alpha?' "a field of the user's" <<<$'t = {alpha = print}\nt.alhpa()'
meant 'local sum = 0; sum(ones(3))' gpush.sum
meant $'nn = nil\nnn.Linear(2, 3)' gpush.nn
tap_is "$(session <<<'local data; data.x = 1' | grep -c 'did you mean')" 0 "not of a nil that is the user's own"
printf '%s\n' 'prnt(3)' >plain.lua
tap_is "$("$build/gpush" plain.lua 2>&1 | head -1 | cut -d: -f2-)" "$(lua5.4 plain.lua 2>&1 | head -1 | cut -d: -f2-)" "in a script Lua's own message"
says 'no command :tmieit; did you mean :timeit?' "a command" <<<':tmieit 3'
got=$(session <<<'optim.SGD({ones(2)}):zero_grad{set_to_nonee = true}')
tap_is "$(grep -o 'did you mean' <<<"$got" | wc -l)" 1 "what was meant is said once"
says "help: nothing is called 'conv2dd', did you mean conv2d?" "help, without a traceback" <<<'?conv2dd'
tap_is "$(session <<<$'t = setmetatable({}, {__index = function() print "ran" end})\nt.alhpa()' | grep -c '^ran$')" 1 "nothing of the user's runs for it"

# Other languages.
while IFS='|' read -r typed lua; do
    holds "in Lua: $lua" "how Lua says: $typed" <<<"$typed"
done <<'END'
x != 3|x ~= 3
import torch|-- nothing to import
def f(x): return x|function f(x) return x end
y = lambda x: x + 1|y = function(x) return x + 1 end
if x == 3: print(x)|if x == 3 then print(x) end
a && b|a and b
2 ** 3|2 ^ 3
x += 1|x = x + 1  -- of a tensor in place: x:add_(…)
x @= y|x = x @ y
sum(x, dim=1)|sum(x, {dim = 2})  -- dims count from 1
x[1, 2]|x[{2, 3}]  -- indices count from 1
x[1:3]|x["2:3"]  -- indices count from 1
y = [1, 2, 3]|y = {1, 2, 3}
# a comment|-- a comment
print x|print(x)
f = x -> x + 1|f = function(x) return x + 1 end
y := 3|y = 3
END
# IPython's magics.
if command -v gcc >/dev/null; then
    holds 'm  module of kernels f; variables: c' ":who says what a module of kernels is" \
        <<<$'m = cuda.module "__constant__ int c; __global__ void f(int *x) { x[0] = c; }"\n:who'
fi
holds 'x  f32 2 cpu, 8 B' "%who is :who" <<<$'x = ones(2)\n%who'
holds 'stdin[3]:1: x.sum(): call a method with a colon' "%time runs what follows, with its hints" <<<$'x = ones(2)\n%time x.sum()'
holds $'tensor(2.0, f32 scalar cpu)' "%%time, too" <<<$'x = ones(2)\n%%time x:sum()'
holds 'median of ' "%timeit times" <<<$'x = ones(2)\n%timeit x @ x'
holds 'Self CPU' "%prun profiles" <<<$'x = ones(2)\n%prun x:sum()'
says 'a b' "%sh is the system's" <<<'%sh echo a b'
holds '%matplotlib: nothing to set: plot draws here' "what has no meaning here is answered" <<<'%matplotlib inline'
holds '2' "a cell of statements that end in a value has it" <<<$'%%time a = 1\nb = 1\na + b'
holds '%timeit: options are left out' "which is said" <<<$'x = ones(2)\n%timeit -n 10 x'
holds 'median of ' "IPython's options are left out" <<<$'x = ones(2)\n%timeit -n 10 -r3 x @ x'
holds 'median of ' "but not a minus" <<<$'x = ones(2)\n%timeit -x + 1'
holds '%store: ~/.config/gpush/startup.lua has settings' "a magic that stores is answered" <<<'%store x'
holds 'cells are Lua here' "a cell in Python" <<<'%%python3'
holds 'sum is written in C' "%psource is ??" <<<'%psource sum'
says 'a b' "!! is !" <<<'!!echo a b'
holds 'in Lua: nan.watch(true)' "a mode for anomalies" <<<'torch.autograd.set_detect_anomaly(True)'
holds 'in Lua: autograd.checkpoint(f, x)' "a checkpoint" <<<'torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)'
holds "in Lua: default_device('gpu')" "the default device" <<<"torch.set_default_device('cuda')"
holds 'in Lua: (cuda.devices()[1] or {}).model' "a card's name, where there is one" <<<'torch.cuda.get_device_name(0)'
holds 'in Lua: timeit(function() return sum(v) end)' "Julia's \$v" <<<'@btime sum($v)'
holds 'in Lua: io.popen("ls -l"):read "a"' "what a command prints, in a variable" <<<'files = !ls -l'
holds 'the folder stays: name files by their paths' "cd" <<<'cd ../data'
holds 'in Lua: os.execute "ls -l"  -- at the prompt: !ls -l' "one with arguments" <<<'ls -l'
holds 'in Lua: os.execute "cat a.lua"' "one that is no expression" <<<'cat a.lua'
holds 'in Lua: dofile "a.lua"  -- at the prompt: :run' "run without its mark" <<<'run a.lua'
holds 'in Lua: timeit(function() return 1 + 1 end)' "timeit without its mark" <<<'timeit 1 + 1'
holds 'in Lua: function f(x) return x ^ 2 + 1 end' "a function of Julia's" <<<'f(x) = x^2 .+ 1'
holds "the global 'ls' is nil; !ls does that at the prompt" "a command of the shell without its mark" <<<'ls'
holds 'in Lua: timeit(function() return 1 + 1 end)' "Julia's @time" <<<'@time 1 + 1'
holds 'no magic %nosuch; :help lists the commands' "an unknown one is said" <<<'%nosuch 3'
holds 'sum is written in C' "name?? is ??name" <<<'sum??'
says '1' "a line that goes on with % is Lua" <<<$'print(7\n% 2)'
got=$("$build/gpush" -e '%timeit x + 1' 2>&1)
[[ $got == *'in Lua: timeit(function() return x + 1 end)'* ]]
tap_ok $? "outside the prompt a magic is translated" "$got"
tap_is "$(session <<<'nonsense "a != b"x' | grep -c 'in Lua')" 0 "what is in a string is not foreign"
for pair in 'print（1）|-- ( where the line has U+FF08, （' 'x = “a” -- é|-- " where the line has U+201C, “' \
    'x ≤ 1 -- ≥|-- <= where the line has U+2264, ≤' 'x = "é" .. 한 -- 예|-- names have letters of ASCII, digits and _, and no 한'; do
    holds "in Lua: ${pair#*|}" "a character that Lua does not know: ${pair%%|*}" <<<"${pair%%|*}"
done
got=$(session <<<$'x = zeros(2, {requires_grad = True})\ny = {True, None}\nFalse = 0 z = False\nprint "None" print(x.None)')
tap_is "$(grep 'Lua writes' <<<"$got")" $'True is a variable that was never set, so nil: Lua writes true\nNone is a variable that was never set, so nil: Lua writes nil' \
    "Python's constants are mentioned, once"
tap_is "$(session <<<'x = = 3' | grep -c 'in Lua')" 0 "nor is a slip in Lua"

# Clocks.
printf '%s\n' 'x = ones(1000, 1000, {device = "sim"})' 't = os.clock()' 'for i = 1, 20 do x = x:matmul(x) * 0.001 end' 'print(os.clock() - t > 0)' \
    't = os.clock()' 'for i = 1, 5 do x = x:matmul(x) * 0.001 end' 'print(os.clock() - t > 0)' >clock.lua
sed 's/os.clock/clock/g' clock.lua >our_clock.lua
got=$("$build/gpush" our_clock.lua 2>&1)
[[ $got == *'our_clock.lua:4: clock: '*'queued ops are not done'* && $(grep -c queued <<<"$got") = 1 ]]
tap_ok $? "gpush's clock does, too" "$got"
got=$("$build/gpush" clock.lua 2>&1)
[[ $got == *'clock.lua:4: os.clock: '*'queued ops are not done'* && $(grep -c queued <<<"$got") = 1 ]]
tap_ok $? "a clock round unfinished work says so, once" "$got"
tap_is "$("$build/gpush" -e 'local t = os.clock() local x = ones(100, 100) + 1 print(os.clock() >= t)' 2>&1)" true "no word where nothing is unfinished"

for name in clock time; do
    printf '%s\n' 'x = ones(1000, 1000, {device = "sim"})' "t = os.$name()" 'for i = 1, 20 do x = x:matmul(x) * 0.001 end' "u = os.$name() - t" \
        "u = os.$name() - t" >one.lua
    got=$("$build/gpush" one.lua 2>&1)
    tap_is "$(sed 's/[0-9]* queued.*/N/' <<<"$got")" "one.lua:4: os.$name: N" "os.$name alone, too, and once"
done
tap_is "$("$build/gpush" -e 'x = ones(1000, 1000, {device = "sim"}) os.time() for i = 1, 20 do x = x:matmul(x) * 0.001 end os.time {year = 2000, month = 1, day = 1}' 2>&1)" "" \
    "a date is no clock"

# The doctor.
got=$(OMP_NUM_THREADS=500 "$build/gpush" doctor)
tap_is $? 0 "gpush doctor: what is needed works" 
[[ $got == *'ok  BLAS'* && $got == *'ok  oneDNN'* && $got == *'ok  sim'* && $got == *'has run on an NVIDIA'* ]]
tap_ok $? "it says what works, and where it was tried" "$got"
[[ $got == *'--  threads'*$'\n'*'unset OMP_NUM_THREADS'* ]]
tap_ok $? "and how to mend what is wrong" "$got"
tap_is "$(OPENBLAS_CORETYPE=$'\e[31mX' "$build/gpush" doctor | grep -c $'\e')" 0 "variables do not steer the terminal"
tap_is "$(GPUSH_ISA=base "$build/gpush" doctor | grep -A1 '^--  kernels')" \
    $'--  kernels      GPUSH_ISA chooses those of base, perhaps not the fastest\n                 unset GPUSH_ISA' "nor kernels unseen"
mkdir -p p/bin p/share/gpush && cp "$build/gpush" p/bin && cp -r "$root/scripts/lua" p/share/gpush
got=$(p/bin/gpush doctor)
tap_is $? 1 "what is broken shows in the exit status"
[[ $got == *'!!  BLAS'*'!!  oneDNN'*'the libraries of linear algebra cannot be loaded: '* ]]
tap_ok $? "and by name: here is none of the program's libraries" "$got"
mkdir p/lib && head -c 9999 "$build/lib/libgpush_blas.so" >p/lib/libgpush_blas.so
got=$(p/bin/gpush -e 'print(pcall(mm, ones(99, 99), ones(99, 99)))' 2>&1)
[[ $got == "false"*"cannot be loaded: $PWD/p/bin/../lib/libgpush_blas.so is cut off: 9999 of its "*" bytes are there" && $got != *$'\n'* ]]
tap_ok $? "a library of its own that is cut off, in one sentence" "$got"
for locale in LANG= LANG=C LANG=de_DE.UTF-8 LC_ALL=C LC_ALL=POSIX; do
    tap_is "$(env -u LC_ALL -u LC_CTYPE $locale "$build/gpush" doctor | grep -c '^ok  characters   UTF-8$')" 1 "$locale: letters are UTF-8"
done
# When the history cannot be written.
[[ $(HOME=/proc "$build/gpush" doctor) == *'--  history'*'/proc/.local/state/gpush/history: No such file'* ]]
tap_ok $? "a folder that takes no history: the doctor says so"
[[ $(env -u HOME -u XDG_STATE_HOME "$build/gpush" doctor) == *'--  history'*'set HOME'* ]]
tap_ok $? "and where none is known"
got=$(HOME=$PWD/no XDG_STATE_HOME='' "$build/gpush" doctor | grep -c 'history.*/no/.local/state/gpush/history: No such file')
[ "$got" = 1 ] && [ ! -e no ]
tap_ok $? "a HOME that is not there is not made"
tap_done
