# GPUSH_LTO: what a small op crosses is optimised as one program when gpush is linked, which takes 5 % of its
# instructions away. These are the files that executed 0.01 % or more of what scripts/bench/overhead.lua
# runs, and those that call them: all 280 take five times as long to link, and gain nothing more
# (scripts/bench/instructions counts). Tests and the module link the plain code beside it.
set(WHOLE
    bindings/api/op/capture.c bindings/api/op/composite.c bindings/api/op/forms.c
    bindings/api/op/fuse.c bindings/api/op/index.c bindings/api/op/op.c bindings/args/args.c
    bindings/args/values.c bindings/bind.c bindings/guard.c bindings/paths.c tensor/autograd/after.c
    tensor/autograd/backward.c tensor/autograd/grad.c tensor/autograd/grad_formula.c
    tensor/autograd/survey.c tensor/autograd/tape.c tensor/base/intern.c tensor/call.c
    tensor/capture/check.c tensor/capture/graph.c tensor/capture/replay.c tensor/device/card/card.c
    tensor/device/card/clock.c tensor/device/device.c tensor/device/stream/hazard.c
    tensor/device/stream/queue.c tensor/fuse/object.c tensor/fuse/program.c tensor/fuse/replay.c
    tensor/infer.c tensor/intercept.c tensor/memory/alloc.c tensor/memory/cache.c
    tensor/memory/hostmem.c tensor/memory/magazine.c tensor/op.c tensor/ops/elementwise.c
    tensor/ops/fuse.c tensor/ops/layout/layout.c tensor/ops/layout/view.c tensor/ops/matmul.c
    tensor/ops/reduce.c tensor/overlap.c tensor/shape.c tensor/sig.c tensor/tensor.c)
foreach(file ${WHOLE})
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${file})
        message(FATAL_ERROR "cmake/whole.cmake names ${file}, which does not exist")
    endif()
endforeach()
set_property(SOURCE ${WHOLE} APPEND PROPERTY COMPILE_OPTIONS -flto=auto -ffat-lto-objects)
target_link_options(gpush PRIVATE -flto=auto -O3)
