#!/bin/bash
# kill -9 at random moments in each writer, again and again with the same process number, as in
# containers: the file is the old one or the new one, whole, the next save works, and removes what
# the killed one left.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$TMPDIR" || exit 1
rounds=${ROUNDS:-8}
[ -z "${GPUSH_SAN-}" ] || rounds=2
RANDOM=${SEED:-20261124}
# In a process namespace of its own the program is number 1 each time, where that is allowed, and
# where it starts there: LLVM's OpenMP does not.
alone=
unshare -pf --kill-child "$gpush" -e '' 2>/dev/null && alone="unshare -pf --kill-child"

cat >writers.lua <<'END'
local N = 200000
local ab = { full({N}, 1), full({N}, 2) }
local function image_of(v) return full({3, 200, 200}, v, {dtype = "u8"}) end
local function same(x) assert(x:eq(x:flatten()[1]):all():item(), "mixed") return x:flatten()[1]:item() end
local function text_of(file) local f <close> = assert(io.open(file)) return f:read "a" end
local function module_of(v) local m = nn.Linear(300, 300) m.weight:detach():fill_(v) m.bias:detach():fill_(v) return m end
local prof
local function profiled()
    prof = prof or profile.run(function() local x = ones(3) for i = 1, 300 do x = x + 1 end return x:sum():item() end)
    return prof
