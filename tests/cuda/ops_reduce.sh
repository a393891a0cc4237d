#!/bin/bash
# tests/kernels/ops_reduce.c on the stand-in for CUDA.
exec "$GPUSH_BUILD/tests/ops_reduce"
