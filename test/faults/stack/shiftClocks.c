/* Preloaded into a process: its clocks are as far ahead of the machine's as the file CLOCKS_FILE says, at every moment.
   The file has two little-endian 64-bit numbers of milliseconds: for the time of day, and for the monotonic clock. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none[2];
static const volatile int64_t *ahead_ms = none;

__attribute__((constructor)) static void open_file(void) {
  const char *path = getenv("CLOCKS_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) ahead_ms = at;
  close(file);
}

/* Without libc and its vDSO: allocators ask for the time before libc is ready to find its own function. */
int clock_gettime(clockid_t clock, struct timespec *now) {
  long result = syscall(SYS_clock_gettime, clock, now);
  if (result != 0) return -1;
  int is_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  int is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW;
  if (!is_day && !is_monotonic) return 0;
  int64_t ns = now->tv_nsec + (ahead_ms[is_monotonic] % 1000) * 1000000;
  now->tv_sec += ahead_ms[is_monotonic] / 1000 + (ns >= 1000000000) - (ns < 0);
  now->tv_nsec = (ns + 1000000000) % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out) *out = exact.tv_sec;
  return exact.tv_sec;
}
