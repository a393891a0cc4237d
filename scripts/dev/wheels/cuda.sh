# Wheels of a CUDA plug-in that was built elsewhere. Sourced by scripts/dev/wheel.
# shellcheck shell=bash disable=SC2154

# NVIDIA's libraries that the plug-in opens, as packages of Python: with CUDA's version as theirs,
# or with one of their own. Not NCCL: it serves many processes, whose plug-ins no wheel has.
needs_cuda13="nvidia-cublas~=13.0 nvidia-cusolver~=12.0 nvidia-cusparse~=12.0 nvidia-cufft~=12.0
nvidia-cuda-nvrtc~=13.0 nvidia-cuda-cupti~=13.0 nvidia-nvjitlink~=13.0
nvidia-cudnn-cu13~=9.0"
needs_cuda12="nvidia-cublas-cu12~=12.4 nvidia-cusolver-cu12~=11.0 nvidia-cusparse-cu12~=12.0
nvidia-cufft-cu12~=11.0 nvidia-cuda-nvrtc-cu12~=12.4 nvidia-cuda-cupti-cu12~=12.4
nvidia-nvjitlink-cu12~=12.4 nvidia-cudnn-cu12~=9.0"
most_cuda=45 # MiB

# pack_cuda cuda12|cuda13 PLUGIN: the wheel of that plug-in.
pack_cuda() {
    kind=$1 plugin=${2-}
    [ -r "$plugin" ] ||
        die "--$kind wants the plug-in that was built, libgpush_cuda.so (got '$plugin')"
    readelf -hW "$plugin" 2>/dev/null | grep 'Machine:.*X86-64' >/dev/null ||
        die "$plugin is no library for x86-64"
    readelf --dyn-syms -W "$plugin" | grep ' gp_cuda_open$' >/dev/null ||
        die "$plugin is no plug-in of gpush: it has no gp_cuda_open"
    newest=$(readelf -VW "$plugin" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
    minor=${newest#GLIBC_2.}
    [ "${minor:-0}" -ge 31 ] || minor=31
    tree=$work/$kind
    rm -rf "$tree"
    mkdir -p "$tree/lib/gpush" "$dist"
    name=libgpush_cuda.so needs=$needs_cuda13
    [ "$kind" = cuda13 ] || name=libgpush_cuda12.so needs=$needs_cuda12
    cp "$plugin" "$tree/lib/gpush/$name"
    strip --strip-unneeded "$tree/lib/gpush/$name" || die "$plugin could not be copied to $tree"
    cat >"$work/METADATA.$kind" <<END
Metadata-Version: 2.4
Name: gpush-$kind
Version: $version
Summary: gpush's plug-in for CUDA ${kind#cuda}
License-Expression: MIT AND LicenseRef-NVIDIA-CUDA-EULA
License-File: gpush
Requires-Python: >=3.7
Requires-Dist: gpush==$version
$(for need in $needs; do echo "Requires-Dist: $need"; done)
END
    wheel=$(python3 "$here/pack.py" "$dist" "$work/METADATA.$kind" \
        "py3-none-manylinux_2_${minor}_x86_64" "$tree" "$root/LICENSE=licenses/gpush") ||
        die "the wheel could not be packed"
    rm -rf "$tree"
    say "$wheel: $(size_of "$wheel") MiB, for glibc 2.$minor or newer"
    [ "$(size_of "$wheel")" -le "$most_cuda" ] || die "that is more than $most_cuda MiB"
}
