/* A disk that is full: while the file FULL_WHILE exists, no file can be made in the folder FULL_IN and none can grow by
 * write(). What has room already can be written over, and be cut, as on a real one. Loaded before libc (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_full(const char *path) {
    const char *marker = getenv("FULL_WHILE"), *folder = getenv("FULL_IN");
    return marker && folder && !strncmp(path, folder, strlen(folder)) && !access(marker, F_OK);
}

#define REAL(name, ...) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

ssize_t write(int fd, const void *bytes, size_t length) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t end = readlink(link, path, sizeof path - 1);
    if (end >= 0 && (path[end] = 0, is_full(path))) return errno = ENOSPC, -1;
    return REAL(write, fd, bytes, length);
}

static int cannot_open(const char *path, int flags) {
    return flags & O_CREAT && access(path, F_OK) && is_full(path);
}

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...) {                              \
        va_list more;                                                         \
        va_start(more, flags);                                                \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;             \
        va_end(more);                                                         \
        if (cannot_open(path, flags)) return errno = ENOSPC, -1;              \
        return REAL(name, path, flags, mode);                                 \
    }

OPEN(open)
OPEN(open64)
