# Prints C sources as "FILE:LINE: text" without comments and without the inside of strings (an
# #include keeps its name).
FNR == 1 { in_comment = 0 }
{
    line = $0
    if (!in_comment && line ~ /^[ \t]*#[ \t]*include/) {
        sub(/\/\*.*/, "", line)
        sub(/\/\/.*/, "", line)
        print FILENAME ":" FNR ": "line
        next
    }
    out = ""
    while (line != "") {
        if (in_comment) {
            if (!(at = index(line, "*/"))) break
            line = substr(line, at + 2)
            in_comment = 0
        } else if (match(line, /\/\*|\/\/|"|'/)) {
            out = out substr(line, 1, RSTART - 1)
            what = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (what == "//") break
            if (what == "/*") {
                in_comment = 1
                out = out " "
            } else {
                stop = what == "'" ? "^([^'\\\\]|\\\\.)*'" : "^([^\"\\\\]|\\\\.)*\""
                inside = match(line, stop) ? RLENGTH : length(line)
                out = out what (out ~ /_Pragma[ \t]*\($/ ? substr(line, 1, inside) : what)
                line = substr(line, inside + 1)
            }
        } else {
            out = out line
            line = ""
        }
    }
    print FILENAME ":" FNR ": "out
}
