#!/bin/bash
# scripts/dev/gpu-check on the simulated device: its parts are there by name and run, and the report
# says what failed and that nothing ran on a GPU.
. "$GPUSH_ROOT/tests/support/tap.sh"
if [ -n "$GPUSH_SAN" ]; then
    echo "1..0 # SKIP a sanitised build is not what goes to a machine with a GPU"
    exit
fi
cd "$TMPDIR" || exit 1
mkdir -p tree/build tree/scripts/dev out
ln -s "$GPUSH_BUILD" tree/build/default
ln -s "$GPUSH_ROOT"/scripts/bench tree/scripts/
# one lab for all: they have tests of their own
cp -r "$GPUSH_ROOT"/scripts/labs tree/scripts/
for lab in gathernd svd seven_tips; do echo 'print "left out here"' >tree/scripts/labs/$lab.lua; done
ln -s "$GPUSH_ROOT"/scripts/dev/gpu tree/scripts/dev/ && cp "$GPUSH_ROOT/scripts/dev/gpu-check" tree/scripts/dev/
check() { # OUT TREE PART...
    OUT=$PWD/$1 GPUSH_CHECK_DEVICE=sim GPUSH_BENCH_PYTHON=/nonexistent "$2/scripts/dev/gpu-check" "${@:3}" >text 2>said
}
check out tree --list
[ $? = 0 ] && [ "$(awk '$2 == "at" { printf "%s ", $1 }' text)" = "steps sanitizers sweep mended recording status ptx attention svd-table verdicts record suite records model benchmark all " ]
tap_ok $? "its parts are listed in their order, each with a limit of time" "$(cat text said)"
check out tree recording nosuch
[ $? = 2 ] && grep -q "no part 'nosuch'" said && [ ! -e out/REPORT.md ]
tap_ok $? "a part that there is not runs nothing" "$(cat said)"
check out tree recording
[ $? = 0 ] && [ "$(sed -n 's/^| \([a-z]*\) | ok .*/\1/p' out/REPORT.md)" = $'doctor\nrecording' ] && grep -q '^gpu-check: recording, at most 20 s of the 5[0-9]* left' said
tap_ok $? "a part alone, which says how long it may take" "$(cat said text)"

# svd-table has a test of its own
check out tree steps sanitizers sweep mended status ptx attention verdicts record suite records model benchmark
tap_ok $? "it ends well" "$(tail -n 5 said; grep '\*\*' out/REPORT.md)"
grep -q "nothing here ran on a GPU" out/REPORT.md
tap_ok $? "the report says that this was no GPU"
grep -q "^- processor: .* processors$" out/REPORT.md && grep -q "^- load: [0-9.]* .*at the end [0-9.]* " out/REPORT.md
tap_ok $? "and whose processor, how busy" "$(head -n 12 out/REPORT.md)"
for part in steps sweep mended status ptx "ptx alone" attention verdicts records benchmark sync.selftest "lab masked_loss"; do
    grep -q "^| $part | ok |" out/REPORT.md
    tap_ok $? "$part ran" "$(grep "^| $part" out/REPORT.md)"
done
for part in sanitizers record; do
    grep -q "^| $part | ok | 0 | left out: no " out/REPORT.md
    tap_ok $? "what $part lacks is said" "$(grep "^| $part" out/REPORT.md)"
done
! grep -q "^| .* | failed |" out/REPORT.md && [ "$(sed -n '/^## the table of/,$p' out/REPORT.md | grep -c '^| .* [um]s (.* to .*) |')" -ge 50 ]
tap_ok $? "every item of the benchmark has a time and its spread" "$(grep '^|' out/REPORT.md)"
[ "$(sed -n '/^## the sweep/,/^## rows/p' out/REPORT.md | grep -c '^| .* [um]s')" = 30 ]
tap_ok $? "the sweep names its worst 30" "$(sed -n '/^## the sweep/,/^## rows/p' out/REPORT.md)"
"$GPUSH_BUILD/gpush" -e 'local r = json.decode(io.open("out/report.json"):read "a"); assert(r.failed == 0 and #r.parts > 5 and r.tables[1].rows[1].seconds > 0 and r.facts.device == "sim")'
tap_ok $? "and the JSON says the same"

# A failing part is reported, and sets the exit status.
mkdir -p broken/scripts broken/build bad
ln -s "$GPUSH_BUILD" broken/build/default
cp -rL tree/scripts/* broken/scripts/ 2>/dev/null
for lab in broken/scripts/labs/*.lua; do echo 'print "left out here: it ran above"' >"$lab"; done
echo 'error "no such luck"' >broken/scripts/labs/svd.lua
check bad broken suite
[ $? = 1 ]
tap_ok $? "a part that fails is the exit status" "$(tail -n 3 said)"
grep -q '| lab svd | \*\*failed\*\* |' bad/REPORT.md && grep -q "no such luck" bad/REPORT.md
tap_ok $? "and the report has its words"
tap_done
