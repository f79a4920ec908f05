/* Sums over pairs of tokens tile by tile, whatever the score: symflow_pairs_tiles.h has what depends on it.
 *
 * Scores of 48 x 48 pairs are formed in a tile that stays in the first cache, made into weights there, and multiplied
 * by the features; where s_ij = s_ji the weights serve both tokens of a pair. Two blocks
 * of tiles stay in the second cache. Groups of blocks are what threads share out (symflow_tournament.h). Blocks and
 * groups are fixed by the sizes alone, so that every bit is the same for any number of threads.
 *
 * No bound on scores is needed. A token has a shift m, and its sums are those of exp(s - m). A tile whose scores
 * differ by less than SPREAD has one shift c for all of its pairs; it is zero where no score is beyond FREE, so that
 * bounded scores never cost a second exponential. Otherwise queries and keys of the tile get shifts of their own. The
 * weights in a tile are at least exp(-SPREAD), which is a normal number, and what is lost when sums move on to a
 * larger shift is below exp(SPREAD - 708) of what is kept.
 */
#ifndef SYMFLOW_TILING_H
#define SYMFLOW_TILING_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "symflow_pairs.h"
#include "symflow_tiles.h"

enum {
    SYMFLOW_TILES_FEW = 24,      /* tiles, below which a block is one of them */
    SYMFLOW_TILES_MOST = 4,      /* tiles of a block */
    SYMFLOW_TILES_BLOCK = 49152, /* numbers of a block: two of them stay in the second cache */
};

#define SYMFLOW_TILES_SPREAD 600.0
#define SYMFLOW_TILES_FREE 300.0
#define SYMFLOW_TILES_LOWEST (-1e300)

/* Whose sums a pass over tiles adds to. */
enum { SYMFLOW_QUERIES = 1, SYMFLOW_KEYS = 2 };

/* Whether tokens of a tile have met others, and whether their shifts may differ from zero. */
enum { SYMFLOW_UNTOUCHED = 0, SYMFLOW_UNSHIFTED = 1, SYMFLOW_SHIFTED = 2 };

/* One tile in the making; of the 48 queries and keys the first so many are tokens. */
typedef struct symflow_tile {
    const symflow_pairs *job;
    const symflow_tile_products *products;
    ptrdiff_t queries, keys;
    int careful, triangle; /* potentials or an edge are to be minded; only keys up to the query count */
    int trusting;          /* low scores need no shift: every token has a higher one */
    const double *left[SYMFLOW_MOST_PAIRINGS], *right[SYMFLOW_MOST_PAIRINGS];
    double rows[SYMFLOW_MOST_NUMBERS][SYMFLOW_TILE], columns[SYMFLOW_MOST_NUMBERS][SYMFLOW_TILE];
    const double *query_potential, *key_potential, *query_theta, *key_theta;
    double *query_mass, *key_mass; /* 48, and 48 x 8: the lanes of a key are added up at the end */
    double low, high;              /* of the scores */
    double query_shift[SYMFLOW_TILE], query_keep[SYMFLOW_TILE], query_add[SYMFLOW_TILE];
    double key_shift[SYMFLOW_TILE], key_keep[SYMFLOW_TILE], key_add[SYMFLOW_TILE];
    double score[SYMFLOW_TILE * SYMFLOW_TILE], weight[SYMFLOW_TILE * SYMFLOW_TILE];
    double pairings[SYMFLOW_MOST_PAIRINGS][SYMFLOW_STRIP * SYMFLOW_TILE];
} symflow_tile;

/* What depends on the score, of one instruction set. */
typedef struct symflow_tile_code {
    /* weight = exp(score), added to the masses of `sides`; or nothing and 0, where a score is beyond FREE. */
    int (*direct)(symflow_tile *, int sides);
    void (*scores)(symflow_tile *); /* score, low, high */
    /* weight = exp(score - queries - keys); times query_add, key_add these are added to the masses of `sides`. */
    void (*shifted)(symflow_tile *, const double *queries, const double *keys, int sides);
    void (*highest)(symflow_tile *); /* query_shift, key_shift: the largest scores */
    /* Bring 48 shifts up to `to`: masses are multiplied by keep, sums have to be, and what is new by add. */
    void (*move)(double *shift, const double *to, double *query_mass, double *key_mass, double *keep, double *add);
} symflow_tile_code;

