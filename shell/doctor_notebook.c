/* gpush doctor on notebooks: whether the kernel can start, and whether Jupyter knows it. */
#include "shell/doctor.h"

#ifdef GP_WITHOUT_NOTEBOOK

void gp_doctor_notebook(void) {
    gp_doctor_say(GP_ABSENT, "notebooks", "left out of this build: %s",
                  "a build where libzmq is, without GPUSH_NOTEBOOK=OFF, brings them");
    if (gp_doctor_origin() == GP_CLONE) gp_doctor_fix("scripts/gpush kernel install");
}

#else

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "shell/kernel/zmq_table.h"
#include "tensor/base/env.h"
#include "tensor/io/own_file.h"

/* The plug-in is there in each build that has notebooks; what is missing is libzmq. */
static void mend(void) {
    static const char *const names[GP_MANAGERS] = {"libzmq5", "zeromq", "zeromq", "libzmq5",
                                                   "libzmq"};
    char text[200];
    const char *install = gp_doctor_install(names, text, sizeof text);
    if (install) gp_doctor_fix("%s", install);
    else gp_doctor_fix("install libzmq, version 4");
}

/* Whether a kernelspec in folder/up/kernels starts gpush kernel. */
static bool has_spec(const char *folder, const char *up) {
    char pattern[PATH_MAX];
    if (!folder || !*folder) return false;
    snprintf(pattern, sizeof pattern, "%s%s/kernels/*/kernel.json", folder, up);
    return gp_doctor_any_file(pattern, "\"kernel\",\"--connection\"");
}

/* Where Jupyter looks: for this user, in an environment, for all. */
static bool is_known(void) {
    return has_spec(gp_env_text(GP_ENV_JUPYTER_DATA_DIR), "") ||
           has_spec(gp_env_text(GP_ENV_XDG_DATA_HOME), "/jupyter") ||
           has_spec(gp_env_text(GP_ENV_HOME), "/.local/share/jupyter") ||
           has_spec(gp_env_text(GP_ENV_VIRTUAL_ENV), "/share/jupyter") ||
           has_spec(gp_env_text(GP_ENV_CONDA_PREFIX), "/share/jupyter") ||
           has_spec(gp_doctor_root(), "/share/jupyter") ||
           has_spec("/usr/local", "/share/jupyter") || has_spec("/usr", "/share/jupyter");
}

void gp_doctor_notebook(void) {
    const char *why = "libgpush_kernel.so is of another version";
    void *so = gp_own_library("libgpush_kernel.so", RTLD_NOW | RTLD_LOCAL, &why);
    const gp_zmq_table *zmq = so ? dlsym(so, "gp_zmq_functions") : NULL;
    if (!zmq) {
        gp_doctor_say(GP_ABSENT, "notebooks", "%s", why);
        return mend();
    }
    int major, minor, patch;
    zmq->zmq_version(&major, &minor, &patch);
    bool known = is_known();
    gp_doctor_say(known ? GP_WORKS : GP_ABSENT, "notebooks", "libzmq %d.%d.%d; %s", major, minor,
                  patch, known ? "Jupyter knows the kernel" : "Jupyter does not know the kernel");
    if (!known)
        gp_doctor_fix("%s kernel install",
                      gp_doctor_origin() == GP_CLONE ? "scripts/gpush" : "gpush");
}

#endif
