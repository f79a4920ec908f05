/* The sums over pairs of one term for one instruction set; included by symflow_pairs_term.h only.
 *
 * A sweep takes a few queries (rows) through a range of keys, a vector of them at a time. Its row sums stay in
 * registers; where the score is symmetric it also adds to the sums of the keys, so that no pair is met twice.
 * Row sums of a vector of queries are handed over together: a sweep never waits for numbers that were just stored.
 * Where the exponentials of scores could overflow, or all of a row vanish, the largest score is subtracted: of
 * all pairs, known from a bound or from a search, or of every row. Exponents are powers of two: s/ln 2 - shift.
 * Wide features (tiles) and Sinkhorn's scaling are in files of their own.
 */
#define NAME(name) SYMFLOW_TERM_NAME(name)
#define EACH_ROW _Pragma("GCC unroll 8") for (int r = 0; r < SYMFLOW_ROWS; ++r)
#define EACH(c, count) _Pragma("GCC unroll 4") for (ptrdiff_t c = 0; c < (count); ++c)

/* What left is multiplied by: plain scores become exponents this way. */
static const double NAME(unit) = SYMFLOW_TERM_PLAIN ? SYMFLOW_PER_LN2 : 1.0;

typedef struct NAME(plan) {
    symflow_pairs *job;
    double shift, *shifts; /* common to all queries, unless there is one for each */
    int wide;              /* exponents may leave the range of normal numbers */
    ptrdiff_t width; /* of all pairings and the feature, where it is the same and there is code for it; else 0 */
    ptrdiff_t blocks, strips;
    const symflow_linalg *helpers; /* NULL where threads would not help */
} NAME(plan);

/* Queries i .. i + SYMFLOW_ROWS - 1, each against the keys begin .. end - 1. */
typedef struct NAME(query) {
    ptrdiff_t i;
    double left[SYMFLOW_ROWS][SYMFLOW_TERM_PAIRINGS][SYMFLOW_PAIRS_NARROW];
    double feature[SYMFLOW_ROWS][SYMFLOW_PAIRS_NARROW], numbers[SYMFLOW_ROWS][SYMFLOW_TERM_ROWS + 1];
    double shift[SYMFLOW_ROWS];
    long long begin[SYMFLOW_ROWS], end[SYMFLOW_ROWS];
    ptrdiff_t inner_begin, inner_end; /* keys of all of them */
    /* Of the job, again: compilers take every sum that is stored for a change of what the job points to. */
    ptrdiff_t pitch;
    const double *right[SYMFLOW_TERM_PAIRINGS], *columns[SYMFLOW_TERM_COLUMNS + 1], *theta, *features;
    double scalars[SYMFLOW_TERM_SCALARS + 1];
    double *average, *mass;
} NAME(query);

SYMFLOW_INLINE void NAME(ask)(const NAME(plan) *plan, ptrdiff_t d, ptrdiff_t i, int later, NAME(query) *query)
{
    const symflow_pairs *job = plan->job;
    const ptrdiff_t width = d ? d : job->width;
    query->i = i;
    query->pitch = job->pitch;
    query->theta = job->theta;
    query->features = job->feature;
    query->average = job->average;
    query->mass = job->mass;
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) query->right[m] = job->right[m];
    for (int l = 0; l < SYMFLOW_TERM_COLUMNS; ++l) query->columns[l] = job->columns[l];
    for (int k = 0; k < SYMFLOW_TERM_SCALARS; ++k) query->scalars[k] = job->scalars[k];
    query->inner_begin = 0;
    query->inner_end = job->n;
    for (int r = 0; r < SYMFLOW_ROWS; ++r) {
        for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) {
            const ptrdiff_t size = d ? d : job->widths[m];
            EACH(c, size) query->left[r][m][c] = NAME(unit) * job->left[m][c * job->pitch + i + r];
        }
        EACH(c, width) query->feature[r][c] = job->feature[c * job->pitch + i + r];
        for (int l = 0; l < SYMFLOW_TERM_ROWS; ++l) query->numbers[r][l] = job->rows[l][i + r];
        query->shift[r] = plan->shifts ? plan->shifts[i + r] : plan->shift;
        query->begin[r] = later ? i + r + 1 : 0;
        query->end[r] = i + r >= job->n ? 0 : job->causal ? i + r + 1 : job->n;
        query->inner_begin = query->begin[r];
        query->inner_end = query->end[r] < query->inner_end ? query->end[r] : query->inner_end;
    }
}

