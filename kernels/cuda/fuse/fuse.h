/* Programs on CUDA: their text, its compilation by NVRTC, and their launch. Read by C and C++. */
#ifndef GP_CUDA_FUSE_H
#define GP_CUDA_FUSE_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GP_FUSED_MAX_INPUTS = 24, GP_FUSED_MAX_OUTPUTS = 4, GP_FUSED_MAX_NUMBERS = 80 };

/* A program's kernels, by number; with a reduction at the end the last five, else the first two. */
typedef enum gp_fused_kernel {
    GP_FUSED_ELEMENTS,
    GP_FUSED_VECTORS,
    GP_FUSED_PARTS,
    GP_FUSED_ROWS,
    GP_FUSED_COLUMNS, /* of vectors, as GP_FUSED_ROWS */
    GP_FUSED_ROWS_SINGLE,
    GP_FUSED_COLUMNS_SINGLE,
    GP_FUSED_KERNELS
} gp_fused_kernel;
extern const char *const gp_fused_names[GP_FUSED_KERNELS];

/* What a launch needs of a program; kernels by gp_fused_kernel, NULL: there is none. */
typedef struct gp_fused_job {
    int ninputs, nouts, nnumbers;
    const uint64_t *number;
    void *const *kernel;
    gp_dtype value, compute; /* a reduction: of what is reduced, and the type that it computes in */
    uint64_t mask;           /* and its dims */
} gp_fused_job;

/* Runs c, a call of `fused`, whose list of inputs is argument 1. False with a message. run.cu */
bool gp_fused_elementwise(const gp_call *c, const gp_fused_job *j);
bool gp_fused_reduction(const gp_call *c, const gp_fused_job *j);

/* ---- ready_made.c: programs whose kernels are the plug-in's own (tensor/fuse/loss.c) ---- */

struct gp_program;
/* Whether p, which is ready-made, has a kernel for these inputs. */
bool gp_ready_made(const struct gp_program *p, gp_tensor *const *in);
/* Runs c, a call of `fused` of such a program. False with a message. */
bool gp_ready_made_run(const gp_call *c);
/* Whether the loss of row number `op` has a reduction of its own; runs it on arrays of a 16-bit
 * dtype and one shape that are contiguous. number: the third operand. False with a message.
 * kernels/cuda/loss/reduced.cu */
bool gp_loss_reduces(int op);
bool gp_loss_reduce(const gp_call *c, int op, const gp_array *a, const gp_array *b, double number,
                    bool mean);

/* ---- source.c ---- */

/* The program as CUDA C++, by free, and the numbers that it reads, at most `most`, in number; NULL
 * with the reason in *why, which is static. */
char *gp_fused_source(const struct gp_program *p, uint64_t *number, int most, int *nnumbers,
                      const char **why);
/* The dtype in which formulas of dt are computed. */
gp_dtype gp_fused_compute(gp_dtype dt);

/* ---- headers.c: what such a text includes ---- */

typedef struct gp_nvrtc_header {
    const char *name, *text;
} gp_nvrtc_header;
/* The list; *n is set to its length. */
const gp_nvrtc_header *gp_nvrtc_headers(int *n);

/* ---- nvrtc.c ---- */

/* What NVRTC compiles. own: a user's text, whose kernels and variables are found by the names that
 * it gives to expressions; else a program's, with our headers and without contraction. */
typedef struct gp_nvrtc_job {
    const char *text;
    int arch; /* compute capability, as in 90 */
    bool own;
    int nexpressions;
    char *const *expression;
    char **name; /* of the expressions, by free: set by gp_nvrtc_compile */
    char *code;  /* by free: set */
    size_t size;
    char *log; /* of own: all that the compiler said, by free; NULL: it did not refuse the text */
} gp_nvrtc_job;
/* Compiles it. False with the reason in why. Any thread may call; no device is needed. */
bool gp_nvrtc_compile(gp_nvrtc_job *j, char *why, size_t why_size);
/* NVRTC's version, major times 100 and minor; 0 where there is none. */
int gp_nvrtc_version(void);
/* Loads code on the current device; kernels are set to its functions, NULL where it has none of
 * that name. NULL with the reason in why. */
void *gp_module_load(const char *code, void **kernel, char *why, size_t size);
void gp_module_unload(void *module);

typedef struct gp_module_kernel {
    void *function;
    int registers, local, shared, block; /* as in gp_card_info */
} gp_module_kernel;
/* Loads code on the current device. NULL with the reason in why. */
void *gp_module_open(const char *code, char *why, size_t size);
/* The module's function of that name, with what the driver knows of it. False with the reason. */
bool gp_module_function(void *module, const char *name, gp_module_kernel *k, char *why,
                        size_t size);
/* Where a variable of that name is on the device, and its bytes. False with the reason. */
bool gp_module_variable(void *module, const char *name, void **p, size_t *bytes, char *why,
                        size_t size);
/* Queues it on c's stream with that grid and block; more than 48 KB of shared memory are asked for
 * first. False with a message. */
bool gp_module_run(const gp_call *c, void *function, const unsigned grid[3],
                   const unsigned block[3], size_t shared, void **args);
/* Queues a kernel of GP_THREADS threads a block on c's stream; args: the addresses of its
 * arguments. False with a message. */
bool gp_module_launch(const gp_call *c, void *kernel, unsigned blocks, size_t shared, void **args);

#ifdef __cplusplus
}
#endif
#endif
