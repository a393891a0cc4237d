#!/bin/bash
# Files of at most 500 lines, functions of at most 60, macros of at most 12, folders of at most 25
# files; prints the figures for comparison with other code bases.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
max_file=500
max_function=60
max_macro=12
max_line=100
max_row=160
max_files=25

c_files() {
    find tensor kernels profile bindings shell -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \
        -o -name '*.def' 2>/dev/null
}
all_files() {
    c_files
    find tests scripts -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.inc' \
        -o -name '*.lua' -o -name '*.sh' 2>/dev/null
}
functions() {
    local files
    mapfile -t files < <({ c_files; find tests -name '*.[ch]'; } 2>/dev/null)
    [ ${#files[@]} -eq 0 ] || awk -f "$root/tests/support/functions.awk" "${files[@]}"
}
long_files() { all_files | xargs -r wc -l | awk -v max=$max_file '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }'; }
long_functions() { functions | awk -v max=$max_function '$1 > max { print $3 " " $4 ": " $1 " lines" }'; }
macros() { c_files | xargs -r awk -f "$root/tests/support/macros.awk"; }
long_macros() {
    macros | awk -v max=$max_macro '$1 > max { sub(/:.*/, "", $2); n[$2]++ } END { for (f in n) print f, n[f] }' | LC_ALL=C sort
}
# Lines that are too long, by file, in characters: tables of ops and advice may have 160. NVIDIA's
# headers are exempt, and the shell tests contain whole screens in strings.
long_lines() {
    all_files | grep -v '^tests/fake_cuda/include/\|^tests/.*\.sh$' | xargs -r perl -CSD -ne '
        chomp; $n{$ARGV}++ if length > ($ARGV =~ /\.def$/ ? '$max_row' : '$max_line');
        END { print "$_: $n{$_} lines\n" for sort keys %n }'
}
# Folders of the product with more files of code than a reader can look over.
full_folders() {
    find tensor kernels profile bindings shell scripts/lua -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
        -o -name '*.lua' \) 2>/dev/null | sed 's|/[^/]*$||' | LC_ALL=C sort | uniq -c |
        awk -v max=$max_files '$1 > max { print $2 ": " $1 " files" }'
}
no_opening() {
    local f
    for f in $(all_files); do
        # The first line says what the file is for; #! and --!plain may precede it.
        sed -n '1,2{/^#!/d;/^--!plain/d;p;q}' "$f" | grep -Eq '^(/\*|//|--|#) ?.{15}' || echo "$f"
    done
}

cd "$root" || exit 1
tap_empty "$(long_files)" "no file is longer than $max_file lines"
tap_empty "$(long_functions)" "no function is longer than $max_function lines"
tap_empty "$(long_macros)" "no macro is longer than $max_macro lines"
tap_empty "$(long_lines)" "no line is longer than $max_line columns"
tap_empty "$(full_folders)" "no folder of the product has more than $max_files files of code"
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
macros | awk -v max=$max_macro '
    { sum += $1; if ($1 > max) { k++; long += $1 } }
    END { printf "# macros of several lines: %d with %d lines; longer than %d: %d with %d\n", NR, sum, max, k, long }'
all_files | xargs -r cat | perl -CSD -ne 'chomp; $n++ if length > '$max_line';
    END { print "# lines over '$max_line' columns: $n of $.\n" }'

# The rules can fail: a scratch tree that breaks each.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir -p tensor tests/profile || exit 1
{ echo '/* A file that is too long by one line. */'; yes '' | head -n $max_file; } >tensor/long.c
lines() { for ((i = 0; i < $1; i++)); do echo '    x++;'; done; }
{
    printf '/* Functions at the limit and one beyond. */\nstatic const int table[] = {\n'; lines 70; printf '};\n'
    printf 'struct big {\n'; lines 70; printf '};\n'
    printf 'static int fits(int x)\n{\n#if 1\n'; lines 55; printf '#endif\n}\n'
    printf 'int one(int x) { return x; }\nint declared(int x);\n'
    printf 'static int *over(int a,\n           int x) {\n'; lines 58; printf '}\n'
} >tensor/functions.c
{ printf 'local x = 1 --'; printf '%087d\n' 0; printf -- '--%099d\n' 0; } >tests/profile/x.lua
macro() { printf '#define %s \\\n' "$1"; for ((i = 2; i < $2; i++)); do printf '    x++; \\\n'; done; printf '    x++;\n'; }
{ printf '/* Macros at the limit and one beyond, and a function with the suffix of a type. */\n'; macro FITS $max_macro
    macro OVER $((max_macro + 1)); printf 'static int FN(typed)(int x) { return x; }\n'; } >tensor/macros.inc
tap_is "$(long_files)" "tensor/long.c: 501 lines" "a file of 501 lines is found"
tap_is "$(long_functions)" "tensor/functions.c:208 over: 61 lines" "a function of 61 lines is found, tables are not"
tap_is "$(functions | awk '{ print $2, $4 }' | tr '\n' ' ')" "static fits extern one static over static typed " "functions are told from the rest"
tap_is "$(long_macros)" "tensor/macros.inc 1" "a macro of 13 lines is found"
tap_is "$(long_lines)" "tests/profile/x.lua: 2 lines" "lines of 101 columns are found"
for ((i = 0; i < max_files + 1; i++)); do mkdir -p kernels/full && : >kernels/full/f$i.cu; done
tap_is "$(full_folders)" "kernels/full: 26 files" "a folder of 26 files is found"
rm -r kernels
tap_is "$(no_opening)" "tests/profile/x.lua" "a file without its sentence is found"
tap_done