/* The scores of every query with keys j .. j + SYMFLOW_LANES - 1; as exponents where that is what is wanted.
 * Wide: a score is rounded before the shift is subtracted, as it was when the shift was found; of scores of 1e19
 * one unit in the last place is an exponent out of range. */
SYMFLOW_INLINE void NAME(scores)(const NAME(plan) *plan, const NAME(query) *query, ptrdiff_t d, int wide,
                                 ptrdiff_t j, symflow_real *s)
{
    symflow_real u[SYMFLOW_ROWS][SYMFLOW_TERM_PAIRINGS];
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) {
        const ptrdiff_t size = d ? d : plan->job->widths[m];
        EACH_ROW u[r][m] = SYMFLOW_TERM_PLAIN && !wide ? symflow_splat(-query->shift[r]) : (symflow_real){0};
        EACH(c, size)
        {
            symflow_real y = symflow_load(query->right[m] + c * query->pitch + j);
            if (SYMFLOW_TERM_DIFFERENCE(m))
                EACH_ROW
                {
                    symflow_real gap = symflow_splat(query->left[r][m][c]) - y;
                    u[r][m] = symflow_fma(gap, gap, u[r][m]);
                }
            else
                EACH_ROW u[r][m] = symflow_fma(symflow_splat(query->left[r][m][c]), y, u[r][m]);
        }
    }
#if SYMFLOW_TERM_PLAIN
    EACH_ROW s[r] = wide ? u[r][0] - symflow_splat(query->shift[r]) : u[r][0];
#else
    (void)wide;
    symflow_real b[SYMFLOW_TERM_COLUMNS + 1], p[SYMFLOW_TERM_SCALARS + 1];
    for (int l = 0; l < SYMFLOW_TERM_COLUMNS; ++l) b[l] = symflow_load(query->columns[l] + j);
    for (int k = 0; k < SYMFLOW_TERM_SCALARS; ++k) p[k] = symflow_splat(query->scalars[k]);
    (void)b, (void)p;
    EACH_ROW
    {
        symflow_real a[SYMFLOW_TERM_ROWS + 1];
        for (int l = 0; l < SYMFLOW_TERM_ROWS; ++l) a[l] = symflow_splat(query->numbers[r][l]);
        (void)a;
        s[r] = SYMFLOW_TERM_SCORE(u[r], a, b, p);
        if (SYMFLOW_TERM_EXPONENTIAL)
            s[r] = s[r] * symflow_splat(SYMFLOW_PER_LN2) - symflow_splat(query->shift[r]);
    }
#endif
}

/* From scores, or exponents, to weights. */
SYMFLOW_INLINE void NAME(weights)(int wide, symflow_real *s)
{
#if SYMFLOW_TERM_EXPONENTIAL
    SYMFLOW_OWN(symflow_powers)(SYMFLOW_ROWS, s, 0, wide);
#else
    (void)wide;
    EACH_ROW s[r] = SYMFLOW_TERM_WEIGHT(s[r]);
#endif
}

/* Lanes whose key is for query r. */
SYMFLOW_INLINE symflow_mask NAME(lanes)(const NAME(query) *query, int r, ptrdiff_t j)
{
    const symflow_mask key = SYMFLOW_OWN(symflow_counting) + (long long)j;
    return (symflow_mask)(key >= query->begin[r]) & (symflow_mask)(key < query->end[r]);
}

SYMFLOW_INLINE int NAME(partly)(const NAME(query) *query, ptrdiff_t j)
{
    return j < query->inner_begin || j + SYMFLOW_LANES > query->inner_end;
}

typedef struct NAME(sums) {
    symflow_real feature[SYMFLOW_ROWS][SYMFLOW_PAIRS_NARROW], mass[SYMFLOW_ROWS];
} NAME(sums);