/* Panels of 48 tokens each of all that a pass reads and writes. */
typedef struct symflow_tiling {
    symflow_pairs *job;
    symflow_tile_code code;
    int pairings, rows, columns;          /* of the term */
    int sides, features, potentials, trusting; /* of the pass */
    ptrdiff_t tiles, per_block, blocks, groups, padded;
    double *left[SYMFLOW_MOST_PAIRINGS], *right[SYMFLOW_MOST_PAIRINGS];
    const double *measure; /* what a token counts for in masses: theta, or a vector times theta */
    double *theta, *feature, *sums, *query_mass, *key_mass, *shift, *query_potential, *key_potential;
    double *state; /* of each tile */
    const symflow_linalg *helpers; /* NULL where threads would not help */
    double *counters;
} symflow_tiling;

/* to[0 .. 47] = numbers of the tokens of tile t; zeros beyond the last. */
static void symflow_tiling_copy(const symflow_tiling *tiling, ptrdiff_t t, const double *from, double *to)
{
    const ptrdiff_t rest = tiling->job->n - t * SYMFLOW_TILE, count = rest < SYMFLOW_TILE ? rest : SYMFLOW_TILE;
    memcpy(to, from + t * SYMFLOW_TILE, (size_t)count * sizeof(double));
    memset(to + count, 0, (size_t)(SYMFLOW_TILE - count) * sizeof(double));
}

/* Coordinate after coordinate of the 48 tokens of tile t. */
static void symflow_tiling_pack(const symflow_tiling *tiling, ptrdiff_t t, ptrdiff_t width, const double *from, double *to)
{
    to += t * width * SYMFLOW_TILE;
    for (ptrdiff_t c = 0; c < width; ++c, to += SYMFLOW_TILE)
        symflow_tiling_copy(tiling, t, from + c * tiling->job->pitch, to);
}

/* theta_j f_j of one tile, token after token in panels of coordinates; zeros beyond the last of both. */
static void symflow_tiling_pack_features(ptrdiff_t t, const symflow_tiling *tiling)
{
    const symflow_pairs *job = tiling->job;
    const ptrdiff_t i = t * SYMFLOW_TILE, count = job->n - i < SYMFLOW_TILE ? job->n - i : SYMFLOW_TILE;
    double *to = tiling->feature + i * tiling->padded;
    memset(to, 0, (size_t)(SYMFLOW_TILE * tiling->padded) * sizeof(double));
    for (ptrdiff_t c = 0, panel; c < tiling->padded; c += panel, to += panel * SYMFLOW_TILE) {
        panel = symflow_tile_panel(tiling->padded - c);
        for (ptrdiff_t e = 0; e < panel && c + e < job->width; ++e) {
            const double *from = job->feature + (c + e) * job->pitch + i, *theta = tiling->theta + i;
            for (ptrdiff_t q = 0; q < count; ++q) to[q * panel + e] = theta[q] * from[q];
        }
    }
}

static double *symflow_tiling_take(double **work, ptrdiff_t numbers)
{
    double *taken = *work;
    *work += numbers;
    return taken;
}

/* How many tiles make a block: a function of sizes alone. */
static ptrdiff_t symflow_tiling_block(const symflow_tiling *tiling)
{
    ptrdiff_t each = 2 * tiling->padded, most = SYMFLOW_TILES_MOST;
    for (int m = 0; m < tiling->pairings; ++m) each += 2 * tiling->job->widths[m];
    while (most > 1 && (tiling->tiles < most * SYMFLOW_TILES_FEW || most * each * SYMFLOW_TILE > SYMFLOW_TILES_BLOCK))
        --most;
    return most;
}

static ptrdiff_t symflow_tiling_end(const symflow_tiling *tiling, ptrdiff_t block)
{
    ptrdiff_t end = (block + 1) * tiling->per_block;
    return end < tiling->tiles ? end : tiling->tiles;
}

static void symflow_tiling_pack_block(ptrdiff_t block, void *of)
{
    const symflow_tiling *tiling = of;
    const symflow_pairs *job = tiling->job;
    for (ptrdiff_t t = block * tiling->per_block; t < symflow_tiling_end(tiling, block); ++t) {
        for (int m = 0; m < tiling->pairings; ++m) {
            symflow_tiling_pack(tiling, t, job->widths[m], job->left[m], tiling->left[m]);
            symflow_tiling_pack(tiling, t, job->widths[m], job->right[m], tiling->right[m]);
        }
        symflow_tiling_pack_features(t, tiling);
    }
}

/* Do the same for every block, on threads where they help. */
static void symflow_tiling_share(symflow_tiling *tiling, void (*part)(ptrdiff_t, void *))
{
    if (tiling->helpers)
        tiling->helpers->parallel(tiling->blocks, part, tiling);
    else
        for (ptrdiff_t block = 0; block < tiling->blocks; ++block) part(block, tiling);
}

/* Lay the panels out in the work of the job and fill them; the numbers of the term and its code are set. */
static void symflow_tiling_open(symflow_tiling *tiling)
{
    const symflow_pairs *job = tiling->job;
    double *work = (double *)(((uintptr_t)job->work + 63) & ~(uintptr_t)63);
    tiling->tiles = symflow_tiles_of(job->n);
    const ptrdiff_t tokens = tiling->tiles * SYMFLOW_TILE;
    tiling->padded = (job->width + 7) / 8 * 8;
    tiling->helpers = job->n >= SYMFLOW_TILES_SHARED ? job->linalg : NULL;
    tiling->per_block = symflow_tiling_block(tiling);
    tiling->blocks = (tiling->tiles + tiling->per_block - 1) / tiling->per_block;
    tiling->groups = tiling->helpers ? symflow_pairs_blocks(job->n) : 1;
    if (tiling->groups > tiling->blocks) tiling->groups = 1;
    for (int m = 0; m < tiling->pairings; ++m) {
        tiling->left[m] = symflow_tiling_take(&work, tokens * job->widths[m]);
        tiling->right[m] = symflow_tiling_take(&work, tokens * job->widths[m]);
    }
    tiling->theta = symflow_tiling_take(&work, tokens);
    tiling->measure = tiling->theta;
    for (ptrdiff_t i = 0; i < tokens; ++i) tiling->theta[i] = i >= job->n ? 0.0 : job->theta ? job->theta[i] : 1.0;
    tiling->query_mass = symflow_tiling_take(&work, tokens);
    tiling->key_mass = symflow_tiling_take(&work, tokens * SYMFLOW_STRIP);
    tiling->shift = symflow_tiling_take(&work, tokens);
    tiling->query_potential = symflow_tiling_take(&work, tokens);
    tiling->key_potential = symflow_tiling_take(&work, tokens);
    memset(tiling->query_potential, 0, (size_t)(2 * tokens) * sizeof(double));
    tiling->state = symflow_tiling_take(&work, tokens);
    tiling->counters = symflow_tiling_take(&work, symflow_tournament_work(tiling->tiles));
    tiling->feature = symflow_tiling_take(&work, tokens * tiling->padded);
    tiling->sums = symflow_tiling_take(&work, tokens * tiling->padded);
    symflow_tiling_share(tiling, symflow_tiling_pack_block);
}

/* sums <- keep sums + add (weight f) of queries, or of keys. */
static void symflow_tiling_sum(const symflow_tiling *tiling, const symflow_tile *tile, int side, ptrdiff_t to,
                               ptrdiff_t from, int moved)
{
    const ptrdiff_t span = tiling->padded * SYMFLOW_TILE;
    const int queries = side == SYMFLOW_QUERIES;
    const double *f = tiling->feature + from * span, *keep = NULL, *add = NULL;
    double *sums = tiling->sums + to * span;
    if (!tiling->features) return;
    if (moved) {
        keep = queries ? tile->query_keep : tile->key_keep;
        add = queries ? tile->query_add : tile->key_add;
    }
    for (ptrdiff_t c = 0, panel; c < tiling->padded; c += panel) {
        panel = symflow_tile_panel(tiling->padded - c);
        tile->products->sums(queries, panel, queries ? tile->queries : tile->keys, queries ? tile->keys : tile->queries,
                             tile->weight, f, sums, keep, add);
        f += panel * SYMFLOW_TILE;
        sums += panel * SYMFLOW_TILE;
    }
}

