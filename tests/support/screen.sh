# A program on a terminal whose screen can be read, through tmux: for tests in bash, after tap.sh.
# shellcheck shell=bash disable=SC2154 # tap_count is tap.sh's
command -v tmux >/dev/null || tap_skip_all "tmux is not installed: nothing else here shows what a terminal's screen holds"

server=gpush-$$
screens=0
tm() { tmux -u -L "$server" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null' EXIT

# screen COLUMNS ROWS COMMAND: a new terminal that runs it, and a new server: the old one may be
# slow to end.
screen() {
    tm kill-server 2>/dev/null
    server=gpush-$$-$((++screens))
    tm new-session -d -x "$1" -y "$2" "$3" \; set -g status off >/dev/null && return
    [ "$tap_count" = 0 ] && tap_skip_all "tmux does not start here"
    tap_ok 1 "tmux starts again"
    tap_done
}

type_() { tm send-keys -l -- "$1"; } # text
key() { tm send-keys "$@"; }         # keys by tmux's names
# As a terminal with bracketed paste, which sends line ends as Enter; with -r unchanged.
paste() {
    tm set-buffer -- "$1"
    tm paste-buffer -p "${@:2}"
}

enter() { type_ "$1"; key Enter; }
# The terminal itself echoes text typed before the prompt is back, as in any shell: run TEXT waits
# for that.
prompt_is_back() { [[ $(cursor) == 2,* && $(shown | sed -n "$(($(tm display-message -p '#{cursor_y}') + 1))p") == '>' ]]; }
ready() { until_ prompt_is_back; }
# A slow machine shows what is typed late: until then the old prompt would look like the next one.
prompt_has_text() { ! prompt_is_back; }
run() { type_ "$1"; until_ prompt_has_text; key Enter; ready; }

shown() { tm capture-pane -p "$@"; }
cursor() { tm display-message -p '#{cursor_x},#{cursor_y}'; }

# until_ COMMAND: waits at most 20 s for it to succeed.
until_() {
    local i
    for ((i = 0; i < ${patience:-200}; i++)); do
        "$@" && return
        sleep 0.05
    done
    echo "# waited in vain: $*" >&2
    return 1
}

has() { [[ $(shown) == *"$1"* ]]; }
has_not() { [[ $(shown) != *"$1"* ]]; }
painted() { [[ $(shown -e) == *"$1"* ]]; }
# The rows from the N-th on, without empty ones at the end.
rows_are() { [ "$(shown | tail -n "+$1")" = "$2" ]; }
at() { [ "$(cursor)" = "$1" ]; }

# sees TEXT NAME, gone TEXT NAME, rows N TEXT NAME, cursor_at X,Y NAME: one assertion, once it
# holds.
sees() { until_ has "$1"; tap_ok $? "$2" "waited for: $1"$'\n'"$(shown)"; }
gone() { until_ has_not "$1"; tap_ok $? "$2" "still there: $1"$'\n'"$(shown)"; }
colours() { until_ painted "$1"; tap_ok $? "$2" "waited for: ${1//$'\e'/ESC}"$'\n'"$(shown -e | cat -v)"; }
rows() { until_ rows_are "$1" "$2"; tap_ok $? "$3" "expected:"$'\n'"$2"$'\n'"got:"$'\n'"$(shown | tail -n "+$1")"; }
cursor_at() { until_ at "$1"; tap_ok $? "$2" "expected $1, got $(cursor)"$'\n'"$(shown)"; }
