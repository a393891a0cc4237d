/* Opening files with a known size, and writing through a temporary and a rename. */
#include "tensor/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/device/card/card.h"
#include "tensor/device/device.h"
#include "tensor/base/error.h"
#include "tensor/io/temporary.h"

enum { PIECE = 1 << 20 }; /* bytes between checks of gp_interrupted */
_Static_assert(sizeof(off_t) == 8, "files may be larger than 2 GiB");

FILE *gp_file_open(const char *op, const char *file, uint64_t *size) {
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe would wait */
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    struct stat st;
    if (!f || fstat(fd, &st)) {
        gp_fail("%s: cannot open %s: %s", op, file, strerror(errno));
        if (f) fclose(f);
        else if (fd >= 0) close(fd);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        fclose(f);
        return gp_fail_null("%s: %s is %s (expected a file)", op, file,
                            S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
    }
    *size = (uint64_t)st.st_size;
    gp_host_count_file((double)*size);
    return f;
}

FILE *gp_file_begin(const char *op, const char *file, const char *magic, const char *expected,
                    uint64_t *size) {
    char start[GP_FILE_START + 1] = {0};
    FILE *f = gp_file_open(op, file, size);
    if (!f) return NULL;
    size_t n = fread(start, 1, GP_FILE_START, f), most = strlen(magic);
    bool other = !n || memcmp(start, magic, n < most ? n : most);
    if (ferror(f) || (!other && fseeko(f, 0, SEEK_SET)))
        gp_fail("%s: cannot read %s: %s", op, file, strerror(errno));
    else if (other) gp_file_other(op, file, start, n, expected);
    else return f;
    fclose(f);
    return NULL;
}

/* Sets folder to that of the file; false where it is too long. */
static bool folder_of(const char *file, char folder[PATH_MAX]) {
    const char *slash = strrchr(file, '/');
    if (!slash) return strcpy(folder, "."), true;
    return snprintf(folder, PATH_MAX, "%.*s", slash == file ? 1 : (int)(slash - file), file) <
           PATH_MAX;
}

/* Whether the folder of that file does not exist. */
static bool no_folder(const char *file) {
    char folder[PATH_MAX];
    return folder_of(file, folder) && access(folder, F_OK) != 0;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static const char *base_of(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

bool gp_file_same(const char *a, const char *b) {
    struct stat x, y;
    char of_a[PATH_MAX], of_b[PATH_MAX];
    bool no_a = stat(a, &x) != 0, no_b = stat(b, &y) != 0;
    if (!no_a && !no_b) return S_ISREG(x.st_mode) && same_inode(&x, &y);
    return no_a && no_b && !strcmp(base_of(a), base_of(b)) && folder_of(a, of_a) &&
           folder_of(b, of_b) && !stat(of_a, &x) && !stat(of_b, &y) && same_inode(&x, &y);
}

bool gp_file_unwritable(const char *op, const char *file) {
    const char *why = strerror(errno);
    return gp_fail("%s: cannot write %s: %s%s", op, file, why,
                   errno == ENOENT && no_folder(file) ? " (its folder does not exist)" : "");
}

/* The file that a write to `file` replaces, with symbolic links followed. False with a message
 * where it cannot be written. *mode: permissions of the old file, or -1 where there is none. */
static bool write_target(const char *op, const char *file, char target[PATH_MAX], int *mode) {
    struct stat st;
    *mode = -1;
    if (!*file) return gp_fail("%s: '' is not a file name", op);
    if (strlen(file) >= PATH_MAX) return errno = ENAMETOOLONG, gp_file_unwritable(op, file);
    if (stat(file, &st)) { /* a dangling link is replaced */
        strcpy(target, file);
        return errno == ENOENT || gp_file_unwritable(op, file);
    }
    if (S_ISDIR(st.st_mode)) return errno = EISDIR, gp_file_unwritable(op, file);
    if (!realpath(file, target) || access(target, W_OK)) return gp_file_unwritable(op, file);
    *mode = S_ISREG(st.st_mode) ? (int)(st.st_mode & 07777) : -2;
    return true;
}

bool gp_outfile_begin(gp_outfile *o, const char *op, const char *file) {
    int mode, fd;
    o->op = op;
    o->file = file;
    o->temporary[0] = 0;
    if (!write_target(op, file, o->target, &mode)) return false;
    fd = mode == -2 ? open(o->target, O_WRONLY | O_CLOEXEC)
                    : gp_temporary_make(o->temporary, o->target, mode);
    if (fd < 0) return gp_file_unwritable(op, file);
    if ((o->f = fdopen(fd, "wb"))) return true;
    gp_file_unwritable(op, file);
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

bool gp_outfile_write(gp_outfile *o, const void *p, size_t bytes) {
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

/* Waits until the file's bytes are on the disk, where it has one. */
static bool flush(int fd) { return !fsync(fd) || errno == EINVAL || errno == ENOTSUP; }

/* The same for the name, which is in the folder. The new file is in its place already: where the
 * folder cannot be flushed (some network file systems), nothing is wrong with the file. */
static void flush_folder(const char *file) {
    char folder[PATH_MAX];
    int fd = folder_of(file, folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

bool gp_outfile_commit(gp_outfile *o, bool durable) {
    bool ok = !ferror(o->f) && !fflush(o->f) && (!durable || flush(fileno(o->f)));
    if (!ok) gp_file_unwritable(o->op, o->file);
    int held = fcntl(fileno(o->f), F_DUPFD_CLOEXEC, 0); /* the lock, until the rename */
    if (fclose(o->f) && ok) ok = gp_file_unwritable(o->op, o->file);
    if (o->temporary[0] && ok && rename(o->temporary, o->target))
        ok = gp_file_unwritable(o->op, o->file);
    if (o->temporary[0] && !ok) unlink(o->temporary);
    if (held >= 0) close(held);
    if (ok && durable) flush_folder(o->target);
    return ok;
}