/* Point the tile at its panels. */
static void symflow_tiling_aim(const symflow_tiling *tiling, symflow_tile *tile, ptrdiff_t i, ptrdiff_t j)
{
    const ptrdiff_t query = i * SYMFLOW_TILE, key = j * SYMFLOW_TILE, n = tiling->job->n;
    tile->job = tiling->job;
    tile->products = tiling->job->linalg->tiles;
    tile->queries = n - query < SYMFLOW_TILE ? n - query : SYMFLOW_TILE;
    tile->keys = n - key < SYMFLOW_TILE ? n - key : SYMFLOW_TILE;
    tile->triangle = tiling->job->causal && i == j;
    tile->trusting = tiling->trusting;
    tile->careful = tiling->potentials || tile->triangle || tile->queries < SYMFLOW_TILE;
    for (int m = 0; m < tiling->pairings; ++m) {
        tile->left[m] = tiling->left[m] + query * tiling->job->widths[m];
        tile->right[m] = tiling->right[m] + key * tiling->job->widths[m];
    }
    for (int l = 0; l < tiling->rows; ++l) symflow_tiling_copy(tiling, i, tiling->job->rows[l], tile->rows[l]);
    for (int l = 0; l < tiling->columns; ++l) symflow_tiling_copy(tiling, j, tiling->job->columns[l], tile->columns[l]);
    tile->query_potential = tiling->query_potential + query;
    tile->key_potential = tiling->key_potential + key;
    tile->query_theta = tiling->measure + query;
    tile->key_theta = tiling->measure + key;
    tile->query_mass = tiling->query_mass + query;
    tile->key_mass = tiling->key_mass + key * SYMFLOW_STRIP;
}

/* Sums of the tokens of tile t begin, without shifts. */
static void symflow_tiling_begin(const symflow_tiling *tiling, ptrdiff_t t)
{
    if (tiling->state[t] != SYMFLOW_UNTOUCHED) return;
    tiling->state[t] = SYMFLOW_UNSHIFTED;
    memset(tiling->shift + t * SYMFLOW_TILE, 0, SYMFLOW_TILE * sizeof(double));
}

/* Bring the shifts of tile t up to `to`. */
static void symflow_tiling_move(const symflow_tiling *tiling, ptrdiff_t t, const double *to, double *keep, double *add)
{
    tiling->state[t] = SYMFLOW_SHIFTED;
    const ptrdiff_t at = t * SYMFLOW_TILE;
    double *key_mass = tiling->key_mass + at * SYMFLOW_STRIP;
    tiling->code.move(tiling->shift + at, to, tiling->query_mass + at, key_mass, keep, add);
}

/* A tile whose scores are far apart: weights are formed for queries and for keys. */
static void symflow_tiling_far(const symflow_tiling *tiling, symflow_tile *tile, ptrdiff_t i, ptrdiff_t j, int sides)
{
    static const double zeros[SYMFLOW_TILE];
    tiling->code.highest(tile);
    if (sides & SYMFLOW_QUERIES) {
        symflow_tiling_move(tiling, i, tile->query_shift, tile->query_keep, tile->query_add);
        tiling->code.shifted(tile, tile->query_shift, zeros, SYMFLOW_QUERIES);
        symflow_tiling_sum(tiling, tile, SYMFLOW_QUERIES, i, j, 1);
    }
    if (sides & SYMFLOW_KEYS) {
        symflow_tiling_move(tiling, j, tile->key_shift, tile->key_keep, tile->key_add);
        tiling->code.shifted(tile, zeros, tile->key_shift, SYMFLOW_KEYS);
        symflow_tiling_sum(tiling, tile, SYMFLOW_KEYS, j, i, 1);
    }
}

