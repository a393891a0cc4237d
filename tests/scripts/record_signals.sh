#!/usr/bin/env bash
# gpush record: signals that come to it reach the program once, and what it made for a while is removed.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"

# begin COMMAND...: runs it, until its program has said that it is ready; sets pid. Its folder for temporary files is
# ours, so that what is left there is seen.
mkdir temporary
begin() {
    rm -f ready
    TMPDIR=$PWD/temporary env --default-signal "$@" >out 2>err &
    pid=$!
    for _ in {1..300}; do [ -e ready ] || sleep 0.1; done
}
# ended NAME STATUS OUT: the program's end is gpush's.
ended() {
    wait "$pid" 2>/dev/null
    status=$? err=$(<err)
    tap_is "$status|$(tr '\n' ' ' <out)|$(ls temporary)" "$2|$3|" "$1"
}
left() { for _ in {1..50}; do [ -z "$(ls temporary)" ] && ! pgrep -f "^sh $PWD/ignores.sh" >/dev/null && return; sleep 0.1; done; false; }
cat >answers.sh <<'E2'
for signal in HUP INT TERM USR1; do trap "echo $signal; [ $signal = USR1 ] || exit 5" $signal; done
touch ready; for i in $(seq 300); do sleep 0.1; done
E2
echo 'trap "" TERM; touch ready; for i in $(seq 300); do sleep 0.1; done' >ignores.sh
echo 'import time; open("ready", "w").close(); time.sleep(30)' >sleeps.py
for signal in TERM HUP INT; do
    begin "$gpush" record -- sh answers.sh
    kill -$signal $pid
    ended "SIG$signal to gpush alone reaches the program, once, whose status is gpush's; no folder is left" 5 "$signal "
done
begin "$gpush" record -- sh answers.sh
kill -USR1 $pid; sleep 0.4; kill -USR1 $pid; sleep 0.4; kill -TERM $pid
ended "SIGUSR1 as often as it comes, as of a scheduler" 5 "USR1 USR1 TERM "
begin setsid "$gpush" record -- sh answers.sh
kill -TERM -- -$pid
ended "SIGTERM to all of the group reaches the program once" 5 "TERM "
begin timeout 2 "$gpush" record -- sh answers.sh
ended "and timeout's, which sends it to the group and to gpush" 124 "TERM "
for each in TERM:143 HUP:129 INT:130; do
    begin "$gpush" record sleeps.py
    kill -${each%:*} $pid
    ended "SIG${each%:*} of a program that does not handle it" ${each#*:} ""
done
begin "$gpush" record -- sh "$PWD/ignores.sh"
kill -TERM $pid
for _ in {1..100}; do [ -s err ] || sleep 0.1; done
[[ $(<err) =~ ^"gpush: waiting for the program, process "[0-9]+", which has had SIGTERM; another kills it"$ ]]
tap_ok $? "a program that ignores SIGTERM is waited for, which is said" "said: $(<err)"
kill -TERM $pid
ended "and a second one ends both at once" 143 ""
says "the program was killed" "which is said"
left
tap_ok $? "neither is left" "$(pgrep -fa ignores.sh; ls temporary)"
if command -v setpriv >/dev/null; then
    begin "$gpush" record -- sh answers.sh
    kill -KILL $pid
    wait $pid 2>/dev/null
    left
    tap_is "$?|$(ls temporary)" "0|" "gpush killed: no folder is left"
    for _ in {1..50}; do [ -s out ] || sleep 0.1; done
    tap_is "$(<out)" TERM "and the program has SIGTERM"
else tap_skip "there is no setpriv"; fi
tap_done
