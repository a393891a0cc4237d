# Writes OUT, the index of composites (bindings/api/op/composite.c includes it), from the files in OPS:
# of each `define { "name", sig = "type …` at the start of a line its name, file, and first type.
#   cmake -DOPS=scripts/lua/ops -DOUT=composites.inc -P cmake/composites.cmake
file(GLOB files ${OPS}/*.lua)
set(rows "")
foreach(path ${files})
    get_filename_component(file ${path} NAME_WE)
    file(READ ${path} text)
    string(REGEX MATCHALL "\ndefine { \"[a-zA-Z0-9_.]+\",[ \n]*sig = \"[a-z]*" found "${text}")
    foreach(one ${found})
        string(REGEX REPLACE "^.*{ \"([^\"]+)\".*\"([a-z]*)$" "{\"\\1\", \"${file}\", \"\\2\"},\n" row "${one}")
        string(APPEND rows "${row}")
    endforeach()
endforeach()
file(WRITE ${OUT} "${rows}")
