/* The folder of compiled programs. Code that is loaded must come from this user: the folder and the
 * file are checked on open descriptors, and reached through the folder's from then on. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/base/env.h"
#include "tensor/fuse/object.h"
#include "tensor/io/temporary.h"

enum {
    MOST = 64 << 20,    /* bytes of all objects */
    LARGEST = 16 << 20, /* of one */
    FILES = 4096        /* objects that are counted */
};

__attribute__((format(printf, 3, 4))) static int because(char *why, size_t size, const char *fmt,
                                                         ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, size, fmt, ap);
    va_end(ap);
    return -1;
}

/* ---- the folder ---- */

/* *own: the first of its folders that may be made, as HOME may not. */
static bool path_of(char path[PATH_MAX], char **own) {
    const char *cache = gp_env_text(GP_ENV_XDG_CACHE_HOME), *home = gp_env_text(GP_ENV_HOME);
    int n;
    *own = path + 1;
    if (cache && *cache == '/') n = snprintf(path, PATH_MAX, "%s/gpush/fused", cache);
    else if (home && *home == '/') {
        n = snprintf(path, PATH_MAX, "%s/.cache/gpush/fused", home);
        *own = path + strlen(home) + 1;
    } else return false;
    return n < PATH_MAX;
}

/* Makes the folders of path, from `own` on, that do not exist. */
static void make_folders(char *path, char *own) {
    for (char *at = own;; at++) {
        if (*at && *at != '/') continue;
        char was = *at;
        *at = 0;
        mkdir(path, 0700); /* whether it is there is seen when it is opened */
        *at = was;
        if (!was) return;
    }
}

int gp_fuse_cache_open(char *why, size_t size) {
    char path[PATH_MAX], *own;
    struct stat st;
    if (!path_of(path, &own))
        return because(why, size, "neither XDG_CACHE_HOME nor HOME is a folder");
    make_folders(path, own);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) because(why, size, "%s: %s", path, strerror(errno));
    else if (st.st_uid != geteuid()) because(why, size, "%s belongs to another user", path);
    else if (st.st_mode & 022)
        because(why, size, "others may write to %s: chmod go-w %s", path, path);
    else return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* ---- objects ---- */

void gp_fuse_cache_hash(const void *text, size_t n, unsigned __int128 *h) {
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    const unsigned char *p = text;
    for (size_t i = 0; i < n; i++) *h = (*h ^ p[i]) * prime;
}

/* FNV-1a of 128 bits. */
static unsigned __int128 hash_of(const char *name, const void *p, size_t n) {
    unsigned __int128 h = (unsigned __int128)0x6c62272e07bb0142u << 64 | 0x62b821756295c58du;
    gp_fuse_cache_hash(name, strlen(name), &h);
    gp_fuse_cache_hash(p, n, &h);
    return h;
}

