#!/bin/bash
# The plug-in compiles without cudnn.h and nccl.h: without_cudnn.c then defines exactly the
# convolutions that conv.c defines otherwise.
cd "$GPUSH_ROOT" || exit 1
for family in attention conv cudnn dist norm rnn; do mkdir -p "$TMPDIR/with/$family" "$TMPDIR/without/$family"; done
mkdir -p "$TMPDIR/include"
for f in tests/fake_cuda/include/*; do
    case $f in */cudnn.h | */nccl.h) continue ;; esac
    ln -s "$PWD/$f" "$TMPDIR/include/"
done
compile() { # folder of the results, folder of the headers
    for f in attention/cudnn conv/conv conv/without_cudnn cudnn/cudnn cudnn/cudnn_graph norm/cudnn rnn/cudnn dist/collectives dist/nccl; do
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -DGP_PLUGIN -nostdinc -isystem "$(${CC:-cc} -print-file-name=include)" \
            -I. -isystem "$2" -idirafter /usr/include -idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
            -c "kernels/cuda/$f.c" -o "$TMPDIR/$1/$f.o" || return
    done
}
defined() { nm --defined-only -g "$1" | awk '{print $3}' | sort; }
# The check is a text for eval, which may name variables that are set here.
check() { if eval "$1"; then echo "ok $2"; else echo "not ok $2"; fi; }

echo 1..8
check 'compile with tests/fake_cuda/include' "1 - with cudnn.h it compiles"
check 'compile without "$TMPDIR/include"' "2 - and without"
check '[ "$(defined "$TMPDIR/with/conv/conv.o" | wc -l)" -ge 8 ] && [ -z "$(defined "$TMPDIR/with/conv/without_cudnn.o")" ]' "3 - with it conv.c has them all"
check '[ -z "$(defined "$TMPDIR/without/conv/conv.o")" ]' "4 - without it conv.c has none"
check '[ "$(defined "$TMPDIR/with/conv/conv.o")" = "$(defined "$TMPDIR/without/conv/without_cudnn.o")" ]' "5 - and the other file has the same"
# shellcheck disable=SC2034 # eval reads it
rnn=$(printf '%s\n' gp_cuda_saves gp_rnn_back_by_cudnn gp_rnn_by_cudnn)
check '[ "$(defined "$TMPDIR/with/rnn/cudnn.o")" = "$rnn" ] && [ "$(defined "$TMPDIR/without/rnn/cudnn.o")" = "$rnn" ]' "6 - recurrent layers do without"
# shellcheck disable=SC2034 # eval reads it
attention=$(printf '%s\n' gp_attention_back_by_cudnn gp_attention_by_cudnn)
check '[ "$(defined "$TMPDIR/with/attention/cudnn.o")" = "$attention" ] && [ "$(defined "$TMPDIR/without/attention/cudnn.o")" = "$attention" ]' "7 - and so does attention"
check '[ -n "$(defined "$TMPDIR/with/dist/collectives.o")" ] && for f in collectives nccl; do [ "$(defined "$TMPDIR/with/dist/$f.o")" = "$(defined "$TMPDIR/without/dist/$f.o")" ] || break; done' "8 - collectives do without nccl.h, which their plug-in alone needs"
