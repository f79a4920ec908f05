/* Waiting for another thread: a moment at full speed, then by giving the processor away. */
#ifndef SYMFLOW_WAIT_H
#define SYMFLOW_WAIT_H

#include <sched.h>
#include <time.h>

enum { SYMFLOW_WAIT_SPINS = 2000, SYMFLOW_WAIT_YIELDS = 50, SYMFLOW_WAIT_SLEEP = 50000 /* nanoseconds */ };

/* What a loop does that waits and uses nothing else of the core. */
static inline void symflow_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* The k-th time around a loop that waits. */
static inline void symflow_wait(long k)
{
    if (k < SYMFLOW_WAIT_SPINS) {
        symflow_relax();
    } else if (k < SYMFLOW_WAIT_SPINS + SYMFLOW_WAIT_YIELDS) {
        sched_yield();
    } else {
        const struct timespec nap = {0, SYMFLOW_WAIT_SLEEP};
        nanosleep(&nap, NULL);
    }
}

/* Nanoseconds since some moment. */
static inline long long symflow_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif
