/* Writes a file through zlib, whole or not at all. */
#include "profile/show/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"

static bool ends_in_gz(const char *path) {
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".gz");
}

/* zlib's stream over a copy of the file's descriptor, which it closes; NULL with a message. */
static gzFile open_copy(const char *op, const gp_outfile *o) {
    int fd = fcntl(fileno(o->f), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return gp_file_unwritable(op, o->file), NULL;
    gzFile out = gzdopen(fd, ends_in_gz(o->file) ? "wb6" : "wbT");
    if (!out) close(fd), gp_fail("%s: out of memory", op);
    return out;
}

bool gp_gzip_file(const char *op, const char *path, bool (*write)(gzFile out, void *context),
                  void *context) {
    gp_outfile o;
    if (!gp_outfile_begin(&o, op, path)) return false;
    gzFile out = open_copy(op, &o);
    if (!out) return gp_outfile_cancel(&o), false;
    gzbuffer(out, 1 << 17);
    gp_error_clear();
    errno = 0;
    bool ok = write(out, context);
    if (gzclose(out) != Z_OK) ok = false;
    if (ok) return gp_outfile_commit(&o, false);
    if (!*gp_error())
        gp_fail("%s: cannot write %s: %s", op, path, errno ? strerror(errno) : "the disk is full");
    gp_outfile_cancel(&o);
    return false;
}
