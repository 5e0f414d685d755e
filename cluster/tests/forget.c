/* A disk that loses its power: what was written to regular files and not synced is undone, then the process ends. Loaded
 * before libc (LD_PRELOAD). After FORGET_AFTER calls that write or sync, the next one is the loss. With FORGET_WHILE, only
 * calls while that file exists are counted. What is not covered: names that were made or changed in a folder that was not
 * synced, and files that are mapped into memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct undo {
    struct undo *before;
    dev_t device;
    ino_t inode;
    int fd;
    off_t size; /* of the file before the write */
    off_t at;
    size_t length; /* of the old bytes that were there */
    char old[];
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct undo *last;
static long calls, limit = -2;
static const char *marker;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_ftruncate)(int, off_t);

__attribute__((constructor)) static void begin(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    const char *text = getenv("FORGET_AFTER");
    limit = text ? atol(text) : -1;
    marker = getenv("FORGET_WHILE");
}

static int is_file(int fd, struct stat *about) {
    return fstat(fd, about) == 0 && S_ISREG(about->st_mode);
}

/* The loss itself: the latest writes are undone first. */
static void lose(void) {
    for (struct undo *undo = last; undo; undo = undo->before) {
        if (undo->length) real_pwrite(undo->fd, undo->old, undo->length, undo->at);
        real_ftruncate(undo->fd, undo->size);
    }
    _exit(99);
}

static void count(void) {
    if (limit < 0 || (marker && access(marker, F_OK))) return;
    if (++calls > limit) lose();
}

static void remember(int fd, const struct stat *about, off_t at, size_t length) {
    struct undo *undo = malloc(sizeof *undo + length);
    if (!undo) abort();
    struct undo *other = last;
    while (other && (other->device != about->st_dev || other->inode != about->st_ino)) other = other->before;
    if (other) {
        undo->fd = other->fd;
    } else {
        /* Opened anew, once for all writes: the caller may close its own, or have it for writing only. */
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        undo->fd = open(path, O_RDWR | O_CLOEXEC);
    }
    ssize_t there = at < about->st_size ? pread(undo->fd, undo->old, length, at) : 0;
    if (there < 0 || undo->fd < 0) abort();
    undo->before = last, undo->device = about->st_dev, undo->inode = about->st_ino;
    undo->size = about->st_size, undo->at = at, undo->length = there;
    last = undo;
}

static void synced(const struct stat *about) {
    int fd = -1;
    for (struct undo **place = &last; *place;) {
        struct undo *undo = *place;
        if (undo->device != about->st_dev || undo->inode != about->st_ino) {
            place = &undo->before;
            continue;
        }
        *place = undo->before;
        fd = undo->fd;
        free(undo);
    }
    if (fd >= 0) close(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) {
    struct stat about;
    if (!is_file(fd, &about)) return real_pwrite(fd, bytes, length, at);
    pthread_mutex_lock(&turn);
    count();
    fstat(fd, &about);
    remember(fd, &about, at, length);
    ssize_t written = real_pwrite(fd, bytes, length, at);
    pthread_mutex_unlock(&turn);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }

ssize_t write(int fd, const void *bytes, size_t length) {
    struct stat about;
    if (limit == -2 || !is_file(fd, &about)) return real_write ? real_write(fd, bytes, length) : -1;
    off_t at = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    pthread_mutex_lock(&turn);
    count();
    fstat(fd, &about);
    remember(fd, &about, at, length);
    ssize_t written = real_write(fd, bytes, length);
    pthread_mutex_unlock(&turn);
    return written;
}

int ftruncate64(int fd, off_t size) {
    struct stat about;
    pthread_mutex_lock(&turn);
    count();
    if (is_file(fd, &about)) {
        off_t from = size < about.st_size ? size : about.st_size;
        remember(fd, &about, from, about.st_size - from);
    }
    int done = real_ftruncate(fd, size);
    pthread_mutex_unlock(&turn);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int sync_with(int (*real)(int), int fd) {
    struct stat about;
    pthread_mutex_lock(&turn);
    count();
    int done = real(fd);
    if (done == 0 && is_file(fd, &about)) synced(&about);
    pthread_mutex_unlock(&turn);
    return done;
}

int fsync(int fd) { return sync_with(real_fsync, fd); }
int fdatasync(int fd) { return sync_with(real_fdatasync, fd); }
