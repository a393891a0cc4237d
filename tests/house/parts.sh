#!/bin/bash
# A build without one of the parts that can be left out (cmake/parts.cmake) links: no object of the
# rest uses what only that part's objects define. That is read from the symbols of the whole build,
# for the program and for the stand-in's plug-in; only the few files that use such a symbol, and
# left_out.c, which defines some in their place, are compiled again, as such a build does it.
# scripts/dev/small makes the build itself. Ends by breaking the rule, to see it fail.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
cd "$root" || exit 1

# pattern PART: the regular expression of its sources.
pattern() { sed -n "s/^set($1_SOURCES \"\(.*\)\")\$/\1/p" cmake/parts.cmake | sed 's/\\\\/\\/g'; }

# Prints "SOURCE OBJECT" for what the build in the folder $1 compiles into the targets $2, a regular
# expression.
compiled() {
    sed -nE 's/^ *"command": ".* -o ([^ ]*) .*/\1/p; s|^ *"file": "'"$root"'/(.*)"$|\1|p' "$1/compile_commands.json" |
        paste -d' ' - - | awk -v targets="(^|/)($2)[.]dir/" '$1 ~ targets { print $2, $1 }'
}

# Reads nm's "OBJECT: … KIND NAME"; prints "OBJECT U NAME" for what is used, with D for what is defined.
names() {
    awk '{ object = $1; sub(/:.*/, "", object) }
        $(NF - 1) == "U" { print object, "U", $NF }
        $(NF - 1) ~ /^[TDBRVWu]$/ { print object, "D", $NF }'
}

# again OBJECT PART: prints the symbols of that object of $build as compiled without PART.
again() {
    local line
    line=$(grep -F " -o $1 " "$build/compile_commands.json" | sed 's/^ *"command": "\(.*\)",$/\1/; s/\\\(.\)/\1/g')
    (cd "$build" && eval "${line/ -o $1 / -o '$TMPDIR/again.o' } -DGP_WITHOUT_$2 -O1 -fno-lto -w") &&
        nm -A -g "$TMPDIR/again.o" | names
}

# look BUILD TARGETS: keeps what these targets are made of, and its symbols, for uses.
look() {
    build=$1
    compiled "$1" "$2" >"$TMPDIR/made"
    (cd "$1" && cut -d' ' -f2 "$TMPDIR/made" | xargs nm -A -g 2>/dev/null) | names >"$TMPDIR/symbols"
}

# uses PART: "SOURCE: NAME of SOURCE" for each use of the part by the rest.
uses() {
    local object
    # the uses as the whole build has them
    part=$(pattern "$1") awk 'NR == FNR { source[$2] = $1; if ("/" $1 ~ ENVIRON["part"]) part[$2] = 1; next }
        $2 == "D" && $1 in part { of[$3] = source[$1] }
        $2 == "D" && !($1 in part) { also[$3] = 1 }
        $2 == "U" && !($1 in part) { use[$1 " " $3] = $1 }
        END { for (u in use) { split(u, w, " "); n = w[2]
            if (n in of && !(n in also)) print use[u], source[use[u]], n, of[n] } }' \
        "$TMPDIR/made" "$TMPDIR/symbols" | sort >"$TMPDIR/uses"
    # those that are left without the part
    for object in $( (cut -d' ' -f1 "$TMPDIR/uses"; sed -n 's|^[^ ]*/left_out\.c ||p' "$TMPDIR/made") | sort -u); do
        again "$object" "$1" | sed "s|^[^ ]*|$object|"
    done >"$TMPDIR/left"
    awk 'NR == FNR { if ($2 == "D") given[$3] = 1; else use[$1 " " $3] = 1; next }
        ($1 " " $3) in use && !($3 in given) { print $2 ": " $3 " of " $4 }' "$TMPDIR/left" "$TMPDIR/uses"
}

look "$GPUSH_BUILD" 'core|kernels_base|gpush'
for part in ANALYSIS CAPTURE DIST NOTEBOOK; do
    if sed 's|^|/|' "$TMPDIR/made" | grep -qE "$(pattern $part)"; then
        tap_empty "$(uses $part)" "without $part the program links"
    else
        tap_skip "$part is not in this build"
    fi
done
look "$GPUSH_BUILD" fake_gpush_cuda
for part in CAPTURE DIST; do
    tap_empty "$(uses $part)" "without $part the plug-in for CUDA links"
done

# A program of two files: one of the analysis, and profile.c, whose text is given.
# linked TEXT: what uses finds.
linked() {
    local f
    rm -rf "$TMPDIR/small"
    mkdir -p "$TMPDIR/small/core.dir"
    echo 'void gp_part(void) {}' >"$TMPDIR/small/load.c"
    echo "$1" >"$TMPDIR/small/rest.c"
    for f in profile/load/load.c:load profile/rest.c:rest; do
        echo "  \"command\": \"cc -o core.dir/${f#*:}.o -c ${f#*:}.c\","
        echo "  \"file\": \"$root/${f%:*}\""
        (cd "$TMPDIR/small" && cc -o "core.dir/${f#*:}.o" -c "${f#*:}.c")
    done >"$TMPDIR/small/compile_commands.json"
    look "$TMPDIR/small" core
    uses ANALYSIS
}
call='void gp_part(void); void gp_rest(void) { gp_part(); }'
tap_is "$(linked "$call")" "profile/rest.c: gp_part of profile/load/load.c" "a call of a part is found"
tap_empty "$(linked $'#ifndef GP_WITHOUT_ANALYSIS\n'"$call"$'\n#endif')" "one that goes with the part is allowed"
tap_done
