#!/bin/bash
# :status on a card: what still runs at the end of a line is not lost, but counts for the line at
# whose end it is done; by CUPTI's records, and by events where CUPTI cannot be used.
. "$GPUSH_ROOT/tests/support/tap.sh"
# Each line's device time in whole ms, and what lines print.
session() {
    env "$@" "$GPUSH_BUILD/gpush" -i <<'E2' 2>&1 | sed -E 's/^(> )+//' | awk '
        { n = index($0, "devices ") } n { split(substr($0, n), f, " "); printf "%d ", f[2] * (f[3] ~ /^us/ ? .001 : f[3] ~ /^ms/ ? 1 : 1000); next }
        /^profile/ { print }'
fake, x = require "fake", ones(9, {device = "cuda"}) + 1
synchronize()
:status on
z = 1
fake.fault "slow=1:60000" y = x + 1
z = 2
os.execute "sleep 0.3" fake.fault "slow=0" synchronize()
z = 3
profile.start()
fake.fault "slow=1:60000" y = x + 1
z = 4
os.execute "sleep 0.3" fake.fault "slow=0" synchronize()
p = profile.stop() print("profile", p.lost, p:table():match "add [^\n]- [34]%d%d%.%d+ms" ~= nil)
E2
}
want=$'^0 0 0 [3-9][0-9][0-9] 0 0 0 0 [3-9][0-9][0-9] profile\t0\ttrue\n0 ?$'
for cupti in "" busy; do
    got=$(session GPUSH_FAKE_CUPTI=$cupti)
    [[ $got =~ $want ]]
    tap_ok $? "a kernel that runs over three lines${cupti:+, by events}" "$got"
done
tap_done