SYMFLOW_INLINE void NAME(collect)(const NAME(query) *query, ptrdiff_t width, ptrdiff_t j, const symflow_real *w,
                                  NAME(sums) *sums)
{
    EACH(c, width)
    {
        symflow_real f = symflow_load(query->features + c * query->pitch + j);
        EACH_ROW sums->feature[r][c] = symflow_fma(w[r], f, sums->feature[r][c]);
    }
    EACH_ROW sums->mass[r] += w[r];
}

/* Take the queries from key `from` on to key `to`. Shared: the keys get their share, too. */
SYMFLOW_INLINE void NAME(sweep)(const NAME(plan) *plan, const NAME(query) *query, ptrdiff_t d, int wide, int shared,
                                ptrdiff_t from, ptrdiff_t to, NAME(sums) *sums)
{
    const ptrdiff_t width = d ? d : plan->job->width, pitch = query->pitch;
    EACH_ROW
    {
        EACH(c, width) sums->feature[r][c] = (symflow_real){0};
        sums->mass[r] = (symflow_real){0};
    }
    symflow_real next[SYMFLOW_ROWS]; /* scores are a step ahead: they need not wait for weights */
    if (from < to) NAME(scores)(plan, query, d, wide, from, next);
    for (ptrdiff_t j = from; j < to; j += SYMFLOW_LANES) {
        symflow_real w[SYMFLOW_ROWS];
        EACH_ROW w[r] = next[r];
        NAME(scores)(plan, query, d, wide, j + SYMFLOW_LANES < to ? j + SYMFLOW_LANES : j, next);
        NAME(weights)(wide, w);
        if (!shared && query->theta) {
            symflow_real theta = symflow_load(query->theta + j);
            EACH_ROW w[r] *= theta;
        }
        if (NAME(partly)(query, j)) EACH_ROW w[r] = symflow_keep(NAME(lanes)(query, r, j), w[r]);
        NAME(collect)(query, width, j, w, sums);
        if (shared) {
            EACH(c, width)
            {
                symflow_real sum = symflow_load(query->average + c * pitch + j);
                EACH_ROW sum = symflow_fma(w[r], symflow_splat(query->feature[r][c]), sum);
                symflow_store(query->average + c * pitch + j, sum);
            }
            symflow_real sum = symflow_load(query->mass + j);
            EACH_ROW sum += w[r];
            symflow_store(query->mass + j, sum);
        }
    }
}

/* The same for a vector of queries from i on: their sums are added to where they are shared, else stored. */
SYMFLOW_INLINE void NAME(sweeps)(const NAME(plan) *plan, ptrdiff_t d, int wide, int shared, ptrdiff_t i, ptrdiff_t from,
                                 ptrdiff_t to)
{
    const symflow_pairs *job = plan->job;
    const ptrdiff_t width = d ? d : job->width;
    symflow_real each[SYMFLOW_PAIRS_NARROW + 1][SYMFLOW_LANES];
    _Pragma("GCC unroll 1") for (int first = 0; first < SYMFLOW_LANES; first += SYMFLOW_ROWS)
    {
        NAME(query) query;
        NAME(sums) sums;
        const int none = i + first >= job->n;
        NAME(ask)(plan, d, i + first, shared, &query);
        NAME(sweep)(plan, &query, d, wide, shared, from, none ? from : to, &sums);
        EACH_ROW
        {
            EACH(c, width) each[c][first + r] = sums.feature[r][c];
            each[width][first + r] = sums.mass[r];
        }
    }
    EACH(c, width + 1)
    {
        double *to_sum = c < width ? job->average + c * job->pitch + i : job->mass + i;
        symflow_real sum = SYMFLOW_OWN(symflow_totals)(each[c]);
        symflow_store(to_sum, shared ? symflow_load(to_sum) + sum : sum);
    }
}

