#!/bin/bash
# Parts of scripts/dev/gpu-check that ask the CUDA device for what sim does not have, on the stand-in
# for CUDA: plans that steps of models make, and what :status says of work in flight.
. "$GPUSH_ROOT/tests/support/tap.sh"
if [ -n "$GPUSH_SAN" ]; then
    echo "1..0 # SKIP a sanitised build is not what goes to a machine with a GPU"
    exit
fi
cd "$TMPDIR" || exit 1
mkdir -p tree/build tree/scripts/dev out
ln -s "$GPUSH_BUILD" tree/build/default
ln -s "$GPUSH_ROOT"/scripts/dev/gpu "$GPUSH_ROOT"/scripts/dev/gpu-check tree/scripts/dev/
cp --remove-destination "$GPUSH_ROOT/scripts/dev/gpu-check" tree/scripts/dev/
OUT=$PWD/out GPUSH_CHECK_SMALL=1 GPUSH_BENCH_PYTHON=/nonexistent tree/scripts/dev/gpu-check steps status >text 2>said
tap_ok $? "it ends well" "$(cat said; grep '^|' text)"
grep -q "^| steps | ok | [0-9]* | 8 lines |" text && [ "$(grep -c ', plans	0$' out/steps.log)" = 4 ]
tap_ok $? "no step after the third makes a plan" "$(cat out/steps.log)"
grep -q "^| status | ok | .*:status counts [0-9.]* ms of work in flight" text
tap_ok $? ":status counts work in flight" "$(cat out/status.log)"
grep -q "its times say nothing of a GPU" text
tap_ok $? "the report says that it is a trial"
tap_done
