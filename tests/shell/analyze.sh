#!/bin/bash
# gpush analyze: what it shows of saved profiles and of traces, its options, and its exit status.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$TMPDIR" || exit 1
LUA_PATH="$GPUSH_ROOT/tests/support/?.lua;;" "$gpush" -e '
local made = require "torch_trace"
for i = 0, 1 do
    local f <close> = io.open("rank" .. i .. ".json", "w")
    f:write(made.steps(400, {rank = i, device = i}):text())
end
local p = profile.run(function() return ones(3, {device = "sim"}):sum():item() end)
p:save "own.prof.gz"' || exit 1
gzip -k rank0.json

contains() { [[ $1 == *"$2"* ]]; tap_ok $? "$3" "$1"; }

out=$("$gpush" analyze rank0.json.gz)
tap_is $? 0 "a trace is shown"
for part in Verdict Ops "Waits of the host" "What the waits cost" Devices Streams; do contains "$out" $'\n'"$part"$'\n' "it has the part $part"; done
contains "$out" $'Verdict\ndominated by ' "it begins with what dominated"
contains "$out" "item: aten::item" "it says what waited"
tap_is "$(sed -n '/^Ops$/,$p' <<<"$out" | sed -n 5p | grep -o 'aten::[a-z]*')" aten::add "the first row has the most time of its own: no region around all"
contains "$out" "loss.detach()" "and what to write instead in PyTorch"
tap_is "$("$gpush" analyze rank0.json | tail -n +3 | sed 's/rank0.json/rank0.json.gz/')" "$(tail -n +3 <<<"$out")" "packed or not"
tap_is "$("$gpush" analyze <(cat rank0.json.gz) | sed 's,/dev/fd/[0-9]*,rank0.json.gz,')" "$("$gpush" analyze rank0.json.gz)" "from a pipe"
{ printf '\xef\xbb\xbf' && cat rank0.json; } >marked.json
tap_is "$("$gpush" analyze marked.json | sed 's/marked/rank0/')" "$("$gpush" analyze rank0.json)" "after a byte order mark"
out=$("$gpush" analyze own.prof.gz)
contains "$out" "sim is CPU-backed" "a saved profile is shown"
out=$("$gpush" analyze --group rank rank0.json rank1.json)
contains "$out" "rank 1" "several files are ranks"
contains "$out" $'Verdict\n' "with one verdict for the job"
out=$("$gpush" analyze rank0.json --limit 3 --diff rank1.json --html page.html)
contains "$out" "Changes since rank1.json" "a diff"
contains "$out" "[other rows]" "a limit of rows"
grep -q 'aten::item' page.html
tap_ok $? "a page"
# refusal STATUS NAME COMMAND... -- TEXT...: it fails with one line, which has the command's own words.
refusal() {
    local status=$1 name=$2 out words=()
    shift 2
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    out=$("$gpush" "${words[@]}" 2>&1 >out)
    tap_is "$?" "$status" "$name: exit status $status"
    shift
    tap_is "$out" "gpush ${words[0]}: $*" "$name: the message names the option of the command"
}
refusal 3 "a file that is too large" analyze rank0.json --max-bytes 99 -- \
    "profile.load: rank0.json has more than 99 bytes unpacked, the limit; --max-bytes n sets another"
refusal 3 "of compare, too" compare rank0.json rank1.json --max-bytes=99 -- \
    "profile.load: rank0.json has more than 99 bytes unpacked, the limit; --max-bytes n sets another"
refusal 2 "rows that the file has not" analyze own.prof.gz --group stack -- "--group stack needs a profile with stack = true"
refusal 2 "of compare, too" compare own.prof.gz own.prof.gz --group shape -- "--group shape needs a profile with shapes = true"
refusal 2 "a card that is not known" analyze rank0.json --card h300 -- \
    '--card: no card '"'h300'"' is known (expected "h200", "h100", "a100", "v100", "mi250", "t4", or a table of figures)'
after=$("$gpush" analyze rank0.json --card h100 2>&1)
before=$("$gpush" --card h100 analyze rank0.json 2>&1)
tap_is "$before" "$after" "a card before the command is the option's"
contains "$before" "card" "and is not ignored"
"$gpush" analyze rank0.json --max-bytes 99999999 >out 2>&1
tap_is $? 0 "a larger limit is taken"
for bad in "" "--limit 3" "rank0.json --limit x" "rank0.json --nosuch" "rank0.json --html" "rank0.json --ranks 0" "rank0.json --group x"; do
    # shellcheck disable=SC2086 # words
    out=$("$gpush" analyze $bad 2>err)
    tap_is "$? $out" "2 " "wrong options: '$bad'"
    grep -q '^usage: gpush analyze FILE' err
    tap_ok $? "usage is said" "$(cat err)"
done
out=$("$gpush" analyze own.prof.gz --group module 2>&1)
tap_is "$? $out" '2 gpush analyze: --group module needs a profile with stack = true' "a group that is not known there"
tap_is "$("$gpush" analyze --help | head -1)" "usage: gpush analyze FILE... [options]" "--help"
out=$("$gpush" analyze nosuch.json 2>&1)
tap_is "$? ${out#*: }" "3 profile.load: cannot open nosuch.json: No such file or directory" "no such file"
head -c 3000 rank0.json >cut.json
contains "$("$gpush" analyze cut.json)" "(it is cut at byte 3000: what followed is missing)" "of a cut trace what came before is shown"
head -c 3000 rank0.json.gz >cut.json.gz
contains "$("$gpush" analyze cut.json.gz)" "(it is cut at byte " "packed, too"
head -c 20 rank0.json >cut.json
out=$("$gpush" analyze cut.json 2>&1)
tap_is "$?" 3 "a trace that is cut before its first event is an error" "$out"
for file in rank0.json rank0.json.gz; do
    contains "$("$gpush" analyze - <$file)" "Loaded from standard input, torch.profiler's trace" "standard input: $file"
done
printf 'print("a script", ...)\n' >analyze
tap_is "$("$gpush" analyze x)" $'a script\tx' "a script of that name goes before"
tap_done
