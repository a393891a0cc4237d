#!/usr/bin/env bash
# dist.preempted without Slurm: a signal to one rank is every rank's answer, and a second one ends
# the program.
# shellcheck disable=SC2016,SC2154 # $PPID is for a shell of its own; status: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >x.lua <<'END'
print("before", dist.preempted())
if dist.rank == 1 then os.execute("kill -" .. arg[1] .. " $PPID") end
print("after", dist.preempted(), dist.preempted())
END
for signal in TERM USR1; do
    ranks 2 x.lua $signal
    tap_is "$status $(sort out | uniq -c | awk '{ print $1, $2, $3, $4 }' | tr '\n' ';')" \
        "0 2 after true true;2 before false ;" "SIG$signal to one of two ranks"
done
"$GPUSH_BUILD/gpush" -e 'print(dist.preempted()) os.execute "kill -TERM $PPID" print(dist.preempted()) io.stdout:flush()
os.execute "kill -TERM $PPID" print "still here"' >out 2>err
tap_is "$? $(tr '\n' ' ' <out)" "143 false true " "a second signal of the kind ends the program"
tap_done
