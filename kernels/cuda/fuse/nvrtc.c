/* NVRTC, which compiles texts to a card's code, and the driver's functions that load and launch
 * it. Both are opened at their first use; neither's header is needed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/runtime/libs.h"

enum { THREADS = 256 };
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
} nvrtc;
static const char *const nvrtc_names[] = {
    "nvrtcCreateProgram",     "nvrtcCompileProgram", "nvrtcGetCUBINSize",   "nvrtcGetCUBIN",
    "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",  "nvrtcDestroyProgram", "nvrtcGetErrorString",
    "nvrtcVersion",           "nvrtcGetPTXSize",     "nvrtcGetPTX"};

/* cuda.h: a function is a void * here. */
typedef struct driver {
    int (*load)(void **module, const void *code);
    int (*function)(void **function, void *module, const char *name);
    int (*unload)(void *module);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, cudaStream_t s, void **args, void **extra);
} driver;
static const char *const driver_names[] = {"cuModuleLoadData", "cuModuleGetFunction",
                                           "cuModuleUnload", "cuLaunchKernel"};

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

static int compile(const nvrtc *n, program p, int arch, bool ptx) {
    char card[40], dims[40];
    const char *options[] = {card, dims, "--std=c++17", "--fmad=false",
                             "--device-as-default-execution-space"};
    snprintf(card, sizeof card, "--gpu-architecture=%s_%d", ptx ? "compute" : "sm", arch);
    snprintf(dims, sizeof dims, "-DGP_MAX_DIM=%d", GP_MAX_DIM);
    return n->compile(p, (int)(sizeof options / sizeof *options), options);
}

/* The code, as *code by free; false where there is none. */
static bool read_code(const nvrtc *n, program p, bool ptx, char **code, size_t *size) {
    if ((ptx ? n->text_size : n->code_size)(p, size) || !(*code = malloc(*size))) return false;
    if (!(ptx ? n->text : n->code)(p, *code)) return true;
    free(*code);
    *code = NULL;
    return false;
}

bool gp_nvrtc_compile(const char *text, int arch, char **code, size_t *size, char *why,
                      size_t why_size) {
    const char *names[HEADERS], *texts[HEADERS];
    int count, status;
    bool ptx;
    const gp_nvrtc_header *headers = gp_nvrtc_headers(&count);
    const nvrtc *n = compiler();
    program p = NULL;
    *code = NULL, *size = 0;
    if (!n) {
        snprintf(why, why_size, "%s", gp_error());
        return gp_error_clear(), false;
    }
    for (int i = 0; i < count; i++) names[i] = headers[i].name, texts[i] = headers[i].text;
    if ((status = n->create(&p, text, "program.cu", count, texts, names))) {
        snprintf(why, why_size, "NVRTC: %s", n->error(status));
        return false;
    }
    arch = known_arch(arch, &ptx);
    if ((status = compile(n, p, arch, ptx))) read_log(n, p, status, why, why_size);
    else if (!read_code(n, p, ptx, code, size)) snprintf(why, why_size, "NVRTC gave no code");
    n->destroy(&p);
    return *code != NULL;
}

void *gp_module_load(const char *code, void **kernel, char *why, size_t size) {
    const driver *d = loader();
    void *module = NULL;
    if (!d) {
        snprintf(why, size, "%s", gp_error());
        return gp_error_clear(), NULL;
    }
    int status = d->load(&module, code);
    if (status) return snprintf(why, size, "the driver cannot load it: error %d", status), NULL;
    for (int k = 0; k < GP_FUSED_KERNELS; k++)
        if (d->function(&kernel[k], module, gp_fused_names[k])) kernel[k] = NULL;
    return module;
}

void gp_module_unload(void *module) {
    const driver *d = loader();
    if (d) d->unload(module);
}

bool gp_module_launch(const gp_call *c, void *kernel, unsigned blocks, size_t shared, void **args) {
    const driver *d = loader();
    if (!d) return false;
    if (!blocks) return gp_cuda_ok(c, cudaSuccess);
    /* the driver's errors of a launch have the runtime's numbers */
    int status = d->launch(kernel, blocks, 1, 1, THREADS, 1, 1, (unsigned)shared, gp_cuda_stream(c),
                           args, NULL);
    return gp_cuda_ok(c, (cudaError_t)status);
}
