# Parts that stand on the rest, and that a build may leave out: each option names the sources, the
# kernels, the plug-ins and the tests of one. What a script then asks for says so
# (bindings/left_out.c); sources that cannot do without a word of it ask for GP_WITHOUT_….
option(GPUSH_ANALYSIS "profiles and traces as files, verdicts, predictions and the page: gpush analyze" ON)
option(GPUSH_CAPTURE "fuse, capture and cuda.kernel" ON)
option(GPUSH_DIST "scripts of many processes: dist, with its plug-ins for MPI and NCCL" ON)
set(ANALYSIS_SOURCES "/profile/(load|replay)/|/profile/show/columns\\.c|/api/profile/(columns|load|replay|whatif)\\.c")
set(CAPTURE_SOURCES "/(tensor|kernels/[a-z]+)/(fuse|capture|simt)/|/tensor/ops/(fuse|simt)\\.c|/api/op/(fuse|capture|simt)\\.c|/bindings/guard\\.c")
set(DIST_SOURCES "/(tensor|kernels/[a-z]+)/dist/|/tensor/ops/dist\\.c|/api/device/dist\\.c|/kernels/(mpi|nccl)/")
set(ANALYSIS_TESTS accuracy advice answer card export gate hta job kinds lua_time many nsys others outside owners predicted profile readers replay report
    saved stacks threads torch trace_cap verdict whatif would_wait)
list(JOIN ANALYSIS_TESTS "|" ANALYSIS_TESTS)
set(ANALYSIS_TESTS "/profile/(${ANALYSIS_TESTS})|tests/(dist/profiles|shell/(analyze|fit|mcp|profile_command)|scripts/(labs|record))")
set(CAPTURE_TESTS "tests/([a-z]+/)*((fuse|capture|kernel)[/._]|fork_graphs|optim|rnn_cudnn|rnn_graph)")
set(DIST_TESTS "tests/dist/")
set(LEFT_OUT)
foreach(part ANALYSIS CAPTURE DIST)
    if(NOT GPUSH_${part})
        add_compile_definitions(GP_WITHOUT_${part})
        list(APPEND LEFT_OUT ${part})
    endif()
endforeach()

# tests/all reads it: an expression a line, of the tests that are left out.
set(LINES "")
foreach(part ${LEFT_OUT})
    string(APPEND LINES "${${part}_TESTS}\n")
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/tests_left_out "${LINES}")

# Takes what is left out from a list of sources, or (kind TESTS) of tests.
macro(gpush_leave_out list kind)
    foreach(part ${LEFT_OUT})
        list(FILTER ${list} EXCLUDE REGEX "${${part}_${kind}}")
    endforeach()
endmacro()
