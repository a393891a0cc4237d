#!/usr/bin/env bash
# Under Slurm, on this machine: srun's ranks, an array job, a requeue that goes on with the same
# losses, and a cancel that saves first.
# shellcheck disable=SC2154 # job: slurm.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
. "$GPUSH_ROOT/tests/support/slurm.sh"
run="srun $GPUSH_BUILD/gpush"
train="$run $GPUSH_ROOT/tests/support/dist/requeue.lua"

submit --output=sum.out "$run -e 'print(dist.size, dist.all_reduce(ones(2)):sum():item())'"
within 60 ended "$job"
tap_is "$(sort sum.out | uniq -c | awk '{ print $1, $2, $3 }')" "2 2 4.0" "srun's tasks are ranks"

submit --array=0-1 --output=array.%a.out "$run -e 'print(os.getenv \"SLURM_ARRAY_TASK_ID\", dist.size)'"
within 60 ended "$job"
tap_is "$(sort -u array.0.out array.1.out | tr '\t\n' ' ;')" "0 2;1 2;" "each job of an array is a job of ranks"

submit --output=whole.out "$train whole.safetensors 8 0"
within 60 ended "$job"
grep '^step' whole.out >losses
tap_is "$(wc -l <losses)" 8 "a training ends"

submit --output=requeued.out --open-mode=append --requeue "$train requeued.safetensors 8 0.3"
within 60 grep -qs '^step 3' requeued.out
scontrol requeue "$job"
# Slurm waits two minutes, for the credentials of the ended job's steps to expire.
is_pending() { [ "$(squeue --noheader --format=%T --jobs="$job")" = PENDING ]; }
within 60 is_pending
scontrol update JobId="$job" StartTime=now
within 150 grep -qs '^step 8' requeued.out
tap_is "$(grep '^step' requeued.out)" "$(cat losses)" "a requeued job goes on with the same losses, each step once"
grep -qs '^saved at step' requeued.out
tap_ok $? "it was saved before it was ended" "$(cat requeued.out)"

submit --output=cancelled.out "$train cancelled.safetensors 100000 0.1"
within 60 grep -qs '^step 2' cancelled.out
scancel "$job"
within 60 ended "$job"
last=$(sed -n 's/^saved at step //p' cancelled.out)
[ -n "$last" ]
tap_ok $? "a cancelled job saves first" "$(cat cancelled.out)"
tap_is "$("$GPUSH_BUILD/gpush" -e 'print(checkpoint.load("cancelled.safetensors").step)')" "$last" "what it saved is whole"
tap_done
