# TAP for tests in bash: source "$GPUSH_ROOT/tests/support/tap.sh" ... tap_done
# shellcheck shell=bash
tap_count=0
tap_failed=0

# tap_ok STATUS NAME [DIAGNOSIS]: one assertion; STATUS is a command's exit status.
tap_ok() {
    tap_count=$((tap_count + 1))
    local name=${2//$'\n'/ }
    name=${name//\\/\\\\}
    name=${name//#/\\#}
    if [ "$1" = 0 ]; then
        printf 'ok %d - %s\n' "$tap_count" "$name"
        return
    fi
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$name"
    printf '# failed %d: %s\n' "$tap_count" "$2" >&2
    [ -z "${3-}" ] || printf '%s\n' "$3" | sed 's/^/#   /' >&2
}

# tap_is GOT WANT NAME
tap_is() {
    [ "$1" = "$2" ]
    tap_ok $? "$3" "got      $1"$'\n'"expected $2"
}

# tap_empty TEXT NAME: TEXT, the failures, one per line, must be empty and is the diagnosis.
tap_empty() {
    local status=0
    [ -z "$1" ] || status=1
    tap_ok $status "$2" "$1"
}

tap_skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d # SKIP %s\n' "$tap_count" "$1"
}

tap_skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

tap_done() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" = 0 ] && [ "$tap_count" -gt 0 ]
    exit
}
