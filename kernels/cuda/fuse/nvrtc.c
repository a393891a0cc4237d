/* NVRTC, which compiles texts to a card's code, and the driver's functions that load and launch
 * it. Both are opened at their first use; neither's header is needed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/runtime/libs.h"

enum { THREADS = 256 };
enum { COMPILATION = 6 }; /* NVRTC_ERROR_COMPILATION */
enum {
    HEADERS = 0 /* one for each line of headers.def */
#define FILE(id, name) +1
#define STANDARD(name) +1
#include "kernels/cuda/fuse/headers.def"
};

/* nvrtc.h */
typedef struct nvrtc_program *program;
typedef struct nvrtc {
    int (*create)(program *p, const char *text, const char *name, int n, const char *const *headers,
                  const char *const *names);
    int (*compile)(program p, int n, const char *const *options);
    int (*code_size)(program p, size_t *size);
    int (*code)(program p, char *to);
    int (*log_size)(program p, size_t *size);
    int (*log)(program p, char *to);
    int (*destroy)(program *p);
    const char *(*error)(int code);
    int (*version)(int *major, int *minor);
    int (*text_size)(program p, size_t *size);
    int (*text)(program p, char *to);
    int (*add_name)(program p, const char *expression);
    int (*name_of)(program p, const char *expression, const char **name);
} nvrtc;
static const char *const nvrtc_names[] = {"nvrtcCreateProgram",
                                          "nvrtcCompileProgram",
                                          "nvrtcGetCUBINSize",
                                          "nvrtcGetCUBIN",
                                          "nvrtcGetProgramLogSize",
                                          "nvrtcGetProgramLog",
                                          "nvrtcDestroyProgram",
                                          "nvrtcGetErrorString",
                                          "nvrtcVersion",
                                          "nvrtcGetPTXSize",
                                          "nvrtcGetPTX",
                                          "nvrtcAddNameExpression",
                                          "nvrtcGetLoweredName"};

/* cuda.h: a function is a void * here. */
typedef struct driver {
    int (*load)(void **module, const void *code);
    int (*function)(void **function, void *module, const char *name);
    int (*unload)(void *module);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, cudaStream_t s, void **args, void **extra);
    int (*variable)(uint64_t *p, size_t *bytes, void *module, const char *name);
    int (*attribute)(int *value, int which, void *function);
    int (*set_attribute)(void *function, int which, int value);
    int (*best_block)(int *grid, int *block, void *function, size_t (*shared)(int block),
                      size_t fixed, int limit);
} driver;
static const char *const driver_names[] = {
    "cuModuleLoadData",     "cuModuleGetFunction",
    "cuModuleUnload",       "cuLaunchKernel",
    "cuModuleGetGlobal_v2", "cuFuncGetAttribute",
    "cuFuncSetAttribute",   "cuOccupancyMaxPotentialBlockSize"};
enum {
    SHARED_BYTES = 1,
    LOCAL_BYTES = 3,
    REGISTERS = 4,
    MOST_DYNAMIC = 8
}; /* CUfunction_attribute */

/* The functions of a library, all of which must be there; NULL with a message. */
static const nvrtc *compiler(void) {
    static _Thread_local nvrtc table;
    if (table.create) return &table;
    return gp_lib_functions(GP_LIB_nvrtc, "fuse", nvrtc_names, sizeof table / sizeof(void *), 0,
                            (void **)&table)
               ? &table
               : NULL;
}

static const driver *loader(void) {
    static _Thread_local driver table;
    if (table.load) return &table;
    return gp_lib_functions(GP_LIB_driver, "fuse", driver_names, sizeof table / sizeof(void *), 0,
                            (void **)&table)
               ? &table
               : NULL;
}

int gp_nvrtc_version(void) {
    int major = 0, minor = 0;
    const nvrtc *n = compiler();
    if (!n) return gp_error_clear(), 0;
    n->version(&major, &minor);
    return 100 * major + minor;
}

/* The log's first error, or the status. */
static void read_log(const nvrtc *n, program p, int status, char *why, size_t size) {
    size_t length = 0;
    char *text = NULL;
    if (!n->log_size(p, &length) && length && (text = malloc(length + 1))) {
        n->log(p, text);
        text[length] = 0;
    }
    char *at = text ? strstr(text, "error") : NULL;
    if (at) at[strcspn(at, "\n")] = 0;
    snprintf(why, size, "NVRTC: %.240s", at ? at : n->error(status));
    free(text);
}

/* The newest capability that NVRTC knows whose code the card can run: that runs on others of its
 * major number. A card that is newer than all of them gets PTX, which its driver compiles. */
static int known_arch(int arch, bool *ptx) {
    int newest = gp_lib_nvrtc_newest(arch);
    *ptx = newest && newest / 10 != arch / 10;
    return newest ? newest : arch;
}

/* No text of a user's is among the options. */
static int compile(const nvrtc *n, program p, int arch, bool ptx, bool own) {
    char card[40], dims[40];
    const char *options[] = {card, "--std=c++17", dims, "--fmad=false",
                             "--device-as-default-execution-space"};
    snprintf(card, sizeof card, "--gpu-architecture=%s_%d", ptx ? "compute" : "sm", arch);
    snprintf(dims, sizeof dims, "-DGP_MAX_DIM=%d", GP_MAX_DIM);
    return n->compile(p, own ? 2 : (int)(sizeof options / sizeof *options), options);
}

