# Prints "LINES FILE:LINE NAME" for every macro that continues over more than one line.
FNR == 1 { lines = 0 }
!lines && /^[ \t]*#[ \t]*define.*\\$/ {
    at = FNR
    lines = 1
    name = $0
    sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    next
}
lines && /\\$/ { lines++; next }
lines { print lines + 1, FILENAME ":" at, name; lines = 0 }
