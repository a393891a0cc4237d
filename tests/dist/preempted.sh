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
# Ranks do not outlive the command that started them.
echo 'for i = 1, 600 do os.execute "sleep 0.1" end' >long.lua
"$GPUSH_BUILD/gpush" run -n 2 "$PWD/long.lua" >out 2>err </dev/null &
command=$!
ranks_left() { pgrep -cf "^[^ ]*gpush $PWD/long.lua"; }
for _ in $(seq 200); do [ "$(ranks_left)" = 2 ] && break; sleep 0.1; done
tap_is "$(ranks_left)" 2 "two ranks run"
kill -TERM $command
wait $command
if command -v setpriv >/dev/null; then
    for _ in $(seq 200); do [ "$(ranks_left)" = 0 ] && break; sleep 0.1; done
    tap_is "$(ranks_left)" 0 "SIGTERM of gpush run ends its ranks"
else tap_skip "there is no setpriv"; fi
# Ranks that answer it come to their end, which the command waits for.
cat >saves.lua <<'END'
dist.preempted()
io.open("ready" .. dist.rank, "w"):close()
repeat local stop = dist.preempted() until stop
io.open("saved" .. dist.rank, "w"):close()
END
"$GPUSH_BUILD/gpush" run -n 2 --restarts 3 "$PWD/saves.lua" >out 2>err </dev/null &
command=$!
for _ in $(seq 200); do [ -e ready0 ] && [ -e ready1 ] && break; sleep 0.1; done
kill -TERM $command
wait $command
tap_is "$(echo saved*) $(grep -c restart err)" "saved0 saved1 0" "which waits for ranks that save, and starts none again"
"$GPUSH_BUILD/gpush" run -n 99999999 long.lua >out 2>err
tap_ok $((! $?)) "more ranks than any job has"
says "expected a number of processes, 1 to 65536, got '99999999'" "are refused"
tap_done
