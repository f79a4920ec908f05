/* Products inside a tile in registers: a copy per instruction set; the machine picks one at run time.
 *
 * They are part of the runtime and not of each kernel, since compilers take a second to unroll them.
 */
#ifndef SYMFLOW_TILE_PRODUCTS_H
#define SYMFLOW_TILE_PRODUCTS_H

#include "symflow_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define SYMFLOW_ISA 512
#include "symflow_isa.h"
#include "symflow_tile_products_body.h"
#include "symflow_isa_end.h"
#define SYMFLOW_ISA 256
#include "symflow_isa.h"
#include "symflow_tile_products_body.h"
#include "symflow_isa_end.h"
#endif
#define SYMFLOW_ISA 128
#include "symflow_isa.h"
#include "symflow_tile_products_body.h"
#include "symflow_isa_end.h"

/* Return the copy for registers of at most `lanes` doubles, and no wider than the machine's. */
static symflow_tile_products symflow_tile_products_of(int lanes)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (lanes >= 8 && __builtin_cpu_supports("avx512f"))
        return (symflow_tile_products){symflow_tile_pairings_512, symflow_tile_sums_512};
    if (lanes >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (symflow_tile_products){symflow_tile_pairings_256, symflow_tile_sums_256};
#endif
    return (symflow_tile_products){symflow_tile_pairings_128, symflow_tile_sums_128};
}

#endif