/* A tile whose weights have one shift. */
static void symflow_tiling_near(const symflow_tiling *tiling, symflow_tile *tile, ptrdiff_t i, ptrdiff_t j, int sides)
{
    static const double zeros[SYMFLOW_TILE];
    const int free = tile->high <= SYMFLOW_TILES_FREE && tile->low >= -SYMFLOW_TILES_FREE;
    for (ptrdiff_t q = 0; q < SYMFLOW_TILE; ++q) tile->query_shift[q] = free ? 0.0 : tile->high;
    if (sides & SYMFLOW_QUERIES) symflow_tiling_move(tiling, i, tile->query_shift, tile->query_keep, tile->query_add);
    if (sides & SYMFLOW_KEYS) symflow_tiling_move(tiling, j, tile->query_shift, tile->key_keep, tile->key_add);
    tiling->code.shifted(tile, tile->query_shift, zeros, sides);
    if (sides & SYMFLOW_QUERIES) symflow_tiling_sum(tiling, tile, SYMFLOW_QUERIES, i, j, 1);
    if (sides & SYMFLOW_KEYS) symflow_tiling_sum(tiling, tile, SYMFLOW_KEYS, j, i, 1);
}

/* Whether the weights of a tile need no shift; they and their masses are formed then. */
static int symflow_tiling_direct(const symflow_tiling *tiling, symflow_tile *tile, ptrdiff_t i, ptrdiff_t j, int sides)
{
    double *state = tiling->state;
    if (sides & SYMFLOW_QUERIES && state[i] == SYMFLOW_SHIFTED) return 0;
    if (sides & SYMFLOW_KEYS && state[j] == SYMFLOW_SHIFTED) return 0;
    if (!tiling->code.direct(tile, sides)) return 0;
    if (sides & SYMFLOW_QUERIES) symflow_tiling_begin(tiling, i);
    if (sides & SYMFLOW_KEYS) symflow_tiling_begin(tiling, j);
    return 1;
}

/* The pairs of tile i and tile j, for the sums of `sides`. */
static void symflow_tiling_pair(const symflow_tiling *tiling, symflow_tile *tile, ptrdiff_t i, ptrdiff_t j, int sides)
{
    symflow_tiling_aim(tiling, tile, i, j);
    if (symflow_tiling_direct(tiling, tile, i, j, sides)) {
        if (sides & SYMFLOW_QUERIES) symflow_tiling_sum(tiling, tile, SYMFLOW_QUERIES, i, j, 0);
        if (sides & SYMFLOW_KEYS) symflow_tiling_sum(tiling, tile, SYMFLOW_KEYS, j, i, 0);
        return;
    }
    tiling->code.scores(tile);
    if (tile->high - tile->low <= SYMFLOW_TILES_SPREAD)
        symflow_tiling_near(tiling, tile, i, j, sides);
    else
        symflow_tiling_far(tiling, tile, i, j, sides);
}

/* Sums of a block begin, which its first pairs write to. */
static void symflow_tiling_clear(const symflow_tiling *tiling, ptrdiff_t block)
{
    const ptrdiff_t first = block * tiling->per_block, end = symflow_tiling_end(tiling, block);
    const ptrdiff_t from = first * SYMFLOW_TILE;
    const size_t tokens = (size_t)((end - first) * SYMFLOW_TILE);
    memset(tiling->query_mass + from, 0, tokens * sizeof(double));
    memset(tiling->key_mass + from * SYMFLOW_STRIP, 0, tokens * SYMFLOW_STRIP * sizeof(double));
    if (tiling->features) memset(tiling->sums + from * tiling->padded, 0, tokens * (size_t)tiling->padded * sizeof(double));
    for (size_t i = 0; i < tokens; ++i) tiling->shift[from + (ptrdiff_t)i] = SYMFLOW_TILES_LOWEST;
    for (ptrdiff_t t = first; t < end; ++t) tiling->state[t] = SYMFLOW_UNTOUCHED;
}

