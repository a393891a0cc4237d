#!/bin/bash
# tests/kernels/ops_binary.c on the stand-in for CUDA.
exec "$GPUSH_BUILD/tests/ops_binary"