#if SYMFLOW_TERM_EXPONENTIAL
/* The largest exponent of every query. */
SYMFLOW_INLINE void NAME(highest)(const NAME(plan) *plan, ptrdiff_t d, ptrdiff_t i, ptrdiff_t to)
{
    NAME(query) query;
    symflow_real most[SYMFLOW_ROWS];
    NAME(ask)(plan, d, i, 0, &query);
    EACH_ROW most[r] = symflow_splat(-HUGE_VAL);
    for (ptrdiff_t j = 0; j < to; j += SYMFLOW_LANES) {
        symflow_real s[SYMFLOW_ROWS];
        NAME(scores)(plan, &query, d, 1, j, s);
        if (NAME(partly)(&query, j))
            EACH_ROW s[r] = symflow_select(NAME(lanes)(&query, r, j), s[r], symflow_splat(-HUGE_VAL));
        EACH_ROW most[r] = symflow_max(most[r], s[r]);
    }
    EACH_ROW
    {
        double largest = symflow_largest(most[r]);
        plan->shifts[i + r] = largest == -HUGE_VAL ? 0.0 : largest; /* every weight is zero, or there is no key */
    }
}
#endif

/* A copy for every small width, and one for exponents that stay in range; machines without AVX2 share one. */
#if SYMFLOW_ISA == 128 && defined(__x86_64__)
#define BY_WIDTH(call, wide) call(0, wide)
#else
#define BY_WIDTH(call, wide)                                                                                       \
    switch (plan->width) {                                                                                         \
        case 1: call(1, wide) break;                                                                              \
        case 2: call(2, wide) break;                                                                              \
        case 3: call(3, wide) break;                                                                              \
        case 4: call(4, wide) break;                                                                              \
        default: call(0, wide)                                                                                     \
    }
#endif
#if SYMFLOW_TERM_PLAIN
#define BY_RANGE(call)                                                                                             \
    if (plan->wide)                                                                                                \
        BY_WIDTH(call, 1)                                                                                          \
    else                                                                                                           \
        BY_WIDTH(call, 0)
#else
#define BY_RANGE(call) BY_WIDTH(call, 1)
#endif

SYMFLOW_TARGET static void NAME(shared_sweep)(const NAME(plan) *plan, ptrdiff_t i, ptrdiff_t from, ptrdiff_t to)
{
#define CALL(d, wide) NAME(sweeps)(plan, d, wide, 1, i, from, to);
    BY_RANGE(CALL)
#undef CALL
}

/* The key after the last one that queries i .. i + count - 1 may see. */
static ptrdiff_t NAME(last)(const symflow_pairs *job, ptrdiff_t i, ptrdiff_t count)
{
    return job->causal && i + count < job->n ? i + count : job->n;
}

SYMFLOW_TARGET static void NAME(own_sweep)(const NAME(plan) *plan, ptrdiff_t i)
{
    const ptrdiff_t end = NAME(last)(plan->job, i, SYMFLOW_LANES);
#define CALL(d, wide) NAME(sweeps)(plan, d, wide, 0, i, 0, end);
    BY_RANGE(CALL)
#undef CALL
}

/* Divide by the normaliser, or by n; zeros beyond n. */
SYMFLOW_TARGET static void NAME(normalise)(const symflow_pairs *job, ptrdiff_t from, ptrdiff_t to)
{
    symflow_real factor = symflow_splat(job->theta ? 1.0 : 1.0 / (double)job->n);
    for (ptrdiff_t i = from; i < to; i += SYMFLOW_LANES) {
        symflow_mask lanes;
        for (int lane = 0; lane < SYMFLOW_LANES; ++lane) lanes[lane] = i + lane;
        lanes = (symflow_mask)(lanes < (long long)job->n);
        symflow_real mass = symflow_load(job->mass + i);
        if (job->normalise == SYMFLOW_SOFTMAX) factor = 1.0 / mass;
        for (ptrdiff_t c = 0; c < job->width; ++c) {
            double *average = job->average + c * job->pitch + i;
            symflow_real sum = symflow_load(average);
            symflow_store(average, symflow_keep(lanes, sum * factor));
        }
        symflow_store(job->mass + i, symflow_keep(lanes, mass * factor));
    }
}

#if SYMFLOW_TERM_EXPONENTIAL
SYMFLOW_TARGET static void NAME(search)(const NAME(plan) *plan, ptrdiff_t i)
{
    const ptrdiff_t end = NAME(last)(plan->job, i, SYMFLOW_ROWS);
#define CALL(d, wide) NAME(highest)(plan, d, i, end);
    BY_WIDTH(CALL, 1)
#undef CALL
}
#endif

