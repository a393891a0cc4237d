#!/bin/bash
# The folder of compiled programs: what is kept, what is refused, and that results are right
# whatever is there. Compilers that fail, hang or are missing; two programs at once; Ctrl-C.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
command -v gcc >/dev/null || tap_skip_all "there is no gcc"
if grep -q '^CMAKE_C_COMPILER:[A-Z]*=.*clang' "$GPUSH_BUILD/CMakeCache.txt"; then
    tap_skip_all "clang's build compiles nothing"
fi

work=$(mktemp -d) || exit 1
export XDG_CACHE_HOME=$work/cache GPUSH_FUSE_COMPILE=wait
folder=$work/cache/gpush/fused
program='local f = fuse(function(x, y) return relu(x * y + x) * 0.5 end)
local x, y = randn(3000), randn(3000)
f(x, y)
assert(f(x, y):equal(relu(x * y + x) * 0.5))
local mode, n = fuse_compile()
print(n.compiled, n.loaded, n.failed, n.running, n.why)'
run() { PATH=${path:-$PATH} "$gpush" -e "$program" 2>&1 | tr '\t' ' '; } # path: where it finds programs
objects() { find "$folder" -name '*.so' | wc -l; }

# ---- what is kept ----
umask 000
tap_is "$(run)" "1 0 0 0 nil" "the first program compiles"
tap_is "$(run)" "0 1 0 0 nil" "the next one finds that"
modes=$(stat -c %a "$work/cache/gpush" "$folder" "$folder"/*.so | tr '\n' ' ')
tap_is "$modes" "700 700 600 " "none but the user may read it"
tap_is "$(find "$folder" -type f | wc -l)" 1 "there is nothing but the object"
umask 022
mkdir "$work/again"
XDG_CACHE_HOME=$work/again run >"$work/1" &
XDG_CACHE_HOME=$work/again run >"$work/2" &
wait
right=$(cat "$work/1" "$work/2" | grep -cE '^(1 0|0 1) 0 0 nil$')
tap_is "$right" 2 "two at once: both are right"
tap_is "$(find "$work/again" -type f | wc -l)" 1 "and leave one object"

# ---- what is refused ----
object=$(echo "$folder"/*.so)
truncate -s 3000 "$object"
tap_is "$(run)" "1 0 0 0 nil" "a cut off object is made again"
: >"$object"
tap_is "$(run)" "1 0 0 0 nil" "an empty one"
printf '\x01' | dd of="$object" bs=1 seek=2000 conv=notrunc status=none
tap_is "$(run)" "1 0 0 0 nil" "and a damaged one"
refused() { # NAME PATTERN
    local text
    text=$(run)
    grep -qE "^0 0 1 0 .*$2" <<<"$text"
    tap_ok $? "$1" "$text"
}
chmod go+w "$object"
refused "an object that others may write to" "others may write to it"
chmod go-w "$object"
mv "$object" "$work/elsewhere"
ln -s "$work/elsewhere" "$object"
refused "a link in its place" "symbolic links"
rm "$object"
mkdir "$object"
refused "a folder in its place" "is not a file"
rmdir "$object"
mkfifo "$object"
refused "a pipe in its place" "is not a file"
rm "$object"
chmod o+w "$folder"
refused "a folder that others may write to" "others may write to .*chmod go-w"
chmod o-w "$folder"
tap_is "$(objects)" 0 "which gets nothing"
if [ "$(id -u)" = 0 ]; then
    chown 12345 "$folder"
    refused "a folder of another user" "belongs to another user"
    chown 0 "$folder"
else tap_skip "a folder of another user: needs root"; fi
mv "$folder" "$work/real"
ln -s "$work/real" "$folder"
refused "a link in the folder's place" "Not a directory|symbolic links"
rm "$folder"
mv "$work/real" "$folder"
XDG_CACHE_HOME=/proc/none refused "a folder that cannot be made" "/proc/none/gpush/fused: "

# ---- compilers ----
mkdir "$work/bin"
fake() { # of which the rest of the line is the program
    printf '#!/bin/sh\n%s\n' "$1" >"$work/bin/gcc"
    chmod +x "$work/bin/gcc"
}
path=$work/none refused "no compiler" "there is no gcc or cc in PATH"
fake '[ "$LC_ALL" = C ] && echo "x.c:1: error: it is broken" >&2; exit 1'
LC_ALL=C.UTF-8 path=$work/bin:$PATH refused "one that fails, and says so in English" "it is broken"
fake 'exit 0'
path=$work/bin:$PATH refused "one that writes nothing" "wrote no object"
fake 'for last; do :; done; printf "%0100d" 0 >"${last%.c}.so"'
path=$work/bin:$PATH refused "one that writes no object" "."
fake 'kill -9 $$'
path=$work/bin:$PATH refused "one that is killed" "the C compiler failed"
fake "ulimit -f 1; exec \"$(command -v gcc)\" \"\$@\""
path=$work/bin:$PATH refused "a disk that takes no more" "the C compiler failed|wrote no object"
fake "exec \"$(command -v gcc)\" -D__clang__ \"\$@\""
path=$work/bin:$PATH refused "clang" "not GCC"
tap_is "$(find "$folder" -type f ! -name '*.so' | wc -l)" 0 "none of them leaves anything"
fails='for i = 1, 5 do
    local f = fuse(function(x) return relu(x * i) * i end)
    f(ones(3))
    f(ones(3))
end
print(select(2, fuse_compile()).failed)'
fake "echo 1 >>$work/calls; exit 1"
failed=$(PATH=$work/bin:$PATH "$gpush" -e "$fails")
tap_is "$failed $(wc -l <"$work/calls")" "5 3" "after three failures none is started"

# ---- its end ----
rm -f "$folder"/*.so
fake "echo \$\$ >$work/pid; exec sleep 100"
busy='fuse_compile(true)
local f = fuse(function(x, y) return relu(x * y + x) * 0.5 end)
local x = randn(2^20)
for i = 1, 60 do f(x, x) end
local n = select(2, fuse_compile())
print(n.running, n.compiled, n.failed)'
text=$(PATH=$work/bin:$PATH "$gpush" -e "$busy" | tr '\t' ' ')
tap_is "$text" "1 0 0" "a compiler that hangs keeps nothing waiting"
kill -0 "$(cat "$work/pid")" 2>/dev/null
tap_is $? 1 "it ends with the program"
tap_is "$(find "$folder" -type f | wc -l)" 0 "and leaves nothing"
rm "$work/pid"
perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' env PATH="$work/bin:$PATH" "$gpush" -e "$program" \
    >"$work/1" 2>&1 &
for ((i = 0; i < 500; i++)); do
    [ -s "$work/pid" ] && break
    sleep 0.02
done
kill -INT $!
wait $!
kill -0 "$(cat "$work/pid")" 2>/dev/null
tap_is "$? $(grep -c interrupted "$work/1")" "1 1" "Ctrl-C ends a program that waits, and its compiler"
tap_is "$(find "$folder" -type f | wc -l)" 0 "nothing is left"
read -r system _ < <(tr - ' ' </proc/sys/kernel/random/boot_id)
touch "$folder/tmp-$system-1-0."{c,so,log} "$folder/tmp-$system-1-1.so" "$folder/tmp-$system-1-2.cu"
exec 7>"$folder/tmp-$system-1-3.c"
flock 7
touch "$folder/tmp-$system-1-3.so"
tap_is "$(run)" "1 0 0 0 nil" "the folder serves as before"
tap_is "$(cd "$folder" && echo tmp-*)" "tmp-$system-1-3.c tmp-$system-1-3.so" \
    "what a killed program left is removed, and what another one makes is not"
exec 7>&-
rm "$folder"/tmp-*
truncate -s 70M "$folder/00000000000000000000000000000000.so" # in this second, and yet older
rm "$(find "$folder" -name '*.so' ! -name '000*')"
run >/dev/null
tap_is "$(objects)" 1 "beyond its limit the oldest objects go"

rm -f "$folder"/*.so
left='fuse_compile(true)
local x = randn(2^20)
for _, op in ipairs { abs, relu, neg } do
    local f, begin = fuse(function(x) return op(x * 2) + 1 end), clock()
    was = select(2, fuse_compile()).compiled
    for i = 1, 60 do f(x) end
    while op == neg and select(2, fuse_compile()).compiled == was and clock() - begin < 100 do
        f(x)
    end
end
print(select(2, fuse_compile()).compiled > was)'
tap_is "$("$gpush" -e "$left")" true "programs that are not run again hold up no other's compiler"

# ---- the setting ----
tap_is "$(GPUSH_FUSE_COMPILE=0 run)" "0 0 0 0 nil" "off"
doctor=$("$gpush" doctor | tr -s ' \n' ' ')
[[ $doctor =~ "gcc compiles what runs often; "[0-9]+" compiled, 0.0 MB, in $folder" ]]
tap_ok $? "doctor says where" "$doctor"
doctor=$(PATH=$work/none "$gpush" doctor | tr -s ' \n' ' ')
[[ $doctor == *"-- fuse there is no gcc or cc in PATH"* ]]
tap_ok $? "doctor says why not" "$doctor"
rm -rf "$work"
tap_done
