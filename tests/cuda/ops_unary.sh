#!/bin/bash
# tests/kernels/ops_unary.c on the stand-in for CUDA.
exec "$GPUSH_BUILD/tests/ops_unary"
