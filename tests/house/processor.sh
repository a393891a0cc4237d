#!/bin/bash
# Kinds of processors by tests/processor, from samples of /proc/cpuinfo; what it reads of a page; and
# that docs/processors.md is such a page.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
v2="fpu cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"
v3="$v2 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
v4="$v3 avx512f avx512bw avx512cd avx512dq avx512vl"

# kind VENDOR FAMILY MODEL STEPPING FLAGS: what is said of it; the second processor does not count.
kind() {
    printf 'processor\t: 0\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nstepping\t: %s\nflags\t\t: %s\n\nprocessor\t: 1\nflags\t\t: fpu\n' \
        "$@" >"$scratch/cpuinfo"
    "$root/tests/processor" kind "$scratch/cpuinfo"
}
tap_is "$(kind AuthenticAMD 25 1 1 "$v3")" "AMD Zen 3 (v3)" "AMD's Zen 3"
tap_is "$(kind AuthenticAMD 25 33 0 "$v3")" "AMD Zen 3 (v3)" "for desktops, too"
tap_is "$(kind AuthenticAMD 25 17 1 "$v4 avx512_bf16")" "AMD Zen 4 (v4, bf16)" "Zen 4"
tap_is "$(kind AuthenticAMD 25 97 2 "$v4 avx512_bf16")" "AMD Zen 4 (v4, bf16)" "for desktops, too"
tap_is "$(kind AuthenticAMD 23 49 0 "$v3")" "AMD Zen 2 (v3)" "Zen 2"
tap_is "$(kind GenuineIntel 6 85 7 "$v4 avx512_vnni")" "Intel Cascade Lake (v4)" "a model of three generations, by stepping"
tap_is "$(kind GenuineIntel 6 143 8 "$v4 avx512_bf16 avx512_fp16 amx_bf16 amx_tile amx_int8")" \
    "Intel Sapphire Rapids (v4, bf16, fp16, AMX)" "AMX"
tap_is "$(kind GenuineIntel 6 63 2 "$v3")" "Intel Haswell (v3)" "Haswell"
tap_is "$(kind GenuineIntel 6 143 8 "$v2")" "Intel Sapphire Rapids (v2)" "what a virtual machine hides is not there"
tap_is "$(kind GenuineIntel 6 999 1 "fpu sse2")" "Intel family 6 model 999 (v1)" "a generation that is not known"
tap_is "$(kind HygonGenuine 24 1 1 "$v3")" "HygonGenuine family 24 model 1 (v3)" "another maker"
tap_is "$("$root/tests/processor" kind /dev/null)" "$(uname -m) (unknown)" "no /proc/cpuinfo"

today=$(date -u +%Y-%m-%d)
now="$today $(git -C "$root" rev-parse --short=8 HEAD 2>/dev/null || echo unknown)"
cat >"$scratch/page" <<X
# A page
| processor | instructions | suite | TSan |
|---|---|---|---|
| AMD Zen 3 | v3 | $(date -u -d '-400 days' +%Y-%m-%d) 1234abcd | never |
| AMD Zen 4 | v4, bf16 | $today 5678abcd | never |
| AMD Zen 5 | v4, bf16 | never | $(date -u -d '-1 day' +%Y-%m-%d) 9abcdef0 |
X
seen() { "$root/tests/processor" "$1" "$2" "$scratch/cpuinfo" "$scratch/page" 2>&1; }
kind AuthenticAMD 25 1 1 "$v3" >/dev/null
tap_is "$(seen seen suite)" "AMD Zen 3 (v3), on which the suite last passed 400 days ago at 1234abcd" "how long ago"
tap_is "$(seen seen TSan)" "AMD Zen 3 (v3), on which TSan never passed, by docs/processors.md" "never"
tap_is "$(seen row TSan)" "| AMD Zen 3 | v3 | $(date -u -d '-400 days' +%Y-%m-%d) 1234abcd | $now |" "a row after a run"
tap_is "$(seen seen speed)" "tests/processor: no column 'speed' in the page" "a column that is not there"
kind AuthenticAMD 26 2 1 "$v4 avx512_bf16" >/dev/null
tap_is "$(seen seen suite)" \
    "AMD Zen 5 (v4, bf16), on which the suite never passed, by docs/processors.md; it last did on AMD Zen 4, with the same instructions, today at 5678abcd" \
    "another kind with the same instructions"
tap_is "$(seen seen TSan)" "AMD Zen 5 (v4, bf16), on which TSan last passed a day ago at 9abcdef0" "a day"
kind GenuineIntel 6 999 1 "$v4" >/dev/null
tap_is "$(seen seen suite)" "Intel family 6 model 999 (v4), on which the suite never passed, by docs/processors.md" "no one's kind"
tap_is "$(seen row suite)" "| Intel family 6 model 999 | v4 | $now | never |" "its row"

# The page itself: each cell is "never" or a day and a commit.
rows=$(sed -n '/^| processor /,/^$/{/^|/p;}' "$root/docs/processors.md" | tail -n +3)
tap_is "$(sed -E 's/^\|([^|]*\|){2}//; s/ (never|20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-9a-f]{8}) \|//g' <<<"$rows" | sort -u)" "" \
    "docs/processors.md has days and commits"
tap_is "$(cut -d'|' -f2,3 <<<"$rows" | sort | uniq -d)" "" "and a row for each kind"
tap_done
