#!/bin/bash
# Phrases that comments, help, messages and documents do not use, each with what to write instead.
# A phrase is found in any case, as whole words, and across the line breaks of a comment.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# One a line: a Perl pattern, then what to write. A space stands for any break between words.
phrases() {
    cat <<'EOF'
side by side                    adjacent, contiguous, at the same time
for ever                        forever, without end; of memory: never freed
one behind the other            consecutive, in turn, concatenated
turned round                    transposed, reversed
and (its|their|his) kin         and similar ones
as if nothing (were|was)        unchanged
so to (say|speak)               leave it out
of its own accord               by itself
who asks then                   the caller then
(is|are|was|were|be|been|being) told(?! (apart|from|so))   is passed, is set; of an error: is reported
anew                            again
by way of                       through, with
at hand                         available
in the midst                    within, during
behind (it|its|them|the|an?|each|every|any|another|one|what|that|which|this|these|their|two)   after, that follows
once more                       again
so many                         a number: N of them, that many, `name` of them
as many as                      the same number of, one for each
(the|a) dim it goes along       the dimension to work along
(for|of) who(ever)? (asks|wants)   when a caller asks
what came out                   the result, the model's output
(need not|is to) be (rewritten|asked)   you need not rewrite
of its own accord               by itself
logarithms? of chances?         log-probability
(is|are) less wide              has a smaller width
first used place                first position
a dim more                      one more dim
no error tells                  no error says so
EOF
}

# Words that no identifier of C in the product is, each with the field's. kernels/cuda/norm has some
# left.
words() {
    cat <<'EOF'
room            capacity, scratch, workspace, shared
place           position, slot, address
places          positions
apart           separate, spacing, stride
put             store, append, write
GRAIN           GP_GRAIN
EOF
}
# Prints "FILE:LINE: the word (write: …)" for each, and for a static function that is only named run.
private() {
    local files
    mapfile -t files < <(find tensor kernels profile bindings shell -type f \( -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.inc' \) 2>/dev/null | grep -v '^kernels/cuda/norm/' | LC_ALL=C sort)
    [ ${#files[@]} -eq 0 ] || awk -f "$root/tests/support/strip.awk" "${files[@]}" | words="$(words)" perl -ne '
        BEGIN { /^(\S+)\s+(.*)/ and $say{$1} = $2 for split /\n/, $ENV{words} }
        my ($at, $text) = /^([^:]*:\d+): (.*)/ or next;
        print "$at: $1 (write: $say{$1})\n" while $text =~ /\b(@{[join "|", keys %say]})\b/g;
        print "$at: run (write: what it runs)\n" if $text =~ /^(?:template <.*> )?static .*\brun\(/;'
}

# Comments that ask instead of saying: "Is x free?" is "Whether x is free".
question='(?:/\*|^\s*//|--|^\s*#) (?:Is|Are|Was|Were|Do|Does|Did|Has|Have|Had|May|Might|Can|Could|Should|Would|Must|Will|Who|What|Where|When|Why|Which|How) [^.:;"*()]*\?(?=\s|$)'

texts() {
    find tensor kernels profile bindings shell scripts tests docs .ci cmake *.md CMakeLists.txt \
        -type f 2>/dev/null | grep -Ev '^tests/fake_cuda/include/|^tests/house/phrases\.sh$|\.(png|svg|npy|npz)$' |
        xargs -r grep -lI .
}
# Prints "FILE:LINE: the phrase (write: …)" for each.
found() {
    texts | LC_ALL=C sort | phrases="$(phrases)" question="$question" xargs -r perl -CSD -0777 -ne '
        BEGIN {
            binmode STDOUT, ":utf8";
            for (split /\n/, $ENV{phrases}) {
                my ($p, $say) = /^(.*?)\s{2,}(.*)$/ or die "no pair: $_";
                $p =~ s/ /(?:[ \\t]|[ \\t\\\\]*\\n[ \\t]*(?:\\*|\/\/|--|#|>)?[ \\t]*)+/g;
                push @list, [qr/\b(?:$p)\b/i, $say];
            }
            push @list, [qr/$ENV{question}/m, "Whether …"] if $ENV{question};
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

tap_empty "$(private)" "no identifier is a private word"

# A scratch tree: a phrase in capitals, one over a line break, and no word that only contains one.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir tensor || exit 1
printf 'static int run(int room) { return room; } /* place */\nchar *put = "apart", input, no_room;\n' >tensor/words.c
printf '/* Side by side. */\n/* They lie, so\n * to say, for everything. */\n/* Is x free? */\nint x;\n' >tensor/x.c
tap_is "$(found | cut -d'(' -f1)" "tensor/x.c:1: Side by side 
tensor/x.c:2: so * to say 
tensor/x.c:4: /* Is x free? " "phrases are found in any case, across lines, and as questions"
tap_is "$(private | cut -d'(' -f1)" "tensor/words.c:1: room 
tensor/words.c:1: room 
tensor/words.c:1: run 
tensor/words.c:2: put " "private words are found in code, not in comments, texts and longer names"
tap_done
