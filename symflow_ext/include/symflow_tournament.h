/* Work on pairs of blocks, shared out among threads: every block alone, every two of them once, then what is left.
 *
 * In round r block b meets block b ^ r, so that two threads never write to one block, and blocks that meet early are
 * near each other: what was written stays in the caches of few cores. Tasks are numbered, and begun in the order of
 * their numbers; a task waits until its two blocks are ready for its round. There is always one that waits for nobody,
 * the first that is not finished. So every block meets the others in the same order, and every bit is the same, for
 * any number of threads.
 */
#ifndef SYMFLOW_TOURNAMENT_H
#define SYMFLOW_TOURNAMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include "symflow_abi.h"
#include "symflow_wait.h"

enum { SYMFLOW_TOURNAMENT_APART = 8 /* numbers between two counters: a line of the cache each */ };

typedef struct symflow_tournament {
    ptrdiff_t blocks;
    void (*alone)(ptrdiff_t block, void *of);
    void (*meet)(ptrdiff_t low, ptrdiff_t high, void *of);
    void (*finish)(ptrdiff_t block, void *of); /* NULL where nothing is left to do */
    void *of;
    ptrdiff_t places;    /* the least power of two that is not less than the number of blocks */
    atomic_llong *round; /* that each block is ready for: 0 alone, `places` at the end */
} symflow_tournament;

static inline ptrdiff_t symflow_tournament_places(ptrdiff_t blocks)
{
    ptrdiff_t places = 1;
    while (places < blocks) places *= 2;
    return places;
}

/* Doubles of scratch. */
static inline ptrdiff_t symflow_tournament_work(ptrdiff_t blocks) { return blocks * SYMFLOW_TOURNAMENT_APART; }

static inline void symflow_tournament_await(const symflow_tournament *t, ptrdiff_t block, ptrdiff_t round)
{
    atomic_llong *ready = t->round + block * SYMFLOW_TOURNAMENT_APART;
    for (long k = 0; atomic_load_explicit(ready, memory_order_acquire) < round; ++k) symflow_wait(k);
}

/* A block is through a round, and ready for the next one in which somebody sits opposite. */
static inline void symflow_tournament_pass(const symflow_tournament *t, ptrdiff_t block, ptrdiff_t round)
{
    do
        ++round;
    while (round < t->places && (block ^ round) >= t->blocks);
    atomic_store_explicit(t->round + block * SYMFLOW_TOURNAMENT_APART, round, memory_order_release);
}

static void symflow_tournament_meet(const symflow_tournament *t, ptrdiff_t round, ptrdiff_t seat)
{
    ptrdiff_t bit = 1;
    while (2 * bit <= round) bit *= 2;
    const ptrdiff_t low = seat / bit * 2 * bit + seat % bit, high = low ^ round;
    if (high >= t->blocks) return;
    symflow_tournament_await(t, low, round);
    symflow_tournament_await(t, high, round);
    t->meet(low, high, t->of);
    symflow_tournament_pass(t, low, round);
    symflow_tournament_pass(t, high, round);
}

/* Which of so many comes k-th: both halves in turn, so that two threads that take turns keep to a half each. */
static inline ptrdiff_t symflow_tournament_turn(ptrdiff_t count, ptrdiff_t k)
{
    return k % 2 ? (count + k) / 2 : k / 2;
}

static void symflow_tournament_task(ptrdiff_t task, void *tournament)
{
    const symflow_tournament *t = (const symflow_tournament *)tournament;
    const ptrdiff_t seats = t->places / 2, meetings = (t->places - 1) * seats, last = task - t->places - meetings;
    const ptrdiff_t block = symflow_tournament_turn(t->places, last < 0 ? task : last);
    if (task < t->places && block < t->blocks) {
        t->alone(block, t->of);
        symflow_tournament_pass(t, block, 0);
    } else if (task >= t->places && last < 0) {
        task -= t->places;
        symflow_tournament_meet(t, 1 + task / seats, symflow_tournament_turn(seats, task % seats));
    } else if (last >= 0 && block < t->blocks) {
        symflow_tournament_await(t, block, t->places);
        t->finish(block, t->of);
    }
}

/* Run all tasks; `work` has room for the counters, and threads are asked for help where there is a table. */
static void symflow_tournament_run(symflow_tournament *t, double *work, const symflow_linalg *helpers)
{
    t->places = symflow_tournament_places(t->blocks);
    t->round = (atomic_llong *)work;
    for (ptrdiff_t b = 0; b < t->blocks; ++b) atomic_init(t->round + b * SYMFLOW_TOURNAMENT_APART, 0);
    const ptrdiff_t tasks = (t->finish ? 2 : 1) * t->places + (t->places - 1) * (t->places / 2);
    if (helpers && t->blocks > 1)
        helpers->parallel(tasks, symflow_tournament_task, t);
    else
        for (ptrdiff_t task = 0; task < tasks; ++task) symflow_tournament_task(task, t);
}

#endif
