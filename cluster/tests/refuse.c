/* A disk that refuses: while the file REFUSE_WHILE exists, what would write to the folder REFUSE_IN fails with REFUSE_WITH
 * (an errno: ENOSPC for a full disk, EROFS for one that was made read-only). With REFUSE_AFTER, so many calls are taken
 * before. Syncs of mapped files fail while the file REFUSE_MAPPED_WHILE exists, whatever their folder. Loaded before libc
 * (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *marker, *mapped_marker, *folder;
static int error;
static long after, calls;

__attribute__((constructor)) static void begin(void) {
    marker = getenv("REFUSE_WHILE"), folder = getenv("REFUSE_IN");
    mapped_marker = getenv("REFUSE_MAPPED_WHILE");
    const char *with = getenv("REFUSE_WITH");
    error = with ? atoi(with) : 0;
    const char *count = getenv("REFUSE_AFTER");
    after = count ? atol(count) : 0;
}

static int refuses_path(const char *path) {
    if (!error || !marker || !folder || strncmp(path, folder, strlen(folder)) || access(marker, F_OK)) return 0;
    return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) > after;
}

static int refuses(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = error ? readlink(link, path, sizeof path - 1) : -1;
    if (length < 0) return 0;
    path[length] = 0;
    return refuses_path(path);
}

#define REAL(name, ...) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)
#define REFUSE(when, name, ...) return (when) ? (errno = error, -1) : REAL(name, __VA_ARGS__)

ssize_t write(int fd, const void *bytes, size_t length) { REFUSE(refuses(fd), write, fd, bytes, length); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    REFUSE(refuses(fd), pwrite64, fd, bytes, length, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    REFUSE(refuses(fd), pwrite, fd, bytes, length, at);
}
int ftruncate64(int fd, off64_t size) { REFUSE(refuses(fd), ftruncate64, fd, size); }
int ftruncate(int fd, off_t size) { REFUSE(refuses(fd), ftruncate, fd, size); }
int msync(void *at, size_t length, int flags) {
    REFUSE(error && mapped_marker && access(mapped_marker, F_OK) == 0, msync, at, length, flags);
}
int mkdir(const char *path, mode_t mode) {
    REFUSE(refuses_path(path) && access(path, F_OK) != 0, mkdir, path, mode);
}
int rename(const char *from, const char *to) { REFUSE(error == EROFS && refuses_path(to), rename, from, to); }
int unlink(const char *path) { REFUSE(error == EROFS && refuses_path(path), unlink, path); }

/* A full disk opens what is there, and one that is read-only opens it to read. */
static int refuses_open(const char *path, int flags) {
    int asks = error == EROFS ? (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT
                              : flags & O_CREAT && access(path, F_OK) != 0;
    return asks && refuses_path(path);
}

static mode_t mode_of(int flags, va_list *more) { return flags & O_CREAT ? va_arg(*more, mode_t) : 0; }

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, &more);
    va_end(more);
    REFUSE(refuses_open(path, flags), open64, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, &more);
    va_end(more);
    REFUSE(refuses_open(path, flags), open, path, flags, mode);
}
