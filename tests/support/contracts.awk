# Prints "FILE:LINE: NAME" for each function of a header that no comment describes: above it, above
# another of its group (declarations without a blank line or a type between them), or on its line.
# Static functions need none.
FNR == 1 { depth = in_comment = described = continued = 0; head = "" }
{
    line = $0
    comment = in_comment
    while (1) {
        if (in_comment) {
            if (!(at = index(line, "*/"))) { line = ""; break }
            line = substr(line, at + 2)
            in_comment = 0
        } else if (match(line, /\/\/.*/)) {
            line = substr(line, 1, RSTART - 1)
            comment = 1
        } else if (match(line, /\/\*/)) {
            rest = substr(line, RSTART + 2)
            line = substr(line, 1, RSTART - 1)
            comment = in_comment = 1
            if (at = index(rest, "*/")) { line = line substr(rest, at + 2); in_comment = 0 }
            else break
        } else break
    }
    if (comment && !depth) described = 1
}
/^[ \t]*$/ && !depth { described = 0; head = "" }
/^[ \t]*#/ || continued { continued = /\\$/; next }
line ~ /^extern "C" \{/ || line ~ /^[ \t]*$/ { next }
{
    was = depth
    text = line
    depth += gsub(/\{/, "", text)
    depth -= gsub(/\}/, "", text)
    if (depth < 0) depth = 0 # the end of extern "C"
    if (was == 0) {
        if (head == "") start = FNR
        head = head " " line
    }
    if (depth > 0) next
    if (line !~ /[;}][ \t]*$/) next
    if (head ~ /^ (typedef |static |template |const )*(struct|union|enum)[^(]*\{/) { if (start != FNR) described = 0 }
    else if (head !~ /(^| )(static|GP_FN|GP_CALLED) / && head !~ /^ (typedef|template|_Static_assert|static_assert|extern [^(]*;|.*\(\*[a-zA-Z_]+\)\()/ && head ~ /[a-z_0-9]\(.*\)/ && head !~ /=/) {
        name = head
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        if (!described) print FILENAME ":" start ": " name
    }
    head = ""
}
