#!/bin/bash
# A type's name has one meaning: names with the prefix gp_, and those that a header gives to whole
# files, are defined in one file of the product. A name of a single .c or .cu is that file's own.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

# Prints "NAME FILE" for each struct, union, enum or typedef at the start of a line, once a file.
# The C library's names (int8_t …) stand in texts for compilers that have no stdint.h.
types() {
    local files
    mapfile -t files < <(find tensor kernels profile bindings shell -type f \( -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.inc' \) 2>/dev/null | LC_ALL=C sort)
    [ ${#files[@]} -eq 0 ] || awk -f "$root/tests/support/strip.awk" "${files[@]}" | perl -ne '
        my ($file, $text) = /^([^:]*):\d+: (.*)/ or next;
        my $kind = qr/(?:struct|union|enum)/;
        my $name;
        if ($text =~ /^(?:template <.*> )?(?:typedef )?$kind (\w+)(?: :.*)? \{/) { $name = $1 }
        elsif ($text =~ /^typedef $kind \{.*\} (\w+);/) { $name = $1 }
        elsif ($text =~ /^typedef .*\(\*(\w+)\)\(/) { $name = $1 }
        elsif ($text =~ /^typedef (?!$kind (\w+) \1;)[^{]*?(\w+)(?:\[.*\])?;/) { $name = $2 }
        elsif ($text =~ /^\} (\w+);/ && $open) { $name = $1 }
        $open = 1 if $text =~ /^typedef $kind.*\{/;
        $open = 0 if $text =~ /^\}/;
        print "$name $file\n" if defined $name && $name !~ /^u?int\d+_t$/ && !$seen{"$name $file"}++;'
}
# Prints "NAME: FILE FILE …" for each name that has several meanings.
several() {
    types | perl -ane '
        push @{$of{$F[0]}}, $F[1];
        END {
            for my $name (sort keys %of) {
                my @files = @{$of{$name}};
                print "$name: @files\n" if @files > 1 && ($name =~ /^gp_/ || grep /\.(?:h|cuh)$/, @files);
            }
        }'
}

cd "$root" || exit 1
tap_empty "$(several)" "a type's name has one meaning"
n=$(types | grep -c .)
tap_ok $((n > 500 ? 0 : 1)) "types are found ($n)"

# A scratch tree: names twice by a tag, a typedef, a function's type, an enum and a template; one in
# a header and a file; and two that files have for themselves.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir -p tensor/a kernels || exit 1
cat >tensor/a/a.h <<'EOF'
typedef struct gp_tag { int x; } gp_tag;
typedef struct gp_ahead gp_ahead;
typedef enum { A } gp_enum;
typedef int gp_number[2];
typedef void (*gp_fn)(int x);
typedef struct line { int x; } line;
EOF
cat >kernels/b.cuh <<'EOF'
struct gp_tag { /* another */
    int y;
};
typedef struct gp_ahead gp_ahead;
typedef struct {
    int y;
} gp_enum;
typedef float gp_number;
template <class T> struct gp_fn : base { T y; };
EOF
printf 'struct line {\n    int y;\n};\ntypedef int part;\n' >kernels/b.c
printf 'typedef float part;\n' >tensor/c.c
tap_is "$(several)" "gp_enum: kernels/b.cuh tensor/a/a.h
gp_fn: kernels/b.cuh tensor/a/a.h
gp_number: kernels/b.cuh tensor/a/a.h
gp_tag: kernels/b.cuh tensor/a/a.h
line: kernels/b.c tensor/a/a.h" "types with several meanings are found"
tap_done