/* The file `name` in fd, if it is one that code may come from. -1 with the reason. */
static int open_own(int fd, const char *name, int flags, struct stat *st, char *why, size_t size) {
    int file = openat(fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    *why = 0;
    if (file < 0 && errno == ENOENT) return -1;
    if (file < 0 || fstat(file, st)) because(why, size, "%s: %s", name, strerror(errno));
    else if (!S_ISREG(st->st_mode)) because(why, size, "%s in the cache is not a file", name);
    else if (st->st_uid != geteuid() || st->st_mode & 022)
        because(why, size, "%s in the cache is another user's, or others may write to it", name);
    else return file;
    if (file >= 0) close(file);
    return -1;
}

static bool has_size(const struct stat *st) { return st->st_size >= 64 && st->st_size <= LARGEST; }

/* All of a file; NULL without memory, or where it cannot be read. */
static char *read_all(int file, size_t n) {
    char *p = malloc(n);
    size_t done = 0;
    while (p && done < n) {
        ssize_t got = pread(file, p + done, n - done, (off_t)done);
        if (got <= 0) return free(p), NULL;
        done += (size_t)got;
    }
    return p;
}

/* Whether the file ends with the hash of its name and of what is before: a copy of another
 * program's is none. */
static bool sealed(int file, const char *name, size_t n) {
    unsigned __int128 seal, h = 0;
    char *p = read_all(file, n);
    if (!p) return false;
    memcpy(&seal, p + n - sizeof seal, sizeof seal);
    h = hash_of(name, p, n - sizeof seal);
    free(p);
    return h == seal;
}

/* Opens file `name` if it is whole, the user's, and nobody else's to write, and notes that it is
 * used; *st is set. -1 with the reason in why, "" where there is none. */
static int open_whole(int fd, const char *name, struct stat *st, char *why, size_t size) {
    int file = open_own(fd, name, O_RDONLY, st, why, size);
    if (file < 0) return -1;
    if (has_size(st) && sealed(file, name, (size_t)st->st_size)) return futimens(file, NULL), file;
    close(file);
    unlinkat(fd, name, 0); /* as good as none */
    return -1;
}

char *gp_fuse_cache_read(int fd, const char *name, size_t *n, char *why, size_t size) {
    struct stat st;
    int file = open_whole(fd, name, &st, why, size);
    if (file < 0) return NULL;
    char *p = read_all(file, (size_t)st.st_size);
    close(file);
    *n = (size_t)st.st_size - sizeof(unsigned __int128);
    return p;
}

void *gp_fuse_cache_load(int fd, const char *name, char *why, size_t size) {
    char path[80];
    struct stat st;
    int file = open_whole(fd, name, &st, why, size);
    if (file < 0) return NULL;
    close(file);
    /* Through the folder's descriptor, so that nobody can exchange it; and by the object's own
     * name, by which the loader knows what it has loaded. */
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", fd, name);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *text = so ? NULL : dlerror();
    if (!so) because(why, size, "%s", text ? text : path);
    return so;
}

/* Writes the seal and waits until all is on disk. */
static bool seal(int file, const char *name, size_t n) {
    char *p = read_all(file, n);
    if (!p) return false;
    unsigned __int128 h = hash_of(name, p, n);
    free(p);
    return pwrite(file, &h, sizeof h, (off_t)n) == sizeof h && !fchmod(file, 0600) && !fsync(file);
}

/* ---- its size ---- */

typedef struct entry {
    char name[GP_OBJECT_NAME];
    int64_t bytes;
    int64_t used; /* ns: two may be of one second */
} entry;

static int older(const void *a, const void *b) {
    int64_t s = ((const entry *)a)->used, t = ((const entry *)b)->used;
    return (s > t) - (s < t);
}

/* Removes the temporary of that name if its process has ended: it holds the source, and what the
 * compiler wrote has the source's name but for its end. */
static void remove_left(int fd, const char *name) {
    char source[GP_OBJECT_NAME];
    const char *end = strrchr(name, '.');
    if (!end || end - name > GP_OBJECT_NAME - 5) return;
    snprintf(source, sizeof source, "%.*s%s", (int)(end - name), name,
             strcmp(end, ".cu") ? ".c" : end);
    gp_temporary_remove_left(fd, source, source + strlen("tmp-"));
    if (faccessat(fd, source, F_OK, AT_SYMLINK_NOFOLLOW)) unlinkat(fd, name, 0);
}

/* Lists the objects; removes temporaries that killed processes left. */
static int list(int fd, entry *all, int64_t *bytes) {
    int n = 0, copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct stat st;
    *bytes = 0;
    if (!dir && copy >= 0) close(copy);
    for (struct dirent *d; dir && n < FILES && (d = readdir(dir));) {
        size_t length = strlen(d->d_name);
        if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        if (!strncmp(d->d_name, "tmp-", 4)) remove_left(fd, d->d_name);
        if (length != 35 || (strcmp(d->d_name + 32, ".so") && strcmp(d->d_name + 32, ".cu")))
            continue;
        snprintf(all[n].name, sizeof all[n].name, "%.35s", d->d_name);
        all[n].bytes = st.st_size;
        all[n].used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        *bytes += all[n++].bytes;
    }
    if (dir) closedir(dir);
    return n;
}

int gp_fuse_cache_size(int fd, int64_t *bytes) {
    entry *all = malloc(FILES * sizeof *all);
    *bytes = 0;
    int n = all ? list(fd, all, bytes) : 0;
    free(all);
    return n;
}

/* Removes the objects that were not used for longest, to half the limits, once these are exceeded.
 */
static void evict(int fd) {
    entry *all = malloc(FILES * sizeof *all);
    int64_t bytes;
    int n = all ? list(fd, all, &bytes) : 0;
    bool full = n && (bytes > MOST || n == FILES);
    if (full) qsort(all, (size_t)n, sizeof *all, older);
    for (int i = 0; full && i < n && (bytes > MOST / 2 || n - i > FILES / 2); i++) {
        unlinkat(fd, all[i].name, 0);
        bytes -= all[i].bytes;
    }
    free(all);
}

bool gp_fuse_cache_store(int fd, const char *from, const char *name, char *why, size_t size) {
    struct stat st;
    /* a compiler makes it as the umask says */
    if (fchmodat(fd, from, 0600, 0) && errno != ENOENT) {
        because(why, size, "%s: %s", from, strerror(errno));
        return false;
    }
    int file = open_own(fd, from, O_RDWR, &st, why, size);
    if (file >= 0 && !has_size(&st)) close(file), file = -1;
    if (file < 0) {
        if (!*why) because(why, size, "the compiler wrote no object");
        return false;
    }
    bool ok = seal(file, name, (size_t)st.st_size) && !renameat(fd, from, fd, name);
    if (!ok) because(why, size, "%s: %s", name, strerror(errno));
    close(file);
    evict(fd);
    return ok;
}

int gp_fuse_cache_create(int fd, const char *name, const void *p, size_t n, char *why,
                         size_t size) {
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = file >= 0 && gp_temporary_hold(file);
    size_t done = 0;
    for (ssize_t got = 1; ok && done < n && got > 0; done += got > 0 ? (size_t)got : 0)
        got = write(file, (const char *)p + done, n - done);
    if (ok && done == n) return file;
    because(why, size, "its folder: %s", strerror(errno));
    if (file >= 0) unlinkat(fd, name, 0), close(file);
    return -1;
}

bool gp_fuse_cache_write(int fd, const char *name, const void *p, size_t n, char *why,
                         size_t size) {
    char own[GP_OBJECT_NAME], tag[GP_TEMPORARY_TAG];
    gp_temporary_tag(tag);
    snprintf(own, sizeof own, "tmp-%s.cu", tag);
    int file = gp_fuse_cache_create(fd, own, p, n, why, size);
    bool ok = file >= 0 && gp_fuse_cache_store(fd, own, name, why, size);
    if (!ok) unlinkat(fd, own, 0);
    if (file >= 0) close(file);
    return ok;
}
