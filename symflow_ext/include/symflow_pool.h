/* A few waiting threads that share out the parts of one job.
 *
 * Parts are begun in the order of their numbers, and the result does not depend on who computes which. One job runs
 * at a time: a second caller is told that the pool is busy and does its work alone. After a fork the child starts
 * workers of its own.
 *
 * Whoever waits spins for a moment, then sleeps: the next right-hand side of an integration follows within
 * microseconds. A thread that sleeps takes as long to wake as a small job takes; it is woken at once only where jobs
 * follow one another, else once a job has proved to be long.
 *
 * A ticket holds the number of the job and the next part of it. It is closed while a job is being written
 * down, so that a worker which wakes late can neither read half a job nor take a part of the wrong one.
 */
#ifndef SYMFLOW_POOL_H
#define SYMFLOW_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include "symflow_wait.h"

enum {
    SYMFLOW_POOL_MOST = 64,
    SYMFLOW_POOL_PATIENCE = 30000, /* nanoseconds that a thread spins, and after which a job is a long one */
    SYMFLOW_POOL_LOOKS = 32        /* looks between two at the clock */
};

#define SYMFLOW_POOL_CLOSED 0xffffffffULL

typedef void (*symflow_part)(ptrdiff_t part, void *job);

static struct {
    pthread_mutex_t owner; /* held by the caller whose job runs */
    pthread_mutex_t lock;  /* of those who sleep */
    pthread_cond_t work, done;
    atomic_ullong ticket; /* job << 32 | next part */
    atomic_long left;
    atomic_int sleeping; /* workers */
    symflow_part part;
    void *job;
    unsigned long long parts;
    int workers;
    long long ended; /* when the last job did */
} symflow_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                  PTHREAD_COND_INITIALIZER};

static inline unsigned long long symflow_pool_number(void)
{
    return atomic_load(&symflow_pool.ticket) >> 32;
}

/* Do one part of a job; 0 where none is left. */
static int symflow_pool_take(unsigned long long number)
{
    for (;;) {
        unsigned long long ticket = atomic_load(&symflow_pool.ticket), next = ticket & SYMFLOW_POOL_CLOSED;
        if (ticket >> 32 != number)
            return 0;
        if (next == SYMFLOW_POOL_CLOSED)
            continue;
        if (next >= symflow_pool.parts)
            return 0;
        if (!atomic_compare_exchange_weak(&symflow_pool.ticket, &ticket, ticket + 1))
            continue;
        symflow_pool.part((ptrdiff_t)next, symflow_pool.job);
        if (atomic_fetch_sub(&symflow_pool.left, 1) == 1) {
            pthread_mutex_lock(&symflow_pool.lock);
            pthread_cond_signal(&symflow_pool.done);
            pthread_mutex_unlock(&symflow_pool.lock);
        }
        return 1;
    }
}

/* Spin until another job than `seen` is there, or patience ends. */
static void symflow_pool_watch(unsigned long long seen)
{
    const long long begun = symflow_clock();
    do
        for (int k = 0; k < SYMFLOW_POOL_LOOKS; ++k) {
            if (symflow_pool_number() != seen)
                return;
            symflow_relax();
        }
    while (symflow_clock() - begun < SYMFLOW_POOL_PATIENCE);
}

static void *symflow_pool_worker(void *last)
{
    unsigned long long seen = (unsigned long long)(size_t)last;
    for (;;) {
        symflow_pool_watch(seen);
        if (symflow_pool_number() == seen) {
            pthread_mutex_lock(&symflow_pool.lock);
            atomic_fetch_add(&symflow_pool.sleeping, 1);
            while (symflow_pool_number() == seen)
                pthread_cond_wait(&symflow_pool.work, &symflow_pool.lock);
            atomic_fetch_sub(&symflow_pool.sleeping, 1);
            pthread_mutex_unlock(&symflow_pool.lock);
        }
        seen = symflow_pool_number();
        while (symflow_pool_take(seen))
            ;
    }
    return NULL;
}

static void symflow_pool_forget(void)
{
    pthread_mutex_init(&symflow_pool.owner, NULL);
    pthread_mutex_init(&symflow_pool.lock, NULL);
    pthread_cond_init(&symflow_pool.work, NULL);
    pthread_cond_init(&symflow_pool.done, NULL);
    atomic_store(&symflow_pool.sleeping, 0);
    symflow_pool.workers = 0;
}

/* Start what is missing of `workers` threads; the caller owns the pool. */
static void symflow_pool_grow(int workers)
{
    static int registered;
    if (!registered) {
        registered = 1;
        pthread_atfork(NULL, NULL, symflow_pool_forget);
    }
    while (symflow_pool.workers < workers && symflow_pool.workers < SYMFLOW_POOL_MOST) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, symflow_pool_worker, (void *)(size_t)symflow_pool_number()))
            return;
        pthread_detach(thread);
        ++symflow_pool.workers;
    }
}

static void symflow_pool_wake(void)
{
    pthread_mutex_lock(&symflow_pool.lock); /* a worker between its look and its sleep must not miss this */
    pthread_cond_broadcast(&symflow_pool.work);
    pthread_mutex_unlock(&symflow_pool.lock);
}

/* Put a job up and return its number. */
static unsigned long long symflow_pool_offer(ptrdiff_t parts, symflow_part part, void *job)
{
    unsigned long long number = (symflow_pool_number() + 1) & SYMFLOW_POOL_CLOSED;
    atomic_store(&symflow_pool.ticket, number << 32 | SYMFLOW_POOL_CLOSED);
    symflow_pool.part = part;
    symflow_pool.job = job;
    symflow_pool.parts = (unsigned long long)parts;
    atomic_store(&symflow_pool.left, (long)parts);
    atomic_store(&symflow_pool.ticket, number << 32);
    return number;
}

/* Wait until all parts are done, those of others, too. */
static void symflow_pool_join(void)
{
    for (long k = 0; k < SYMFLOW_WAIT_SPINS && atomic_load(&symflow_pool.left) > 0; ++k)
        symflow_relax();
    pthread_mutex_lock(&symflow_pool.lock);
    while (atomic_load(&symflow_pool.left) > 0)
        pthread_cond_wait(&symflow_pool.done, &symflow_pool.lock);
    pthread_mutex_unlock(&symflow_pool.lock);
}

/* Run part(0 … parts - 1, job) on up to `threads` threads, this one included; 0 where the pool is busy. */
static int symflow_pool_run(ptrdiff_t parts, symflow_part part, void *job, int threads)
{
    if (pthread_mutex_trylock(&symflow_pool.owner))
        return 0;
    symflow_pool_grow(threads - 1);
    const long long begun = symflow_clock();
    int woken = begun - symflow_pool.ended < SYMFLOW_POOL_PATIENCE;
    const unsigned long long number = symflow_pool_offer(parts, part, job);
    if (woken && atomic_load(&symflow_pool.sleeping))
        symflow_pool_wake();
    while (symflow_pool_take(number))
        if (!woken && symflow_clock() - begun > SYMFLOW_POOL_PATIENCE) {
            woken = 1;
            symflow_pool_wake();
        }
    symflow_pool_join();
    symflow_pool.ended = symflow_clock();
    pthread_mutex_unlock(&symflow_pool.owner);
    return 1;
}

#endif
