/* The plug-in libgpush_kernel.so: the functions of libzmq, which it is linked to. */
#include "shell/kernel/zmq_table.h"

__attribute__((visibility("default"))) const gp_zmq_table gp_zmq_functions = {
#define F(name) .name = name,
#include "shell/kernel/zmq.def"
};
