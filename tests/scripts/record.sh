#!/usr/bin/env bash
# gpush record: its options and files, and programs that have no torch. Nothing here needs torch.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"

echo 'import sys; print(sys.argv[1:]); sys.exit(7)' >seven.py
record seven.py --steps 4 x
tap_is "$status|$out" "7|['--steps', '4', 'x']" "arguments and exit status are the program's"
says "nothing was recorded: the program did not import torch" "and why nothing was recorded"
echo 'print("fine")' >fine.py
record fine.py
tap_is "$status|$out" "1|fine" "a success that recorded nothing is 1"
for closed in '>&-' '<&-' '2>&-'; do
    eval "python3 seven.py $closed" >out 2>err
    alone="$?|$(<out)"
    eval "\"$gpush\" record seven.py $closed" >out 2>err
    tap_is "$?|$(<out)" "$alone" "a program with $closed"
done
record -m fine
tap_is "$out" fine "-m runs a module"
record -- sh -c 'exit 3'
tap_is "$status" 3 "a command after --"
record -- nosuch x
tap_is "$status|$out|$err" "1||gpush record: there is no command 'nosuch' here" "one that is not there"
record -- sh -c 'exit 3'
says "no Python started that loads gpush's package" "which is no Python"
record -- python3 -I fine.py
says "no Python started that loads gpush's package" "an isolated Python, too"
record -- sh -c 'kill -9 $$'
tap_is "$status" 137 "a signal's status is that of a shell"
record
tap_is "$status|$out" "2|" "no program is a wrong use"
says "expected a program" "which says so"
for option in steps skip seconds limit; do
    case $option in skip) least=0 ;; *) least=1 ;; esac
    for value in '' 0 -1 1e1 0x3 ' 3' 3.0 nan 99999999999999999999; do
        [ "$value" != "$least" ] || continue
        record --$option "$value" fine.py
        tap_is "$status|$out|${err%%$'\n'*}" \
            "2||gpush record: --$option: expected an integer of at least $least, got '$value'" "--$option '$value'"
    done
done
record --skip 0 fine.py
tap_is "$status|$out" "1|fine" "--skip 0 records from the first step on"
for option in html save baseline; do
    record --$option '' fine.py
    tap_is "$status|$out|${err%%$'\n'*}" "2||gpush record: --$option: expected a file, got ''" "--$option ''"
done
record -m ''
tap_is "$status|${err%%$'\n'*}" "2|gpush record: expected a program, got ''" "no name of a module"
cp fine.py page.html
record --html page.html page.html
tap_is "$status|$(cat page.html)" "2|print(\"fine\")" "a page does not replace the program"
mkdir own
echo 'import sys; own = True; print("own sitecustomize", any("scripts/python" in p for p in sys.path))' >own/sitecustomize.py
echo 'import sys, sitecustomize; print(sitecustomize.own)' >see.py
PYTHONPATH=own record see.py
tap_is "$out" $'own sitecustomize False\nTrue' "the user's sitecustomize is found, and sys.path is as without gpush"
PATH=/nonexistent "$gpush" record fine.py 2>err
tap_is "$?|$(grep -c 'no python3 here' err)" "1|1" "no Python at all"

printf '%s\n' 'try: import torch' 'except ImportError: print("without")' >optional.py
if python3 -c 'import torch' 2>/dev/null; then
    tap_skip "this python3 has torch"
else
    record optional.py
    tap_is "$status|$out" "1|without" "a Python without torch"
    says "nothing was recorded: $(python3 -c 'import sys; print(sys.executable)') has no torch: activate the environment" "which is named"
fi
mkdir -p made/torch
echo 'import torch; print("fine")' >imports.py
echo '__version__ = "1.13.1"' >made/torch/__init__.py
PYTHONPATH=made record imports.py
tap_is "$status|$out" "1|fine" "an old PyTorch"
says "PyTorch 1.13.1 is older than 2.0, which is needed" "which is said"
printf '%s\n' 'import importlib.util, sys' 'importlib.util.find_spec("torch")' 'import torch' >asks.py
PYTHONPATH=made record asks.py
says "PyTorch 1.13.1 is older than 2.0" "torch is seen where it was looked for before it was imported, as transformers does"
printf '%s\n' 'import sys' 'try: import torch' 'except ImportError: sys.path.append("made")' 'import torch' >second.py
record second.py
says "PyTorch 1.13.1 is older than 2.0" "and where it was found at the second time"
printf '%s\n' '__version__ = "2.4.0"' 'class autograd: kineto_available = staticmethod(lambda: False)' >made/torch/__init__.py
PYTHONPATH=made record imports.py
says "this build of PyTorch 2.4.0 has no Kineto, its profiler" "a build without Kineto"
tap_done
