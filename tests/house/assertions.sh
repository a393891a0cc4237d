#!/bin/bash
# Assertions that cannot fail: their condition is a constant, or something that Lua or C takes for true whatever
# it is, or a value is compared with itself.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# The tests of the assertions themselves make such ones.
vacuous() {
    find tests -name '*.lua' -o -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.cu' |
        grep -v '^tests/house/\(tap\|assertions\)\.' | LC_ALL=C sort | xargs -r perl -ne '
            my $value = qr/(?:[^,()\[\]{}"]|\([^()]*\)|\[[^\[\]]*\]|"[^"]*")+/;
            $bad = /\bt\.ok\((?:true|not (?:nil|false)|-?[\d.]+|"[^"]*"|\{[^{}]*\}|#[\w.]+)\s*,/
                || /\bt\.ok\(.*\bor true\s*,/ || /\bt\.(?:is|close)\(($value),\s*\1,/
                || /\btap_ok\((?:true|1),/ || /\btap_is_\w+\(($value),\s*\1,/
                || /\btap_ok 0 / || /\btap_is ("[^"]*"|\S+) \1 /;
            print "$ARGV:$.: $_" if $bad;
            close ARGV if eof'
}

cd "$root" || exit 1
tap_empty "$(vacuous)" "every assertion can fail"

# The rule can fail: a scratch tree with one of each, and with what they resemble.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir tests || exit 1
cat >tests/a.lua <<'E2'
t.ok(true, "x")
t.ok(not nil, "x")
t.ok(0, "x")
t.ok("text", "x")
t.ok({ 1 }, "x")
t.ok(#list, "x")
t.ok(a == b or true, "x")
t.is(a.b[1], a.b[1], "x")
t.close(f(x), f(x), 1e-6, "x")
t.ok(true == x, "fine")
t.ok(#list > 0, "fine")
t.is(f(x), f(y), "fine")
t.is(x, x2, "fine")
E2
printf 'tap_ok(true, "x");\ntap_is_int(n, n, "x");\ntap_ok(n == 1, "fine");\n' >tests/a.c
printf 'tap_ok 0 "x"\ntap_is "$a" "$a" "x"\ntap_ok $? "fine"\ntap_is "$a" "$b" "fine"\n' >tests/a.sh
tap_is "$(vacuous | grep -c '"x"') $(vacuous | grep -c fine)" "13 0" "assertions that cannot fail are found, others are not"
tap_done