/* All pairs of the queries, or the keys, of one block: scores are not known to be symmetric. */
static void symflow_tiling_one_side(ptrdiff_t part, void *of)
{
    const symflow_tiling *tiling = of;
    const ptrdiff_t block = tiling->blocks - 1 - part; /* under a causal mask the last one has most keys */
    const ptrdiff_t begin = block * tiling->per_block, end = symflow_tiling_end(tiling, block);
    symflow_tile tile;
    symflow_tiling_clear(tiling, block);
    for (ptrdiff_t other = 0; other < tiling->tiles; ++other)
        for (ptrdiff_t own = begin; own < end; ++own)
            if (tiling->sides == SYMFLOW_KEYS)
                symflow_tiling_pair(tiling, &tile, other, own, SYMFLOW_KEYS);
            else if (!tiling->job->causal || other <= own)
                symflow_tiling_pair(tiling, &tile, own, other, SYMFLOW_QUERIES);
}

/* Ask for the panels of a block: another thread may have had them last. */
static void symflow_tiling_fetch(const symflow_tiling *tiling, ptrdiff_t block)
{
    const ptrdiff_t first = block * tiling->per_block * SYMFLOW_TILE;
    const ptrdiff_t tokens = symflow_tiling_end(tiling, block) * SYMFLOW_TILE - first;
    if (!tiling->helpers) return;
    for (int m = 0; m < tiling->pairings; ++m)
        for (ptrdiff_t k = first * tiling->job->widths[m]; k < (first + tokens) * tiling->job->widths[m]; k += 8) {
            __builtin_prefetch(tiling->left[m] + k);
            __builtin_prefetch(tiling->right[m] + k);
        }
    for (ptrdiff_t k = first * tiling->padded; tiling->features && k < (first + tokens) * tiling->padded; k += 8) {
        __builtin_prefetch(tiling->feature + k);
        __builtin_prefetch(tiling->sums + k, 1);
    }
    for (ptrdiff_t k = first; k < first + tokens; ++k) __builtin_prefetch(tiling->key_mass + k * SYMFLOW_STRIP, 1);
}

/* Pairs inside a block, every unordered one once. */
static void symflow_tiling_inside(const symflow_tiling *tiling, ptrdiff_t block)
{
    const ptrdiff_t end = symflow_tiling_end(tiling, block);
    symflow_tile tile;
    for (ptrdiff_t i = block * tiling->per_block; i < end; ++i) {
        symflow_tiling_pair(tiling, &tile, i, i, SYMFLOW_QUERIES);
        for (ptrdiff_t j = i + 1; j < end; ++j)
            symflow_tiling_pair(tiling, &tile, i, j, SYMFLOW_QUERIES | SYMFLOW_KEYS);
    }
}

/* Pairs between two blocks. */
static void symflow_tiling_between(const symflow_tiling *tiling, ptrdiff_t low, ptrdiff_t high)
{
    symflow_tile tile;
    for (ptrdiff_t i = low * tiling->per_block; i < symflow_tiling_end(tiling, low); ++i)
        for (ptrdiff_t j = high * tiling->per_block; j < symflow_tiling_end(tiling, high); ++j)
            symflow_tiling_pair(tiling, &tile, i, j, SYMFLOW_QUERIES | SYMFLOW_KEYS);
}

static ptrdiff_t symflow_tiling_group(const symflow_tiling *tiling, ptrdiff_t group)
{
    return tiling->blocks * group / tiling->groups;
}

static void symflow_tiling_alone(ptrdiff_t group, void *of)
{
    const symflow_tiling *tiling = of;
    const ptrdiff_t first = symflow_tiling_group(tiling, group), last = symflow_tiling_group(tiling, group + 1);
    for (ptrdiff_t block = first; block < last; ++block) symflow_tiling_clear(tiling, block);
    for (ptrdiff_t low = first; low < last; ++low) {
        symflow_tiling_inside(tiling, low);
        for (ptrdiff_t high = low + 1; high < last; ++high) symflow_tiling_between(tiling, low, high);
    }
}

