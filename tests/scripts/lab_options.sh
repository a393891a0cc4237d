#!/bin/bash
# Wrong options of each lab: one sentence on stderr that names the option, exit status 2, and nothing
# is run before.
. "$GPUSH_ROOT/tests/support/tap.sh"
cd "$TMPDIR" || exit 1
echo junk >junk && mkdir -p folder

# refused WHAT OPTION...: the lab's sentence.
refused() {
    local out
    out=$(timeout 60 "$GPUSH_BUILD/gpush" lab "${@:2}" </dev/null 2>err)
    tap_is "$?|$out|$(cat err)" "2||${2}: $1" "${*:2}"
}
devices="(expected cpu, sim, cuda or gpu, with :N for one of several)"
cards='(expected "h200", "h100", "a100", "v100", "mi250", "t4", or a table of figures), or '\''none'\'', for sim as it is'
for lab in $("$GPUSH_BUILD/gpush" labs | grep -v '^gpush' | cut -d' ' -f1); do
    refused "no option --nosuch; --help lists them" "$lab" --nosuch 1
    refused "no option x; --help lists them" "$lab" x
    refused "--device: expected a value" "$lab" --device
    refused "--device nosuch: unknown device 'nosuch' $devices" "$lab" --device nosuch
    refused "--device cpu:7: unknown device 'cpu:7' $devices" "$lab" --device cpu:7
    [ "$lab" = ddp ] || refused "--card h300: no card 'h300' is known $cards" "$lab" --card h300
done
least="expected an integer of at least 1"
while read -r lab option; do
    # shellcheck disable=SC2086 # two words
    refused "$option: $least" "$lab" $option
done <<'END'
gathernd --rows many
gathernd --rows 0
gathernd --size 1.5
find_the_wait --steps 0
masked_loss --steps 0
seven_tips --steps -1
fork_wait --models 0
my_kernel --size 0
svd --size 0
svd_live --rounds 0
digits --epochs 0
ddp --width 0
END
for value in 1e400 nan -1 0 x; do
    refused "--host $value: expected a number from 1e-09 to 1" gathernd --host $value
done
refused "--workers 65: expected an integer from 0 to 64" masked_loss --workers 65
refused "--loader 2: expected seconds a batch, from 1e-9 to 1" masked_loss --loader 2
for lab in masked_loss digits; do
    refused "--precision f64: expected f32, f16 or bf16" $lab --precision f64
done
for list in 8,0 a,b ','; do
    refused "--sizes $list: expected integers of at least 1, as in 16,32" svd_live --sizes "$list"
done
refused "--slow -2: expected an integer of at least -1" ddp --slow -2
refused "--accuracy 101: expected an integer from 0 to 100" digits --accuracy 101
refused "--batch 90: there are 80 pictures to train on, and 20 kept back" digits --batch 90 --count 100
refused "--resume: expected --checkpoint FILE, too" digits --resume

# Files, before an hour is spent.
refused "--image nosuch: image.load: cannot open nosuch: No such file or directory" svd --image nosuch
refused "--image junk: image.load: junk is text, 'junk' (expected a PNG picture)" svd --image junk
refused "--data folder: cannot read folder: Is a directory" digits --data folder
refused "--data junk: npz.load: junk is text, 'junk' (expected an npz file)" digits --data junk
refused "--checkpoint: checkpoint.load: junk has 5 bytes (expected 8 for the length of a header, and the header)" \
    digits --resume --checkpoint junk
cannot="junk/x: Not a directory"
refused "--checkpoint junk/x: cannot write $cannot" digits --checkpoint junk/x
refused "--plot junk/x: cannot write $cannot" digits --plot junk/x
refused "--trace junk/x: cannot write $cannot" fork_wait --trace junk/x
refused "--trace junk/x: cannot write junk/x-0: Not a directory" masked_loss --trace junk/x
refused "--save junk/x: cannot write junk/x-0: Not a directory" ddp --save junk/x
refused "--write junk/x: cannot write $cannot" find_the_wait --write junk/x
refused "--write junk: it is there already: name another file" find_the_wait --write junk
refused "--check nosuch: cannot open nosuch: No such file or directory" find_the_wait --check nosuch
refused "--check folder: cannot read folder: Is a directory" find_the_wait --check folder
refused "--guess all: expected numbers of lines, such as 3,5,8" find_the_wait --guess all
refused "--device cpu: nothing waits there: choose a device that computes beside the host, gpu or sim" \
    find_the_wait --device cpu
# 3 x 999999 x 999999 numbers of 4 bytes are 11444068.9 MiB.
for lab in "lab svd" "$GPUSH_ROOT/scripts/labs/svd.lua"; do
    # shellcheck disable=SC2086 # two words
    text=$(timeout 60 "$GPUSH_BUILD/gpush" $lab --size 999999 2>&1 >/dev/null)
    tap_is "$?|$text" "1|svd: out of memory on cpu: requested 11444068.9 MiB, in use 0.0 MiB, cached 0.0 MiB: choose smaller sizes" "$lab: a size without the memory for it"
done
tap_is "$(echo *)" "err folder junk" "no file is left by a trial"
tap_done