enum { NAME(strip) = 64 /* queries that one thread takes at a time */ };

static void NAME(share)(NAME(plan) *plan, void (*part)(ptrdiff_t, void *))
{
    plan->strips = (plan->job->pitch + NAME(strip) - 1) / NAME(strip);
    if (plan->helpers)
        plan->helpers->parallel(plan->strips, part, plan);
    else
        for (ptrdiff_t k = 0; k < plan->strips; ++k) part(k, plan);
}

/* First the last ones, which have most keys under a causal mask. */
SYMFLOW_TARGET static void NAME(strip_of_rows)(ptrdiff_t part, void *of)
{
    const NAME(plan) *plan = (const NAME(plan) *)of;
    ptrdiff_t from = (plan->strips - 1 - part) * NAME(strip), to = from + NAME(strip);
    if (to > plan->job->pitch) to = plan->job->pitch;
    for (ptrdiff_t i = from; i < to && i < plan->job->n; i += SYMFLOW_LANES) NAME(own_sweep)(plan, i);
    NAME(normalise)(plan->job, from, to);
}

/* Tokens from .. to - 1 with themselves; this is where the sums start. */
SYMFLOW_TARGET static void NAME(selves)(const NAME(plan) *plan, ptrdiff_t from, ptrdiff_t to)
{
    const symflow_pairs *job = plan->job;
    for (ptrdiff_t i = from; i < to; i += SYMFLOW_LANES) {
        symflow_real u[SYMFLOW_TERM_PAIRINGS], a[SYMFLOW_TERM_ROWS + 1], b[SYMFLOW_TERM_COLUMNS + 1];
        symflow_real p[SYMFLOW_TERM_SCALARS + 1], w;
        for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) {
            u[m] = (symflow_real){0};
            for (ptrdiff_t c = 0; c < job->widths[m]; ++c) {
                symflow_real x = symflow_load(job->left[m] + c * job->pitch + i) * NAME(unit);
                symflow_real y = symflow_load(job->right[m] + c * job->pitch + i);
                if (SYMFLOW_TERM_DIFFERENCE(m)) x = y = x - y;
                u[m] = symflow_fma(x, y, u[m]);
            }
        }
        for (int l = 0; l < SYMFLOW_TERM_ROWS; ++l) a[l] = symflow_load(job->rows[l] + i);
        for (int l = 0; l < SYMFLOW_TERM_COLUMNS; ++l) b[l] = symflow_load(job->columns[l] + i);
        for (int k = 0; k < SYMFLOW_TERM_SCALARS; ++k) p[k] = symflow_splat(job->scalars[k]);
        (void)a, (void)b, (void)p;
        w = SYMFLOW_TERM_PLAIN ? u[0] : SYMFLOW_TERM_SCORE(u, a, b, p);
#if SYMFLOW_TERM_EXPONENTIAL
        if (!SYMFLOW_TERM_PLAIN) w *= symflow_splat(SYMFLOW_PER_LN2);
        w -= symflow_splat(plan->shift);
        SYMFLOW_OWN(symflow_powers)(1, &w, 0, 1);
#else
        w = SYMFLOW_TERM_WEIGHT(w);
#endif
        for (ptrdiff_t c = 0; c < job->width; ++c)
            symflow_store(job->average + c * job->pitch + i, w * symflow_load(job->feature + c * job->pitch + i));
        symflow_store(job->mass + i, w);
    }
}

/* The first token of a block: blocks are as even as lines of the cache permit, and the last one ends with them. */
static ptrdiff_t NAME(edge)(const NAME(plan) *plan, ptrdiff_t block)
{
    return block == plan->blocks ? plan->job->pitch : (plan->job->n + 7) / 8 * block / plan->blocks * 8;
}

static ptrdiff_t NAME(end)(const NAME(plan) *plan, ptrdiff_t block)
{
    const ptrdiff_t edge = NAME(edge)(plan, block + 1);
    return edge < plan->job->n ? edge : plan->job->n;
}