static void symflow_tiling_meet(ptrdiff_t one, ptrdiff_t two, void *of)
{
    const symflow_tiling *tiling = of;
    const ptrdiff_t first = symflow_tiling_group(tiling, one), begin = symflow_tiling_group(tiling, two);
    for (ptrdiff_t low = first; low < symflow_tiling_group(tiling, one + 1); ++low) {
        symflow_tiling_fetch(tiling, low);
        for (ptrdiff_t high = begin; high < symflow_tiling_group(tiling, two + 1); ++high) {
            if (low == first) symflow_tiling_fetch(tiling, high);
            symflow_tiling_between(tiling, low, high);
        }
    }
}

/* One pass over all pairs: masses, and where features are asked for their sums. */
static void symflow_tiling_run(symflow_tiling *tiling)
{
    if (tiling->sides == (SYMFLOW_QUERIES | SYMFLOW_KEYS)) {
        symflow_tournament tournament = {.blocks = tiling->groups, .alone = symflow_tiling_alone,
                                         .meet = symflow_tiling_meet, .of = tiling};
        symflow_tournament_run(&tournament, tiling->counters, tiling->helpers);
    } else {
        symflow_tiling_share(tiling, symflow_tiling_one_side);
    }
}

/* Sum of theta w exp(-shift) over the partners of token i. */
static double symflow_tiling_mass(const symflow_tiling *tiling, ptrdiff_t i)
{
    const double *k = tiling->key_mass + i * SYMFLOW_STRIP;
    double mass = tiling->query_mass[i] + (((k[0] + k[4]) + (k[1] + k[5])) + ((k[2] + k[6]) + (k[3] + k[7])));
    return tiling->job->theta ? mass : mass / (double)tiling->job->n;
}

/* Masses of the tokens of one tile, and what is in its panels as averages. */
static void symflow_tiling_unpack(ptrdiff_t t, const symflow_tiling *tiling)
{
    const symflow_pairs *job = tiling->job;
    const ptrdiff_t i = t * SYMFLOW_TILE, count = job->n - i < SYMFLOW_TILE ? job->n - i : SYMFLOW_TILE;
    const int normalised = job->normalise != SYMFLOW_SUM;
    const double *sums = tiling->sums + i * tiling->padded, each = job->theta ? 1.0 : 1.0 / (double)job->n;
    double scale[SYMFLOW_TILE], half[SYMFLOW_TILE]; /* exp(shift) may overflow where what it multiplies is small */
    for (ptrdiff_t q = 0; q < count; ++q) {
        const double mass = symflow_tiling_mass(tiling, i + q);
        half[q] = normalised ? 1.0 : exp(0.5 * tiling->shift[i + q]);
        scale[q] = normalised ? each / mass : each * half[q];
        job->mass[i + q] = normalised ? mass / mass : mass * half[q] * half[q];
    }
    for (ptrdiff_t c = 0, panel; c < tiling->padded; c += panel, sums += panel * SYMFLOW_TILE) {
        panel = symflow_tile_panel(tiling->padded - c);
        for (ptrdiff_t e = 0; e < panel && c + e < job->width; ++e) {
            double *to = job->average + (c + e) * job->pitch + i;
            for (ptrdiff_t q = 0; q < count; ++q) to[q] = sums[q * panel + e] * scale[q] * half[q];
        }
    }
}

static void symflow_tiling_unpack_block(ptrdiff_t block, void *of)
{
    const symflow_tiling *tiling = of;
    for (ptrdiff_t t = block * tiling->per_block; t < symflow_tiling_end(tiling, block); ++t)
        symflow_tiling_unpack(t, tiling);
}

/* What the job asked for; zeros beyond n. */
static void symflow_tiling_close(symflow_tiling *tiling)
{
    const symflow_pairs *job = tiling->job;
    const size_t beyond = (size_t)(job->pitch - job->n) * sizeof(double);
    symflow_tiling_share(tiling, symflow_tiling_unpack_block);
    for (ptrdiff_t c = 0; c < job->width; ++c) memset(job->average + c * job->pitch + job->n, 0, beyond);
    memset(job->mass + job->n, 0, beyond);
}

#endif