/* The code, as *code by free; false where there is none. */
static bool read_code(const nvrtc *n, program p, bool ptx, char **code, size_t *size) {
    if ((ptx ? n->text_size : n->code_size)(p, size) || !(*code = malloc(*size))) return false;
    if (!(ptx ? n->text : n->code)(p, *code)) return true;
    free(*code);
    *code = NULL;
    return false;
}

/* All of the log, by free. */
static char *whole_log(const nvrtc *n, program p) {
    size_t length = 0;
    char *text = NULL;
    if (!n->log_size(p, &length) && (text = calloc(1, length + 1))) n->log(p, text);
    return text;
}

/* Notes the expressions before the program is compiled, or their names after it. */
static int expressions(const nvrtc *n, program p, const gp_nvrtc_job *j, bool compiled) {
    const char *name;
    int status = 0;
    for (int i = 0; !status && i < j->nexpressions; i++)
        if (!compiled) status = n->add_name(p, j->expression[i]);
        else if (!(status = n->name_of(p, j->expression[i], &name)) && !(j->name[i] = strdup(name)))
            status = 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
    return status;
}

static int create(const nvrtc *n, program *p, const gp_nvrtc_job *j) {
    const char *names[HEADERS], *texts[HEADERS];
    int count;
    const gp_nvrtc_header *headers = gp_nvrtc_headers(&count);
    for (int i = 0; i < count; i++) names[i] = headers[i].name, texts[i] = headers[i].text;
    return n->create(p, j->text, j->own ? "kernel" : "program.cu", j->own ? 0 : count, texts,
                     names);
}

bool gp_nvrtc_compile(gp_nvrtc_job *j, char *why, size_t why_size) {
    int status;
    bool ptx;
    const nvrtc *n = compiler();
    program p = NULL;
    j->code = NULL, j->size = 0;
    if (!n) {
        snprintf(why, why_size, "%s", gp_error());
        return gp_error_clear(), false;
    }
    if ((status = create(n, &p, j))) {
        snprintf(why, why_size, "NVRTC: %s", n->error(status));
        return false;
    }
    int arch = known_arch(j->arch, &ptx);
    if (!(status = expressions(n, p, j, false))) status = compile(n, p, arch, ptx, j->own);
    if (status == COMPILATION && j->own) j->log = whole_log(n, p);
    if (!status) status = expressions(n, p, j, true);
    if (status) read_log(n, p, status, why, why_size);
    else if (!read_code(n, p, ptx, &j->code, &j->size))
        snprintf(why, why_size, "NVRTC gave no code");
    n->destroy(&p);
    return j->code != NULL;
}

void *gp_module_open(const char *code, char *why, size_t size) {
    const driver *d = loader();
    void *module = NULL;
    if (!d) {
        snprintf(why, size, "%s", gp_error());
        return gp_error_clear(), NULL;
    }
    int status = d->load(&module, code);
    if (status) return snprintf(why, size, "the driver cannot load it: error %d", status), NULL;
    return module;
}

void *gp_module_load(const char *code, void **kernel, char *why, size_t size) {
    void *module = gp_module_open(code, why, size);
    for (int k = 0; module && k < GP_FUSED_KERNELS; k++)
        if (loader()->function(&kernel[k], module, gp_fused_names[k])) kernel[k] = NULL;
    return module;
}

bool gp_module_function(void *module, const char *name, gp_module_kernel *k, char *why,
                        size_t size) {
    const driver *d = loader();
    int grid, status = d->function(&k->function, module, name);
    if (!status) status = d->attribute(&k->registers, REGISTERS, k->function);
    if (!status) status = d->attribute(&k->local, LOCAL_BYTES, k->function);
    if (!status) status = d->attribute(&k->shared, SHARED_BYTES, k->function);
    if (!status) status = d->best_block(&grid, &k->block, k->function, NULL, 0, 0);
    if (status) snprintf(why, size, "the driver has no kernel %.100s: error %d", name, status);
    return !status;
}

bool gp_module_variable(void *module, const char *name, void **p, size_t *bytes, char *why,
                        size_t size) {
    uint64_t at = 0;
    int status = loader()->variable(&at, bytes, module, name);
    *p = (void *)(uintptr_t)at;
    if (status) snprintf(why, size, "the driver has no variable %.100s: error %d", name, status);
    return !status;
}

/* The driver's errors of a launch have the runtime's numbers. */
bool gp_module_run(const gp_call *c, void *function, const unsigned grid[3],
                   const unsigned block[3], size_t shared, void **args) {
    enum { AT_LEAST = 48 << 10 };
    const driver *d = loader();
    int status = 0;
    if (!d) return false;
    if (shared > AT_LEAST) status = d->set_attribute(function, MOST_DYNAMIC, (int)shared);
    if (!status)
        status = d->launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                           (unsigned)shared, gp_cuda_stream(c), args, NULL);
    return gp_cuda_ok(c, (cudaError_t)status);
}

void gp_module_unload(void *module) {
    const driver *d = loader();
    if (d) d->unload(module);
}

bool gp_module_launch(const gp_call *c, void *kernel, unsigned blocks, size_t shared, void **args) {
    const unsigned grid[3] = {blocks, 1, 1}, block[3] = {THREADS, 1, 1};
    if (!blocks) return gp_cuda_ok(c, cudaSuccess);
    return gp_module_run(c, kernel, grid, block, shared, args);
}