/* Ask for what a sweep over these tokens reads and writes: another thread may have had it last. */
SYMFLOW_INLINE void NAME(fetch)(const NAME(plan) *plan, ptrdiff_t from, ptrdiff_t to)
{
    const symflow_pairs *job = plan->job;
    if (!plan->helpers) return;
    for (ptrdiff_t i = from; i < to; i += 8) {
        for (ptrdiff_t c = 0; c < job->width; ++c) {
            __builtin_prefetch(job->average + c * job->pitch + i, 1);
            __builtin_prefetch(job->feature + c * job->pitch + i);
        }
        __builtin_prefetch(job->mass + i, 1);
    }
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m)
        for (ptrdiff_t c = 0; c < job->widths[m]; ++c)
            for (ptrdiff_t i = from; i < to; i += 8) __builtin_prefetch(job->right[m] + c * job->pitch + i);
}

/* Queries from .. to - 1 with the keys of a block, which come after them or are their own. */
SYMFLOW_TARGET static void NAME(meeting)(const NAME(plan) *plan, ptrdiff_t from, ptrdiff_t to, ptrdiff_t block)
{
    const ptrdiff_t last = NAME(end)(plan, block);
    for (ptrdiff_t keys = NAME(edge)(plan, block); keys < last; keys += SYMFLOW_PAIRS_KEYS) {
        const ptrdiff_t end = keys + SYMFLOW_PAIRS_KEYS < last ? keys + SYMFLOW_PAIRS_KEYS : last;
        NAME(fetch)(plan, keys, end);
        for (ptrdiff_t i = from; i < to && i < end; i += SYMFLOW_LANES)
            NAME(shared_sweep)(plan, i, i < keys ? keys : i, end);
    }
}

static void NAME(within)(ptrdiff_t block, void *of)
{
    const NAME(plan) *plan = (const NAME(plan) *)of;
    NAME(selves)(plan, NAME(edge)(plan, block), NAME(edge)(plan, block + 1));
    NAME(meeting)(plan, NAME(edge)(plan, block), NAME(end)(plan, block), block);
}

static void NAME(between)(ptrdiff_t low, ptrdiff_t high, void *of)
{
    const NAME(plan) *plan = (const NAME(plan) *)of;
    NAME(meeting)(plan, NAME(edge)(plan, low), NAME(edge)(plan, low + 1), high);
}

SYMFLOW_TARGET static void NAME(finish)(ptrdiff_t block, void *of)
{
    const NAME(plan) *plan = (const NAME(plan) *)of;
    NAME(normalise)(plan->job, NAME(edge)(plan, block), NAME(edge)(plan, block + 1));
}

static void NAME(symmetric)(NAME(plan) *plan)
{
    symflow_pairs *job = plan->job;
    plan->blocks = symflow_pairs_blocks(job->n);
    symflow_tournament tournament = {plan->blocks, NAME(within), NAME(between), NAME(finish), plan, NULL};
    symflow_tournament_run(&tournament, job->work + job->pitch, plan->helpers);
}

/* Beyond, the two scores of one pair may differ by more than an exponent can bear. */
static const double NAME(exact) = 0x1p50;

#if SYMFLOW_TERM_PLAIN
/* Bounds of left . right: its size by Cauchy and Schwarz, and from below the largest one of every query by that
 * with itself. */
SYMFLOW_TARGET static void NAME(bounds)(const symflow_pairs *job, double *size, double *self)
{
    symflow_real left = {0}, right = {0}, least = symflow_splat(HUGE_VAL);
    for (ptrdiff_t i = 0; i < job->pitch; i += SYMFLOW_LANES) {
        symflow_real x = {0}, y = {0}, s = {0};
        for (ptrdiff_t c = 0; c < job->widths[0]; ++c) {
            symflow_real l = symflow_load(job->left[0] + c * job->pitch + i);
            symflow_real r = symflow_load(job->right[0] + c * job->pitch + i);
            x = symflow_fma(l, l, x);
            y = symflow_fma(r, r, y);
            s = symflow_fma(l, r, s);
        }
        left = symflow_max(left, x);
        right = symflow_max(right, y);
        for (ptrdiff_t lane = 0; lane < SYMFLOW_LANES; ++lane)
            if (i + lane >= job->n) s[lane] = HUGE_VAL;
        least = symflow_min(least, s);
    }
    *size = sqrt(symflow_largest(left)) * sqrt(symflow_largest(right)) * (1.0 + 0x1p-40);
    *self = -symflow_largest(-least);
}
#endif

