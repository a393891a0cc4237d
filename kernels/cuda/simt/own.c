/* Kernels of the user's on CUDA: their text is compiled by NVRTC when one is first prepared for a
 * device, or found on disk, where the names that NVRTC has given stand before the code. */
#include "kernels/cuda/simt/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/runtime/device.h"
#include "tensor/device/plugin_api.h"

enum { WHY = 300 };

static int count(const gp_card_text *t) { return t->nkernels + t->nglobals; }

/* ---- on disk ---- */

/* The file's name, of all that its contents depend on. */
static void set_name(const gp_card_text *t, int arch, char name[GP_OBJECT_NAME]) {
    char key[80];
    unsigned __int128 h = 0;
    snprintf(key, sizeof key, "cuda own 1 NVRTC %d sm_%d", gp_nvrtc_version(), arch);
    gp_fuse_cache_hash(key, strlen(key), &h);
    for (int i = 0; i < count(t); i++)
        gp_fuse_cache_hash(t->expression[i], strlen(t->expression[i]) + 1, &h);
    gp_fuse_cache_hash(t->text, strlen(t->text), &h);
    snprintf(name, GP_OBJECT_NAME, "%016llx%016llx.cu", (unsigned long long)(h >> 64),
             (unsigned long long)h);
}

/* Takes the names from the file's n bytes, each with its zero; the code is after them. */
static bool take_names(gp_own_form *f, const gp_card_text *t, const char *p, size_t n) {
    size_t at = 0;
    for (int i = 0; i < count(t); i++) {
        const char *zero = memchr(p + at, 0, n - at);
        if (!zero || !(f->name[i] = strdup(p + at))) return false;
        at = (size_t)(zero - p) + 1;
    }
    f->code = malloc(n - at + 1);
    if (f->code) memcpy(f->code, p + at, n - at), f->code[n - at] = 0;
    return f->code && n > at;
}

static bool find_code(gp_own_form *f, const gp_card_text *t, const char *name) {
    char why[WHY];
    size_t n = 0;
    int fd = gp_fuse_cache_open(why, sizeof why);
    char *p = fd < 0 ? NULL : gp_fuse_cache_read(fd, name, &n, why, sizeof why);
    if (fd >= 0) close(fd);
    bool ok = p && take_names(f, t, p, n);
    free(p);
    return ok;
}

/* Without a folder the code is used all the same. */
static void keep_code(const gp_own_form *f, const gp_card_text *t, size_t size, const char *name) {
    char why[WHY], *p = NULL;
    size_t n;
    FILE *to = open_memstream(&p, &n);
    if (!to) return;
    for (int i = 0; i < count(t); i++) fwrite(f->name[i], 1, strlen(f->name[i]) + 1, to);
    fwrite(f->code, 1, size, to);
    int fd = fclose(to) ? -1 : gp_fuse_cache_open(why, sizeof why);
    if (fd >= 0) gp_fuse_cache_write(fd, name, p, n, why, sizeof why);
    if (fd >= 0) close(fd);
    free(p);
}

/* ---- compiling ---- */

static void forget_code(gp_own_form *f, const gp_card_text *t) {
    for (int i = 0; i < count(t); i++) free(f->name[i]), f->name[i] = NULL;
    free(f->code);
    f->code = NULL;
}

/* Compiles the text; false with a message, or the compiler's log. */
static bool compile(gp_own_form *f, const gp_card_text *t, int arch, char **log) {
    char why[WHY], name[GP_OBJECT_NAME];
    gp_nvrtc_job j = {.text = t->text,
                      .arch = arch,
                      .own = true,
                      .nexpressions = count(t),
                      .expression = t->expression,
                      .name = f->name};
    set_name(t, arch, name);
    if (!gp_nvrtc_compile(&j, why, sizeof why)) {
        *log = j.log;
        forget_code(f, t);
        return gp_fail("%s", why);
    }
    f->code = j.code;
    keep_code(f, t, j.size, name);
    gp_object_note(GP_OBJECT_READY, NULL);
    return true;
}

/* Opens the code on dev. False with the reason in why. */
static bool load(gp_own_form *f, const gp_card_text *t, const gp_device *dev, char why[WHY]) {
    gp_own_module *m = &f->on[dev->slot];
    bool ok = (m->module = gp_module_open(f->code, why, WHY)) &&
              (m->kernel = calloc((size_t)count(t) + 1, sizeof *m->kernel)) &&
              (m->variable = calloc((size_t)count(t) + 1, sizeof *m->variable));
    for (int i = 0; ok && i < t->nkernels; i++)
        ok = gp_module_function(m->module, f->name[i], &m->kernel[i], why, WHY);
    for (int i = 0; ok && i < t->nglobals; i++)
        ok = gp_module_variable(m->module, f->name[t->nkernels + i], &m->variable[i].p,
                                &m->variable[i].bytes, why, WHY);
    if (ok) return true;
    if (m->module) gp_module_unload(m->module);
    free(m->kernel), free(m->variable);
    memset(m, 0, sizeof *m);
    return false;
}

static gp_own_form *form_of(gp_card_text *t) {
    gp_own_form *f = t->form;
    if (f || !(f = calloc(1, sizeof *f))) return f;
    f->name = calloc((size_t)count(t) + 1, sizeof *f->name);
    return f->name ? t->form = f : (free(f), NULL);
}

/* Code from the disk that the driver does not take is made again; so is that for another card. */
static bool make_ready(gp_own_form *f, gp_card_text *t, const gp_device *dev, char **log) {
    char why[WHY] = "", name[GP_OBJECT_NAME];
    int arch = gp_cuda_of(dev)->arch;
    if (f->on[dev->slot].module) return true;
    if (f->code && f->arch != arch) forget_code(f, t);
    f->arch = arch;
    set_name(t, arch, name);
    bool found = !f->code && find_code(f, t, name);
    if (found) gp_object_note(GP_OBJECT_BUSY, NULL);
    if (!f->code && !compile(f, t, arch, log)) return false;
    gp_cuda_enter(dev);
    if (load(f, t, dev, why)) return true;
    if (!found) return gp_fail("%s", why);
    forget_code(f, t);
    return compile(f, t, arch, log) && (load(f, t, dev, why) || gp_fail("%s", why));
}

__attribute__((visibility("default"))) bool gp_cuda_prepare(gp_device *dev, gp_card_kernel *k,
                                                            gp_card_info *info);
bool gp_cuda_prepare(gp_device *dev, gp_card_kernel *k, gp_card_info *info) {
    if (!k) return gp_fail("the kernel was not made for a card");
    if (!gp_device_alive(dev, "cuda.kernel")) return false;
    pthread_mutex_lock(&k->text->lock);
    gp_own_form *f = form_of(k->text);
    bool ok = f && make_ready(f, k->text, dev, &info->log);
    if (!f) gp_fail("out of memory");
    if (ok) {
        const gp_module_kernel *m = &f->on[dev->slot].kernel[k->index];
        info->registers = m->registers, info->local = m->local;
        info->shared = m->shared, info->block = m->block;
    }
    pthread_mutex_unlock(&k->text->lock);
    return ok;
}
