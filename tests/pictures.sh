#!/bin/bash
# scripts/pictures.lua: what a session shows becomes an SVG with its texts, colours and drawn characters.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/tools/tap.sh"
command -v tmux >/dev/null || tap_skip_all "tmux is not installed"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$build/gpush" "$root/scripts/pictures.lua" "$scratch" >"$scratch/log" 2>&1
tap_ok $? "the pictures are drawn" "$(cat "$scratch/log")"
# holds FILE TEXT NAME: the picture has an element with TEXT.
holds() { tap_ok "$(grep -qF -- "$2" "$scratch/$1.svg"; echo $?)" "$3" "$(sed 's/<[^>]*>//g' "$scratch/$1.svg")"; }
holds prompt 'softmax(x, dim' "help"
holds prompt '  cumprod' "completion"
holds prompt 'fill="#cba6f7">for<' "a keyword in its colour"
holds warning 'branch waited' "a warning"
holds table '# of Calls' "a table"
holds plot '<rect x=' "braille is drawn"
holds plot 'two waves' "the plot's title"
for f in prompt warning table plot; do
    [ -s "$root/pictures/$f.svg" ] && grep -q "pictures/$f.svg" "$root/README.md"
    tap_ok $? "the README shows $f"
    tap_is "$(tail -c 7 "$scratch/$f.svg")" "</svg>" "$f is whole"
done
tap_done
