#!/usr/bin/env bash
# What is measured beside other work on the processor: the record notes it, and the verdict says it beside a worth.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
gpush=${GPUSH_BUILD:-$root/build/default}/gpush
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
unset GPUSH_LOADED
cpu=$(taskset -pc $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
[ -n "$cpu" ] && read -r _ _ _ 2>/dev/null </proc/thread-self/schedstat ||
    tap_skip_all "no taskset here, or a system that does not count the time"

# 300 ms of the script's own time, of which the processor works for about half beside a loop.
cat >spin.lua <<'E2'
local stop = clock() + 0.3
x = ones(4)
while clock() < stop do y = x + 1 end
E2
taskset -c "$cpu" sh -c 'while :; do :; done' &
loop=$!
taskset -c "$cpu" "$gpush" profile --save spin.prof spin.lua 2>/dev/null
kill "$loop"
out=$("$gpush" analyze spin.prof)
[[ $out =~ dominated.*"measured while the processors were loaded: for "([0-9]+)" ms a thread had work but none" ]] &&
    ((BASH_REMATCH[1] >= 50))
tap_ok $? "the verdict of a saved profile says that other work was on the processor" "said: $out"
loaded=${BASH_REMATCH[1]}
out=$("$gpush" -e "p = profile.load 'spin.prof'; print(p:whatif{host = 0.5}.accuracy)" 2>&1)
[[ $out == *"; measured while the processors were loaded: for $loaded ms"* ]]
tap_ok $? "and so does what is predicted from it" "said: $out"

# The same number, where the record says that the processors were free, or does not say.
gzip -dcf spin.prof | sed 's/,"starved":[0-9]*//' >free.prof
out=$("$gpush" analyze free.prof)
[[ $out == *dominated* && $out != *loaded* ]]
tap_ok $? "and nothing is said of one without" "said: $out"
tap_done
