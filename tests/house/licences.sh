#!/bin/bash
# No GPL library in the process, which could not be shipped with CUDA's; and none of CUDA's in the
# program itself. Every library that the program or the module loads must be on the list below, with
# the licence that its package states.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"

# soname (a glob), licence, a line that the package's copyright file must have
list='
libc.so.*           LGPL-2.1+            Lesser General Public License
libm.so.*           LGPL-2.1+            Lesser General Public License
libmvec.so.*        LGPL-2.1+            Lesser General Public License
ld-linux*           LGPL-2.1+            Lesser General Public License
linux-vdso.so.*     -                    -
libgcc_s.so.*       GPL-3+exception      GCC RUNTIME LIBRARY EXCEPTION
libgomp.so.*        GPL-3+exception      GCC RUNTIME LIBRARY EXCEPTION
libstdc++.so.*      GPL-3+exception      GCC RUNTIME LIBRARY EXCEPTION
libquadmath.so.*    GPL-3+exception      GCC RUNTIME LIBRARY EXCEPTION
libgfortran.so.*    GPL-3+exception      GCC RUNTIME LIBRARY EXCEPTION
libasan.so.*        NCSA/MIT             University of Illinois
libubsan.so.*       NCSA/MIT             University of Illinois
libtsan.so.*        NCSA/MIT             University of Illinois
liblua5.4.so.*      MIT                  Permission is hereby granted
libopenblas.so.*    BSD-3-clause         BSD-3-clause
liblapack.so.*      BSD-3-clause         BSD-3-clause
libblas.so.*        BSD-3-clause         BSD-3-clause
liblapacke.so.*     BSD-3-clause         BSD
libdnnl.so.*        Apache-2.0           Apache
libedit.so.*        BSD-3-clause         Regents of the University of California
libutf8proc.so.*    MIT                  Permission is hereby granted
libtinfo.so.*       MIT/X11              Permission is hereby granted
libncurses*.so.*    MIT/X11              Permission is hereby granted
libbsd.so.*         BSD-3-clause         BSD-3-clause
libmd.so.*          BSD-3-clause         BSD-3-clause
libpng16.so.*       libpng               libpng
libjansson.so.*     MIT                  Permission is hereby granted
libz.so.*           Zlib                 Jean-loup Gailly
libzip.so.*         BSD-3-clause         Redistribution and use
libbz2.so.*         BSD-4-like           Redistribution and use
liblzma.so.*        public-domain        public domain
libzstd.so.*        BSD-3-clause         BSD-3-clause
libcrypto.so.*      Apache-2.0           Apache
libssl.so.*         Apache-2.0           Apache
libtmglib.so.*      BSD-3-clause         BSD
libOpenCL.so.*      BSD-2-clause         Redistribution and use
libzmq.so.*         LGPL-3+exception     LGPL-3.0+ with special exception
libsodium.so.*      ISC                  Permission to use, copy, modify
libpgm-*.so.*       LGPL-2.1+            Lesser General Public License
libnorm.so.*        BSD-like             Naval Research Laboratory
libgssapi_krb5.so.* MIT                  Permission is hereby granted
libkrb5.so.*        MIT                  Permission is hereby granted
libk5crypto.so.*    MIT                  Permission is hereby granted
libkrb5support.so.* MIT                  Permission is hereby granted
libcom_err.so.*     MIT                  Permission to use, copy, modify
libkeyutils.so.*    LGPL-2.1+            Lesser General Public License
libresolv.so.*      LGPL-2.1+            Lesser General Public License
libpthread.so.*     LGPL-2.1+            Lesser General Public License
'

# licence_of SONAME: its line of the list, or nothing.
licence_of() {
    local name rest
    while read -r name rest; do
        # shellcheck disable=SC2254
        [ -n "$name" ] && case $1 in $name) echo "$rest" && return ;; esac
    done <<<"$list"
}

# Prints differences between a library's Debian package and the list; nothing when they agree or
# there is no package.
disagrees() {
    local package copyright
    [ "$2" != - ] && command -v dpkg-query >/dev/null || return 0
    package=$(dpkg-query -S "$(readlink -f "$1")" 2>/dev/null || dpkg-query -S "$1" 2>/dev/null) || return 0
    copyright=/usr/share/doc/${package%%:*}/copyright
    [ -r "$copyright" ] || return 0
    tr -s ' \n' ' ' <"$copyright" | grep -qiF "$2" || echo "$package: its copyright file does not say '$2'"
}

# check FILE: one line for each library that is unknown, or whose package states another licence.
check() {
    local name path rest entry
    while read -r name _ path rest; do
        [ "$path" = not ] && echo "$name: not found" && continue
        entry=$(licence_of "${name##*/}")
        [ -n "$entry" ] || { echo "$name ($path): not on the list of libraries whose licences are known" && continue; }
        read -r _ rest <<<"$entry"
        disagrees "$path" "$rest"
    done < <(ldd "$1")
}

for file in "$build/gpush" "$build/lib/gpush.so" "$build/lib/libgpush_blas.so"; do
    tap_empty "$(check "$file")" "${file##*/}: every library is known and none is GPL"
    tap_empty "$(ldd "$file" | grep -E 'libcu|libnv')" "${file##*/} does not link to CUDA"
    tap_empty "$(ldd "$file" | grep 'libopenblas' | grep -v openblas-openmp)" "${file##*/} has the OpenMP flavour of OpenBLAS"
done

# libzmq 4.3.4 is LGPL-3 with an exception that lets anything link to it; with what Debian builds it
# with. Only a kernel for notebooks loads it.
if [ -e "$build/lib/libgpush_kernel.so" ]; then
    tap_empty "$(check "$build/lib/libgpush_kernel.so")" "libgpush_kernel.so: every library is known and none is GPL"
    tap_empty "$(ldd "$build/gpush" | grep libzmq)" "the program itself does not link to libzmq"
else
    tap_skip "no libzmq: there is no kernel for notebooks"
fi

# The check can fail: libraries that are GPL, unknown, or missing, as ldd prints them.
ldd() { printf '\t%s => %s (0x1)\n' "$1" "${2-/nowhere/$1}"; }
for lib in libreadline.so.8 libfftw3.so.3 libgsl.so.27 libunheardof.so.1; do
    [ -n "$(check $lib)" ]
    tap_ok $? "$lib is objected to"
done
ldd() { printf '\tlibzip.so.4 => not found\n'; }
tap_is "$(check x)" "libzip.so.4: not found" "a missing library is objected to"
tap_is "$(disagrees /lib/x86_64-linux-gnu/libc.so.6 'no such words' | sed 's/.*: //')" \
    "its copyright file does not say 'no such words'" "a package that says otherwise is objected to"
tap_done
