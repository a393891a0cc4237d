#!/bin/bash
# The plug-in compiles where there is no cudnn.h: conv_without.c then has the convolutions that conv.c has elsewhere, no more, no fewer.
cd "$GPUSH_ROOT" || exit 1
mkdir -p "$TMPDIR/include" "$TMPDIR/with" "$TMPDIR/without"
for f in tests/fake_cuda/include/*; do
    [ "${f##*/}" = cudnn.h ] || ln -s "$PWD/$f" "$TMPDIR/include/"
done
compile() { # folder of the results, folder of the headers
    for f in attention_cudnn conv conv_without dnn graph norm_cudnn rnn_cudnn; do
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -DGP_PLUGIN -nostdinc -isystem "$(${CC:-cc} -print-file-name=include)" \
            -I. -isystem "$2" -idirafter /usr/include -idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
            -c "kernels/cuda/$f.c" -o "$TMPDIR/$1/$f.o" || return
    done
}
defined() { nm --defined-only -g "$1" | awk '{print $3}' | sort; }
check() { if eval "$1"; then echo "ok $2"; else echo "not ok $2"; fi; }

echo 1..7
check 'compile with tests/fake_cuda/include' "1 - with cudnn.h it compiles"
check 'compile without "$TMPDIR/include"' "2 - and without"
check '[ "$(defined "$TMPDIR/with/conv.o" | wc -l)" -ge 8 ] && [ -z "$(defined "$TMPDIR/with/conv_without.o")" ]' "3 - with it conv.c has them all"
check '[ -z "$(defined "$TMPDIR/without/conv.o")" ]' "4 - without it conv.c has none"
check '[ "$(defined "$TMPDIR/with/conv.o")" = "$(defined "$TMPDIR/without/conv_without.o")" ]' "5 - and the other file has the same"
rnn=$(printf '%s\n' gp_cuda_saves gp_rnn_back_by_cudnn gp_rnn_by_cudnn)
check '[ "$(defined "$TMPDIR/with/rnn_cudnn.o")" = "$rnn" ] && [ "$(defined "$TMPDIR/without/rnn_cudnn.o")" = "$rnn" ]' "6 - recurrent layers do without"
attention=$(printf '%s\n' gp_attention_back_by_cudnn gp_attention_by_cudnn)
check '[ "$(defined "$TMPDIR/with/attention_cudnn.o")" = "$attention" ] && [ "$(defined "$TMPDIR/without/attention_cudnn.o")" = "$attention" ]' "7 - and so does attention"