#if SYMFLOW_TERM_EXPONENTIAL
SYMFLOW_TARGET static void NAME(search_strip)(ptrdiff_t part, void *of)
{
    const NAME(plan) *plan = (const NAME(plan) *)of;
    const ptrdiff_t from = (plan->strips - 1 - part) * NAME(strip), n = plan->job->n;
    for (ptrdiff_t i = from; i < from + NAME(strip) && i < n; i += SYMFLOW_ROWS) NAME(search)(plan, i);
}

/* Subtract the largest exponent of every query; where they are alike, the largest of all. */
SYMFLOW_TARGET static int NAME(find_shifts)(NAME(plan) *plan, int symmetric)
{
    const symflow_pairs *job = plan->job;
    double *shifts = job->work;
    for (ptrdiff_t i = 0; i < job->pitch; ++i) shifts[i] = 0.0;
    plan->shifts = shifts;
    NAME(share)(plan, NAME(search_strip));
    double high = -HUGE_VAL, low = HUGE_VAL;
    for (ptrdiff_t i = 0; i < job->n; ++i) {
        high = shifts[i] > high ? shifts[i] : high;
        low = shifts[i] < low ? shifts[i] : low;
    }
    if (!symmetric || !(high - low <= SYMFLOW_PAIRS_RANGE) || !(fabs(high) <= NAME(exact))) return 0;
    plan->shift = high;
    plan->shifts = NULL;
    return 1;
}
#endif

/* Decide how the exponents are kept in range: 1 where the symmetric template may be used. */
SYMFLOW_TARGET static int NAME(range)(NAME(plan) *plan)
{
    symflow_pairs *job = plan->job;
    int symmetric = job->symmetric && !job->causal && !job->theta;
#if SYMFLOW_TERM_PLAIN
    double size, self;
    NAME(bounds)(job, &size, &self);
    plan->wide = !(size <= SYMFLOW_PAIRS_RANGE);
    if (!plan->wide || job->normalise == SYMFLOW_SUM) return symmetric;
    if (symmetric && size - self <= SYMFLOW_PAIRS_RANGE && size <= NAME(exact)) {
        plan->shift = size * SYMFLOW_PER_LN2;
        return 1;
    }
    return NAME(find_shifts)(plan, symmetric);
#elif SYMFLOW_TERM_EXPONENTIAL
    plan->wide = 1;
    return job->normalise == SYMFLOW_SUM ? symmetric : NAME(find_shifts)(plan, symmetric);
#else
    return symmetric;
#endif
}

#include "symflow_pairs_tiles.h" /* int NAME(tiles)(symflow_pairs *): widths beyond SYMFLOW_PAIRS_NARROW */
#if SYMFLOW_TERM_EXPONENTIAL
#include "symflow_pairs_sinkhorn.h" /* int NAME(sinkhorn)(symflow_pairs *) */
#endif

SYMFLOW_TARGET static int NAME(run)(symflow_pairs *job)
{
    NAME(plan) plan = {.job = job, .width = job->width <= 4 ? job->width : 0};
    ptrdiff_t widest = job->width;
    for (int m = 0; m < SYMFLOW_TERM_PAIRINGS; ++m) {
        if (job->widths[m] != job->width) plan.width = 0;
        if (job->widths[m] > widest) widest = job->widths[m];
    }
#if SYMFLOW_TERM_EXPONENTIAL
    if (job->normalise == SYMFLOW_SINKHORN) return NAME(sinkhorn)(job);
#endif
    if (symflow_pairs_tiled(job->n, widest)) return NAME(tiles)(job);
    if (job->n >= SYMFLOW_PAIRS_SHARED) plan.helpers = job->linalg;
    if (NAME(range)(&plan))
        NAME(symmetric)(&plan);
    else
        NAME(share)(&plan, NAME(strip_of_rows));
    return SYMFLOW_OK;
}

#undef BY_WIDTH
#undef BY_RANGE
#undef EACH_ROW
#undef EACH
#undef NAME
