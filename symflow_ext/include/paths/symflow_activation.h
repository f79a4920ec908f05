/* The instructions of an activation, on a stack; their numbers are those of symflow_ext.schedule.OPCODES. */
#ifndef SYMFLOW_ACTIVATION_H
#define SYMFLOW_ACTIVATION_H

enum {
    SYMFLOW_ACTIVATION_CONST = 0,
    SYMFLOW_ACTIVATION_INPUT = 1,
    SYMFLOW_ACTIVATION_ADD = 2,
    SYMFLOW_ACTIVATION_MULTIPLY = 3,
    SYMFLOW_ACTIVATION_POWER = 4,
    SYMFLOW_ACTIVATION_POW = 5,
    SYMFLOW_ACTIVATION_MAX = 6,
    SYMFLOW_ACTIVATION_MIN = 7,
    SYMFLOW_ACTIVATION_EXP = 8,
    SYMFLOW_ACTIVATION_LOG = 9,
    SYMFLOW_ACTIVATION_SQRT = 10,
    SYMFLOW_ACTIVATION_SIN = 11,
    SYMFLOW_ACTIVATION_COS = 12,
    SYMFLOW_ACTIVATION_TAN = 13,
    SYMFLOW_ACTIVATION_SINH = 14,
    SYMFLOW_ACTIVATION_COSH = 15,
    SYMFLOW_ACTIVATION_TANH = 16,
    SYMFLOW_ACTIVATION_ERF = 17,
    SYMFLOW_ACTIVATION_ABS = 18,
    SYMFLOW_ACTIVATION_STEP = 19
};

enum { SYMFLOW_ACTIVATION_BLOCK = 32 /* registers that an instruction runs over */ };

/* Normal numbers that one realisation of the field needs: U, W, b_U, b_W of a layer, or coefficients by degree. */
static ptrdiff_t symflow_realisation_size(const symflow_paths *p)
{
    if (p->draw == SYMFLOW_DRAW_FEATURES) return p->features * (2 * p->d + 1) + p->d;
    if (p->draw != SYMFLOW_DRAW_HARMONICS) return 0;
    return p->d * (p->d == 2 ? 2 * p->features + 1 : (p->features + 1) * (p->features + 1));
}

#endif