end
-- save(file, version), check(file): raises where the file is not one of the versions
return {
    npy = { function(f, v) npy.save(f, ab[v]) end, function(f) assert(same(npy.load(f)) > 0) end },
    npz = { function(f, v) npz.save(f, { x = ab[v], y = ab[v] }) end, function(f)
        local t = npz.load(f)
        assert(same(t.x) == same(t.y))
    end },
    png = { function(f, v) image.save(f, image_of(v)) end, function(f) assert(image.load(f):numel() == 120000) same(image.load(f)) end },
    safetensors = { function(f, v) safetensors.save(f, { x = ab[v], y = ab[v] }) end, function(f)
        local t = safetensors.load(f)
        assert(same(t.x) == same(t.y))
    end },
    checkpoint = { function(f, v) checkpoint.save(f, { model = module_of(v), step = v }) end, function(f)
        local m = nn.Linear(300, 300)
        local got = checkpoint.load(f, { model = m })
        assert(same(m.weight:detach()) == got.step and same(m.bias:detach()) == got.step)
    end },
    trace = { function(f) profiled():trace(f) end, function(f) assert(#json.decode(text_of(f)).traceEvents > 300) end },
    report = { function(f) profiled():report(f) end, function(f) assert(text_of(f):find "</html>%s*$") end },
}
END
cat >save.lua <<'END' # NAME FILE [TIMES]
local name, file, times = ...
local save = dofile "writers.lua"[name][1]
save(file, 1)
print "saved" io.stdout:flush()
for i = 2, tonumber(times or math.maxinteger) do save(file, i % 2 + 1) end
END
cat >check.lua <<'END'
local name, file = ...
dofile "writers.lua"[name][2](file)
END

# killed NAME FILE COMMAND...: runs the command, which says "saved" and goes on saving, and kills it
# in between.
killed() {
    local file=$1 pipe=$TMPDIR/pipe pid line
    shift
    rm -f "$pipe" && mkfifo "$pipe"
    $alone "$@" <&0 >"$pipe" 2>&1 &
    pid=$!
    exec 8<"$pipe"
    while read -r line <&8 && [[ $line != *saved ]]; do :; done
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    exec 8<&-
    [[ $line == *saved ]] && [ -e "$file" ]
}

# survives NAME FILE
survives() {
    local i wrong=
    for ((i = 0; i < rounds; i++)); do
        killed "$2" "$gpush" save.lua "$1" "$2" || wrong+="round $i: a save failed"$'\n'
        wrong+=$("$gpush" check.lua "$1" "$2" 2>&1)
    done
    tap_empty "$wrong" "$1: killed $rounds times, the file is whole and the next save works"
    "$gpush" save.lua "$1" "$2" 1 >/dev/null
    tap_empty "$(find . -name "$2?*")" "$1: a save leaves no temporary of a killed one"
}
for name in npy npz png safetensors checkpoint trace report; do survives $name "kept.$name"; done

# :save, whose session is long.
{
    for i in {1..400}; do echo "x$i = '$(printf 'a%.0s' {1..200})';"; done
    echo 'io.stdout:write "saved\n" io.stdout:flush()'
    for i in {1..3000}; do echo ":save kept.lua"; done
} >session
wrong=
: >kept.lua
for ((i = 0; i < rounds; i++)); do
    killed kept.lua "$gpush" -i <session || wrong+="round $i: a save failed"$'\n'
    wrong+=$("$gpush" -e 'local f = io.open "kept.lua" local s = f:read "a" assert(s == "" or select(2, s:gsub("\n", "")) > 400, #s) assert(load(s))' 2>&1)
done
tap_empty "$wrong" ":save: killed $rounds times, the script is whole"

# Temporaries of others: of processes that have ended, here and on another system, which may still
# run for a day; of one that runs; and a file that only looks like one.
mkdir others
read -r system _ < <(tr - ' ' </proc/sys/kernel/random/boot_id)
other=$(printf '%08x' $((0x$system ^ 1)))
touch "others/gone.gpush-$system-1-0.tmp" "others/longer.than.gone.gpush-$system-999999-7.tmp"
touch "others/elsewhere.gpush-$other-1-0.tmp" others/mine.1234.0.tmp "others/x.gpush-$system-1-0.tmp.kept"
touch -d '2 days ago' "others/old.gpush-$other-1-0.tmp"
exec 7>"others/lives.gpush-$system-1-0.tmp"
flock 7
"$gpush" -e 'npy.save("others/a.npy", ones(3))'
tap_is "$(cd others && echo *)" \
    "a.npy elsewhere.gpush-$other-1-0.tmp lives.gpush-$system-1-0.tmp mine.1234.0.tmp x.gpush-$system-1-0.tmp.kept" \
    "a save removes from its folder what killed processes left, and nothing else"
exec 7>&-

# The names that a process of this number would take first are taken.
for name in npy npz png safetensors checkpoint trace report; do
    tap_empty "$(
        for i in {0..9}; do
            exec {fd}>"taken.$name.gpush-$system-$BASHPID-$i.tmp"
            flock "$fd"
        done
        exec "$gpush" save.lua $name "taken.$name" 1 2>&1 >/dev/null
    )$("$gpush" check.lua $name "taken.$name" 2>&1)" "$name: a name that is taken is not the last one"
done
long=$(printf 'é%.0s' {1..125})
tap_is "$("$gpush" -e "npy.save('$long', ones(3)) print(npy.load('$long'):sum():item())" 2>&1)" 3.0 \
    "a file whose name has 250 bytes is saved"

# A link in place of the temporary is not followed.
echo kept >victim
cat >planted.lua <<'END'
local stat <close> = io.open "/proc/self/stat"
local pid = stat:read "n"
for i = 0, 9 do os.execute(("ln -s victim planted.npy.gpush-%s-%d-%d.tmp"):format(..., pid, i)) end
npy.save("planted.npy", ones(3))
print(npy.load("planted.npy"):sum():item())
END
tap_is "$("$gpush" planted.lua "$system" 2>&1)" 3.0 "a file is saved beside links of its temporary's names"
tap_is "$(cat victim)" kept "which are not followed"

# What saves data waits for the disk before and after the rename.
if [ -z "${GPUSH_SAN-}" ] && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    for name in npy npz safetensors checkpoint; do
        strace -f -e trace=fsync,rename,renameat2 -o calls "$gpush" save.lua $name "synced.$name" 1 >/dev/null
        tap_is "$(grep -oE 'fsync|rename\(.*synced.[a-z]*"\) ' calls | sed 's/rename.*/rename/' | tail -n 3 | tr '\n' ' ')" \
            "fsync rename fsync " "$name: file, name, folder reach the disk in that order" "$(cat calls)"
    done
else
    tap_skip "no strace to see the order of fsync and rename"
fi
tap_done
