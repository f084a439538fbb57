/* Loaded into a process by LD_PRELOAD: what it does to files below FOLDER waits as the file CONTROL says.
   CONTROL holds the milliseconds that an operation takes more; without that file none waits. An operation waits no longer
   than the file is there. A number below 0 is an error, negated, with which operations fail at once. Compiled with -DFOLDER
   and -DCONTROL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10

static int (*next_open)(const char *, int, ...);

static long wanted_ms(void) {
  char text[32] = {0};
  if (!next_open) next_open = dlsym(RTLD_NEXT, "open");
  int fd = next_open(CONTROL, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  return length > 0 ? atol(text) : 0;
}

/* Returns the error that the operation fails with, or 0. */
static int wait_as_told(void) {
  struct timespec step = {0, STEP_MS * 1000000L};
  for (long waited = 0; waited < wanted_ms(); waited += STEP_MS) nanosleep(&step, NULL);
  long wanted = wanted_ms();
  return wanted < 0 ? (int)-wanted : 0;
}

static int is_below(const char *path) { return strncmp(path, FOLDER, sizeof FOLDER - 1) == 0; }

static int wait_for_fd(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path) ? wait_as_told() : 0;
}

#define FAIL_IF(error) do { int fault = (error); if (fault) { errno = fault; return -1; } } while (0)
#define NEXT(name) \
  static __typeof__(&name) next; \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *bytes, size_t count) { NEXT(write); FAIL_IF(wait_for_fd(fd)); return next(fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { NEXT(pwrite); FAIL_IF(wait_for_fd(fd)); return next(fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { NEXT(pwrite64); FAIL_IF(wait_for_fd(fd)); return next(fd, bytes, count, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { NEXT(writev); FAIL_IF(wait_for_fd(fd)); return next(fd, parts, count); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { NEXT(pwritev); FAIL_IF(wait_for_fd(fd)); return next(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { NEXT(pwritev64); FAIL_IF(wait_for_fd(fd)); return next(fd, parts, count, at); }
int fdatasync(int fd) { NEXT(fdatasync); FAIL_IF(wait_for_fd(fd)); return next(fd); }
int fsync(int fd) { NEXT(fsync); FAIL_IF(wait_for_fd(fd)); return next(fd); }
int unlink(const char *path) { NEXT(unlink); if (is_below(path)) FAIL_IF(wait_as_told()); return next(path); }

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = va_arg(rest, mode_t); \
    va_end(rest); \
    static int (*next)(const char *, int, ...); \
    if (!next) next = dlsym(RTLD_NEXT, #name); \
    if (is_below(path)) FAIL_IF(wait_as_told()); \
    return next(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
