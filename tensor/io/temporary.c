/* Temporaries of files that are being written: their names, their locks, and the removal of those
 * that killed processes left. */
#include "tensor/io/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tensor/device/stream/thread.h"

enum {
    NAMES = 10000,   /* of temporaries that are tried */
    STALE = 86400,   /* seconds after which another system's temporary counts as left */
    AGAIN = 60,      /* seconds before a folder is searched again */
    NAME_BYTES = 200 /* of the file's name in its temporary's: a name has at most 255 */
};
#define MARK ".gpush-"

/* The running system, whose kernel keeps the locks: a number of its start; 0: not known. */
static unsigned system_id(void) {
    unsigned id = 0;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && fscanf(f, "%8x", &id) != 1) id = 0;
    if (f) fclose(f);
    return id;
}

void gp_temporary_tag(char tag[GP_TEMPORARY_TAG]) {
    static atomic_uint count;
    snprintf(tag, GP_TEMPORARY_TAG, "%08x-%d-%u", system_id(), (int)getpid(),
             atomic_fetch_add(&count, 1));
}

bool gp_temporary_hold(int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB)) return errno != EWOULDBLOCK; /* a file system without locks */
    return !fstat(fd, &st) && st.st_nlink > 0;
}

/* Whether fd, which is locked, is still the file of that name, and nobody of another system may be
 * writing to it. */
static bool is_left(int dir, const char *name, const char *tag, int fd) {
    struct stat own, now;
    if (fstat(fd, &own) || fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW)) return false;
    if (!S_ISREG(own.st_mode) || own.st_ino != now.st_ino || own.st_dev != now.st_dev) return false;
    unsigned id = system_id();
    return (id && strtoul(tag, NULL, 16) == id) || own.st_mtime + STALE < time(NULL);
}

bool gp_temporary_remove_left(int dir, const char *name, const char *tag) {
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool left = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && is_left(dir, name, tag, fd) &&
                !unlinkat(dir, name, 0); /* before another process can get the lock */
    if (fd >= 0) close(fd);
    return left;
}

/* The tag in a temporary's name, or NULL. */
static const char *tag_in(const char *name) {
    unsigned long system, process, number;
    const char *mark = NULL;
    int end = 0;
    for (const char *p = name; (p = strstr(p, MARK)); p++) mark = p;
    if (!mark) return NULL;
    const char *tag = mark + strlen(MARK);
    bool whole = strspn(tag, "0123456789abcdef") == 8 &&
                 sscanf(tag, "%8lx-%lu-%lu.tmp%n", &system, &process, &number, &end) == 3;
    return whole && end && !tag[end] ? tag : NULL;
}

/* Whether that folder was searched less than AGAIN seconds ago, as the last one; notes it. */
static bool searched(const struct stat *folder) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        dev_t dev;
        ino_t ino; /* 0: none */
        time_t at;
    } last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    gp_lock(&lock);
    bool same =
        last.dev == folder->st_dev && last.ino == folder->st_ino && now.tv_sec < last.at + AGAIN;
    if (!same) last.dev = folder->st_dev, last.ino = folder->st_ino, last.at = now.tv_sec;
    gp_unlock(&lock);
    return same;
}

/* Removes what killed processes left in the folder of that file. A folder that may not be read
 * keeps it. */
static void clear_folder(const char *file) {
    char folder[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(file, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) + 1 : 1,
             slash ? file : ".");
    if (stat(folder, &st) || searched(&st)) return;
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        const char *tag = tag_in(d->d_name);
        if (tag) gp_temporary_remove_left(dirfd(dir), d->d_name, tag);
    }
    if (dir) closedir(dir);
}

/* Sets name to that of target's temporary with the tag; false where it is too long. */
static bool name_of(char name[PATH_MAX], const char *target, const char *tag) {
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    size_t n = strnlen(base, NAME_BYTES);
    while (n > 0 && ((unsigned char)base[n] & 0xc0) == 0x80) n--; /* a whole character */
    return snprintf(name, PATH_MAX, "%.*s" MARK "%s.tmp", (int)(base - target + (ptrdiff_t)n),
                    target, tag) < PATH_MAX;
}

/* A name may be taken: where process numbers repeat, as in containers, one that a killed process
 * left on a file system without locks may have it. */
int gp_temporary_make(char name[PATH_MAX], const char *target, int mode) {
    clear_folder(target);
    for (int i = 0; i < NAMES; i++) {
        char tag[GP_TEMPORARY_TAG];
        gp_temporary_tag(tag);
        if (!name_of(name, target, tag)) return errno = ENAMETOOLONG, -1;
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      mode >= 0 ? (mode_t)mode : 0666);
        if (fd < 0 && errno != EEXIST) return -1;
        if (fd < 0) continue;
        if (!gp_temporary_hold(fd)) {
            unlink(name);
            close(fd);
            continue;
        }
        if (mode >= 0 && fchmod(fd, (mode_t)mode))
            errno = 0; /* the file has another owner: the umask's permissions stay */
        return fd;
    }
    return -1;
}
