#!/bin/bash
# Files of at most 500 lines and functions of at most 60; prints the figures by which the house is compared with its models.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
. "$root/tests/tools/tap.sh"
max_file=500
max_function=60

c_files() {
    find tensor kernels profile bindings shell -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \
        -o -name '*.def' 2>/dev/null
}
all_files() {
    c_files
    find tests scripts -name '*.[ch]' -o -name '*.lua' -o -name '*.sh' 2>/dev/null
}
functions() {
    local files
    mapfile -t files < <({ c_files; find tests -name '*.[ch]'; } 2>/dev/null)
    [ ${#files[@]} -eq 0 ] || awk -f "$root/tests/tools/functions.awk" "${files[@]}"
}
long_files() { all_files | xargs -r wc -l | awk -v max=$max_file '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }'; }
long_functions() { functions | awk -v max=$max_function '$1 > max { print $3 " " $4 ": " $1 " lines" }'; }
no_opening() {
    local f
    for f in $(all_files); do
        # The first line says what the file is for; #! and --!plain may stand above it.
        sed -n '1,2{/^#!/d;/^--!plain/d;p;q}' "$f" | grep -Eq '^(/\*|//|--|#) ?.{15}' || echo "$f"
    done
}

cd "$root" || exit 1
tap_empty "$(long_files)" "no file is longer than $max_file lines"
tap_empty "$(long_functions)" "no function is longer than $max_function lines"
tap_empty "$(no_opening)" "every file opens with a sentence that says what it is for"

functions | sort -n | awk '
    $3 !~ /^tests/ { n[++k] = $1; if ($2 == "static") s++; if ($1 > 40) long++ }
    END { if (k) printf "# functions: %d, median %d lines, 90%% <= %d, longest %d, %.1f%% over 40, %.0f%% static\n",
        k, n[int((k + 1) / 2)], n[int(k * 0.9 + 0.5)], n[k], 100 * long / k, 100 * s / k }'
c_files | xargs -r wc -l | awk '$2 != "total" { print $1 }' | sort -n | awk '
    { n[NR] = $1; sum += $1 }
    END { if (NR) printf "# C files: %d, median %d lines, longest %d, %d lines in all\n", NR, n[int((NR + 1) / 2)], n[NR], sum }'
c_files | xargs -r cat | awk '
    { text = $0; sub(/^[ \t]*/, "", text); all++ }
    text == "" { all--; next }
    open || text ~ /^(\/\*|\/\/)/ { c++; open = (open || text ~ /^\/\*/) && text !~ /\*\/[ \t]*$/ }
    END { if (all) printf "# comments: %.0f%% of the lines that are not empty\n", 100 * c / all }'
all_files | xargs -r awk 'length($0) > 100 { n++ } END { printf "# lines over 100 columns: %d of %d\n", n, NR }'

# The rules can fail: a scratch tree that breaks each.
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir -p tensor tests/lua || exit 1
{ echo '/* A file that is too long by one line. */'; yes '' | head -n $max_file; } >tensor/long.c
lines() { for ((i = 0; i < $1; i++)); do echo '    x++;'; done; }
{
    printf '/* Functions at the limit and one beyond. */\nstatic const int table[] = {\n'; lines 70; printf '};\n'
    printf 'struct big {\n'; lines 70; printf '};\n'
    printf 'static int fits(int x)\n{\n#if 1\n'; lines 55; printf '#endif\n}\n'
    printf 'int one(int x) { return x; }\nint declared(int x);\n'
    printf 'static int *over(int a,\n           int x) {\n'; lines 58; printf '}\n'
} >tensor/functions.c
printf 'local x = 1\n' >tests/lua/x.lua
tap_is "$(long_files)" "tensor/long.c: 501 lines" "a file of 501 lines is found"
tap_is "$(long_functions)" "tensor/functions.c:208 over: 61 lines" "a function of 61 lines is found, tables are not"
tap_is "$(functions | awk '{ print $2, $4 }' | tr '\n' ' ')" "static fits extern one static over " "functions are told from the rest"
tap_is "$(no_opening)" "tests/lua/x.lua" "a file without its sentence is found"
tap_done
