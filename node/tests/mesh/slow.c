/* A slow disk: while the file SLOW_WHILE exists, each sync of a file in the folder SLOW_IN takes SLOW_SYNC_MS longer and each
 * write at a place of it SLOW_WRITE_MS. For each sync that is slowed a byte is added to SLOW_WHILE.begun, and to
 * SLOW_WHILE.ended before it returns: while the first file is longer, one is in progress. Loaded before libc (LD_PRELOAD).
 * What is not covered: files that are mapped into memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_MS 10

static const char *marker, *folder;
static long sync_ms, write_ms;

__attribute__((constructor)) static void begin(void) {
    marker = getenv("SLOW_WHILE"), folder = getenv("SLOW_IN");
    const char *syncs = getenv("SLOW_SYNC_MS"), *writes = getenv("SLOW_WRITE_MS");
    sync_ms = syncs ? atol(syncs) : 0, write_ms = writes ? atol(writes) : 0;
}

static int is_slow(int fd) {
    if (!marker || !folder || access(marker, F_OK)) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* A disk that is mended is fast at once. */
static void wait_ms(long ms) {
    for (; ms > 0 && access(marker, F_OK) == 0; ms -= SLICE_MS) usleep(SLICE_MS * 1000);
}

static void tell(const char *what) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.%s", marker, what);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, ".", 1) != 1) abort();
    close(fd);
}

#define REAL(name, ...) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)
#define SYNC(name)                  \
    int name(int fd) {              \
        int slow = is_slow(fd);     \
        if (slow) {                 \
            tell("begun");          \
            wait_ms(sync_ms);       \
        }                           \
        int done = REAL(name, fd);  \
        if (slow) tell("ended");    \
        return done;                \
    }

SYNC(fsync)
SYNC(fdatasync)

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    if (is_slow(fd)) wait_ms(write_ms);
    return REAL(pwrite64, fd, bytes, length, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }
