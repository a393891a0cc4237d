# Prints "LINES static|extern FILE:LINE NAME" for every C function in K&R style: the signature
# starts in the first column, the body ends with a brace in the first column or on the same line.
FNR == 1 { start = 0 }
function report(lines) {
    name = head
    # In code that is included once per type, FN(name) is a name with the type's suffix.
    if (match(name, /FN\([A-Za-z_0-9]+\)[ \t]*\(/)) {
        name = substr(name, RSTART + 3)
        sub(/\).*/, "", name)
    }
    sub(/[ \t]*\(.*/, "", name)
    sub(/.*[ \t*]/, "", name)
    print lines, (head ~ /(^|[ \t])static[ \t]/ ? "static" : "extern"), FILENAME ":" start, name
}
# A function, not a type, a table, a macro or a linkage block.
function is_function() {
    return head ~ /\(/ && head !~ /^(typedef|struct|union|enum)[ \t][^(]*\{/ && head !~ /=[ \t]*\{/ && head !~ /^extern[ \t]+""/
}
/^[A-Za-z_]/ && !inside && !macro { if (!start) { start = FNR; head = "" } }
/^#/ && !inside { start = 0 }
{
    was_macro = macro
    macro = ((macro || /^[ \t]*#[ \t]*define/) && /\\$/)
    if (macro || was_macro) next
}
start && !inside {
    head = head " " $0
    sub(/^ /, "", head)
    if (head ~ /\{/) {
        if (head ~ /\}[ \t;]*$/) { if (is_function()) report(FNR - start + 1); start = 0 }
        else { inside = 1; counted = is_function() }
    } else if (head ~ /;[ \t]*$/ || /^[ \t]*$/) start = 0
}
inside && /^\}/ { if (counted) report(FNR - start + 1); inside = start = 0 }
