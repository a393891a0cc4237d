/* libzmq as a table of functions, which the plug-in libgpush_kernel.so holds: only a kernel loads
 * the library. */
#ifndef GP_ZMQ_TABLE_H
#define GP_ZMQ_TABLE_H

#include <zmq.h>

#define GP_ZMQ_FUNCTIONS(F)                                                                        \
    F(zmq_ctx_new)                                                                                 \
    F(zmq_ctx_set)                                                                                 \
    F(zmq_ctx_term)                                                                                \
    F(zmq_socket)                                                                                  \
    F(zmq_close)                                                                                   \
    F(zmq_setsockopt)                                                                              \
    F(zmq_getsockopt)                                                                              \
    F(zmq_bind)                                                                                    \
    F(zmq_msg_init)                                                                                \
    F(zmq_msg_recv)                                                                                \
    F(zmq_msg_data)                                                                                \
    F(zmq_msg_size)                                                                                \
    F(zmq_msg_more)                                                                                \
    F(zmq_msg_close)                                                                               \
    F(zmq_send)                                                                                    \
    F(zmq_poll)                                                                                    \
    F(zmq_errno)                                                                                   \
    F(zmq_strerror)

typedef struct gp_zmq_table {
#define F(name) __typeof__(&(name)) name;
    GP_ZMQ_FUNCTIONS(F)
#undef F
} gp_zmq_table;

#endif
