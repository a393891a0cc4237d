# What gpush advises in PyTorch, run in PyTorch where TORCH_PYTHON (python3) has it: the same
# results on the cpu, and no value of the device needed. Each row of torch.def has its programs, and
# each kind of frames.def that names code.
. "$GPUSH_ROOT/tests/support/tap.sh"
exec "${TORCH_PYTHON:-python3}" "$GPUSH_ROOT/scripts/dev/torch/advice.py" \
    "$GPUSH_ROOT/profile/load/torch.def" "$GPUSH_ROOT/profile/load/frames.def"
