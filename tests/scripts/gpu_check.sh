#!/bin/bash
# scripts/dev/gpu-check on the simulated device: its parts run, and the report says what failed and
# that nothing ran on a GPU.
. "$GPUSH_ROOT/tests/support/tap.sh"
if [ -n "$GPUSH_SAN" ]; then
    echo "1..0 # SKIP a sanitised build is not what goes to a machine with a GPU"
    exit
fi
cd "$TMPDIR" || exit 1
mkdir -p tree/build tree/scripts/dev out
ln -s "$GPUSH_BUILD" tree/build/default
ln -s "$GPUSH_ROOT"/scripts/labs "$GPUSH_ROOT"/scripts/bench tree/scripts/
ln -s "$GPUSH_ROOT"/scripts/dev/gpu tree/scripts/dev/ && cp "$GPUSH_ROOT/scripts/dev/gpu-check" tree/scripts/dev/
OUT=$PWD/out GPUSH_CHECK_DEVICE=sim GPUSH_BENCH_PYTHON=/nonexistent tree/scripts/dev/gpu-check >text 2>said
tap_ok $? "it ends well" "$(tail -n 5 said)"
grep -q "nothing here ran on a GPU" out/REPORT.md
tap_ok $? "the report says that this was no GPU"
grep -q "| sync.selftest | ok |" out/REPORT.md && grep -q "| lab masked_loss | ok |" out/REPORT.md
tap_ok $? "the self-test and the labs ran" "$(grep '^|' out/REPORT.md)"
! grep -q "^| .* | failed |" out/REPORT.md && [ "$(grep -c '^| .* us |\|^| .* ms |' out/REPORT.md)" -ge 18 ]
tap_ok $? "every item of the benchmark has a time" "$(grep '^|' out/REPORT.md)"
"$GPUSH_BUILD/gpush" -e 'local r = json.decode(io.open("out/report.json"):read "a"); assert(r.failed == 0 and #r.parts > 5 and r.benchmark[1].seconds > 0 and r.facts.device == "sim")'
tap_ok $? "and the JSON says the same"

# A failing part is reported, and sets the exit status.
mkdir -p broken/scripts broken/build bad
ln -s "$GPUSH_BUILD" broken/build/default
cp -rL tree/scripts/* broken/scripts/ 2>/dev/null
for lab in broken/scripts/labs/*.lua; do echo 'print "left out here: it ran above"' >"$lab"; done
echo 'error "no such luck"' >broken/scripts/labs/svd.lua
OUT=$PWD/bad GPUSH_CHECK_DEVICE=sim GPUSH_BENCH_PYTHON=/nonexistent broken/scripts/dev/gpu-check >text 2>said
[ $? = 1 ]
tap_ok $? "a part that fails is the exit status" "$(tail -n 3 said)"
grep -q '| lab svd | \*\*failed\*\* |' bad/REPORT.md && grep -q "no such luck" bad/REPORT.md
tap_ok $? "and the report has its words"
tap_done
