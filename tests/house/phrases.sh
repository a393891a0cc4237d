#!/bin/bash
# Phrases that comments, help, messages and documents do not use, each with what to write instead.
# A phrase is found in any case, as whole words, and across the line breaks of a comment.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# One a line: a Perl pattern, then what to write. A space stands for any break between words.
phrases() {
    cat <<'EOF'
and (its|their|his) kin         and similar ones
as if nothing (were|was)        unchanged
so to say                       leave it out
of its own accord               by itself
who asks then                   the caller then
EOF
}

texts() {
    find tensor kernels profile bindings shell scripts tests docs .ci cmake *.md CMakeLists.txt \
        -type f 2>/dev/null | grep -Ev '^tests/fake_cuda/include/|^tests/house/phrases\.sh$|\.(png|svg|npy|npz)$' |
        xargs -r grep -lI .
}
# Prints "FILE:LINE: the phrase (write: …)" for each.
found() {
    texts | LC_ALL=C sort | phrases="$(phrases)" xargs -r perl -CSD -0777 -ne '
        BEGIN {
            binmode STDOUT, ":utf8";
            for (split /\n/, $ENV{phrases}) {
                my ($p, $say) = /^(.*?)\s{2,}(.*)$/ or die "no pair: $_";
                $p =~ s/ /(?:[ \\t]|[ \\t\\\\]*\\n[ \\t]*(?:\\*|\/\/|--|#|>)?[ \\t]*)+/g;
                push @list, [qr/\b(?:$p)\b/i, $say];
            }
        }
        for my $p (@list) {
            while (/$p->[0]/g) {
                my ($what, $line) = ($&, 1 + (substr($_, 0, $-[0]) =~ tr/\n//));
                $what =~ s/\s*\n\s*/ /g;
                print "$ARGV:$line: $what (write: $p->[1])\n";
            }
        }'
}

cd "$root" || exit 1
tap_empty "$(found)" "no phrase of the list is left"
n=$(phrases | grep -c .)
tap_ok $((n > 0 ? 0 : 1)) "the list has phrases ($n)"

# A scratch tree: a phrase in capitals, one over a line break, and none inside of longer words.
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir tensor || exit 1
printf '/* So to say. */\n/* It moves of its\n * own accord, and their kinship. */\nint x;\n' >tensor/x.c
tap_is "$(found | cut -d'(' -f1 | sed 's/ $//')" "$(printf '%s\n' 'tensor/x.c:1: So to say' 'tensor/x.c:2: of its * own accord')" \
    "phrases are found in any case, across lines, and as whole words"
tap_done
