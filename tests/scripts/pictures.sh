#!/bin/bash
# scripts/dev/pictures.lua: a session's screen becomes an SVG with its texts, colours and drawn
# characters.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
command -v tmux >/dev/null || tap_skip_all "tmux is not installed"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$build/gpush" "$root/scripts/dev/pictures.lua" "$scratch" >"$scratch/log" 2>&1
tap_ok $? "the pictures are drawn" "$(cat "$scratch/log")"
# holds FILE TEXT NAME: the picture has an element with TEXT.
holds() { tap_ok "$(grep -qF -- "$2" "$scratch/$1.svg"; echo $?)" "$3" "$(sed 's/<[^>]*>//g' "$scratch/$1.svg")"; }
holds prompt 'softmax(x, dim' "help"
holds prompt '>cumprod<' "completion"
holds prompt 'fill="#cba6f7">for<' "a keyword in its colour"
holds warning 'branch waited' "a warning"
holds table '# of Calls' "a table"
holds plot '<rect x=' "braille is drawn"
holds plot 'two waves' "the plot's title"
for f in prompt warning table plot; do
    [ -s "$root/pictures/$f.svg" ] && grep -q "pictures/$f.svg" "$root"/README.md "$root"/docs/*.md
    tap_ok $? "a document shows $f"
    tap_is "$(tail -c 7 "$scratch/$f.svg")" "</svg>" "$f is whole"
    # Viewers collapse spaces, so none may matter.
    for svg in "$scratch/$f.svg" "$root/pictures/$f.svg"; do
        tap_empty "$(grep -E '<text[^>]*>( |[^<]*(  | <))' "$svg")" "no text in ${svg#"$root/"} depends on more than single spaces"
    done
done

# In a browser every text has as many characters as its textLength has columns (of 8.4 pixels), fits
# into it, and is where the picture says.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
# measured SVG: errors in its texts, one per line, and "measured N".
measured() {
    {
        echo '<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">'
        cat "$1"
        echo '<pre id="wrong"></pre><script>
            const texts = [...document.querySelectorAll("text")], wrong = []
            for (const t of texts) {
                const want = t.textLength.baseVal.value, at = t.getAttribute("x")
                t.removeAttribute("textLength")
                const natural = t.getComputedTextLength(), columns = t.getNumberOfChars()
                t.setAttribute("textLength", want)
                if (Math.abs(columns * 8.4 - want) > 0.1) wrong.push(columns + " characters in " + want + ": " + t.textContent)
                if (Math.abs(natural - want) > 0.15 * want) wrong.push(natural + " wide in " + want + ": " + t.textContent)
                if (Math.abs(t.getBBox().x - at) > 1) wrong.push(t.getBBox().x + " and not at " + at + ": " + t.textContent)
            }
            document.getElementById("wrong").textContent = wrong.join("\n") + "\nmeasured " + texts.length
        </script>'
    } >"$scratch/page.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/browser" --dump-dom \
        "file://$scratch/page.html" 2>"$scratch/browser.log" | sed -n '/<pre/,/<\/pre/{s/<[^>]*>//g; p}'
}
for f in prompt warning table plot; do
    if [ -z "$browser" ]; then
        tap_skip "$f in a browser: chromium is not installed"
    else
        tap_is "$(measured "$root/pictures/$f.svg" | sed '/^$/d')" "measured $(grep -c '<text' "$root/pictures/$f.svg")" "$f in a browser"
    fi
done
tap_done
