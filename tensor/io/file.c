/* Opening files with a known size, and writing through a temporary and a rename. */
#include "tensor/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/device/device.h"
#include "tensor/error.h"

enum { PIECE = 1 << 20 }; /* bytes between looks at gp_interrupted */

bool gp_file_no_pickle(const char *op, const char *file, const void *start) {
    const unsigned char *p = start;
    if (p[0] != 0x80 || p[1] < 2 || p[1] > 5) return true;
    return gp_fail("%s: %s is a Python pickle, which holds code and is not read: " GP_CONVERT_PT, op,
                   file);
}

FILE *gp_file_open(const char *op, const char *file, uint64_t *size) {
    FILE *f = fopen(file, "rbe");
    struct stat st;
    if (!f || fstat(fileno(f), &st)) {
        gp_fail("%s: cannot open %s: %s", op, file, strerror(errno));
        if (f) fclose(f);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        fclose(f);
        return gp_fail_null("%s: %s is not a regular file", op, file);
    }
    *size = (uint64_t)st.st_size;
    return f;
}

static bool cannot_write(const char *op, const char *file) {
    return gp_fail("%s: cannot write %s: %s", op, file, strerror(errno));
}

bool gp_file_target(const char *op, const char *file, char target[PATH_MAX], int *mode) {
    struct stat st;
    *mode = -1;
    if (strlen(file) >= PATH_MAX) return errno = ENAMETOOLONG, cannot_write(op, file);
    if (stat(file, &st)) { /* a link to nothing is replaced */
        strcpy(target, file);
        return errno == ENOENT || cannot_write(op, file);
    }
    if (S_ISDIR(st.st_mode)) return errno = EISDIR, cannot_write(op, file);
    if (!realpath(file, target) || access(target, W_OK)) return cannot_write(op, file);
    *mode = S_ISREG(st.st_mode) ? (int)(st.st_mode & 07777) : -2;
    return true;
}

bool gp_outfile_begin(gp_outfile *o, const char *op, const char *file) {
    static atomic_uint count;
    int mode, fd;
    o->op = op;
    o->file = file;
    o->temporary[0] = 0;
    if (!gp_file_target(op, file, o->target, &mode)) return false;
    if (mode == -2) {
        fd = open(o->target, O_WRONLY | O_CLOEXEC);
    } else {
        int n = snprintf(o->temporary, PATH_MAX, "%s.%ld.%u.tmp", o->target, (long)getpid(),
                         atomic_fetch_add(&count, 1));
        if (n >= PATH_MAX) return errno = ENAMETOOLONG, cannot_write(op, file);
        fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  mode >= 0 ? (mode_t)mode : 0666);
        if (fd >= 0 && mode >= 0 && fchmod(fd, (mode_t)mode))
            errno = 0; /* another's file: the umask's permissions stand */
    }
    if (fd < 0) return cannot_write(op, file);
    if ((o->f = fdopen(fd, "wb"))) return true;
    cannot_write(op, file);
    close(fd);
    if (o->temporary[0]) unlink(o->temporary);
    return false;
}

bool gp_file_stopped(const char *op) {
    return gp_thread_stopped() && !gp_fail("%s: interrupted", op);
}

size_t gp_file_read(FILE *f, void *to, size_t bytes) {
    size_t done = 0, n = 1;
    while (done < bytes && n > 0) {
        if (gp_thread_stopped()) return errno = EINTR, done;
        n = fread((char *)to + done, 1, bytes - done < PIECE ? bytes - done : PIECE, f);
        done += n;
    }
    return done;
}

bool gp_outfile_put(gp_outfile *o, const void *p, size_t bytes) {
    for (size_t done = 0, n; done < bytes && !ferror(o->f); done += n) {
        if (gp_file_stopped(o->op)) return false;
        n = bytes - done < PIECE ? bytes - done : PIECE;
        fwrite((const char *)p + done, 1, n, o->f);
    }
    return true;
}

void gp_outfile_cancel(gp_outfile *o) {
    fclose(o->f);
    if (o->temporary[0]) unlink(o->temporary);
}

bool gp_outfile_commit(gp_outfile *o) {
    bool ok = !ferror(o->f) && !fflush(o->f);
    if (!ok) cannot_write(o->op, o->file);
    if (fclose(o->f) && ok) ok = cannot_write(o->op, o->file);
    if (o->temporary[0] && ok && rename(o->temporary, o->target)) ok = cannot_write(o->op, o->file);
    if (o->temporary[0] && !ok) unlink(o->temporary);
    return ok;
}
