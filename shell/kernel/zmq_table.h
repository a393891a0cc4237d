/* libzmq as a table of functions, which the plug-in libgpush_kernel.so holds: only a kernel loads
 * the library. */
#ifndef GP_ZMQ_TABLE_H
#define GP_ZMQ_TABLE_H

#include <zmq.h>

typedef struct gp_zmq_table {
#define F(name) __typeof__(&(name)) name;
#include "shell/kernel/zmq.def"
#undef F
} gp_zmq_table;

#endif
