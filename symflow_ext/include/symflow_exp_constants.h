/* Constants of symflow_exp.h, written by symflow/codegen/exponential.py and proved there. */
#ifndef SYMFLOW_EXP_CONSTANTS_H
#define SYMFLOW_EXP_CONSTANTS_H

/* Relative errors of normal results are at most, in units of 2^-53: */
/*   table_e    1.9293 */
/*   table_2    1.9185 */
/*   plain_e    2.6165 */
/*   plain_2    1.9899 */
/*   unfused_e  3.1156 */
/*   unfused_2  2.4896 */

#define SYMFLOW_EXP_HIGH 0x1.62e42fefa0000p-1 /* ln 2 = HIGH + LOW */
#define SYMFLOW_EXP_LOW 0x1.cf79abc9e3b3ap-40

static const double symflow_exp_table_e[6] = {
    0x1.0000000000003p+0, 0x1.0000000000001p-1, 0x1.555555547d378p-3, 0x1.55555554e9468p-5,
    0x1.11123cf1dba3ap-7, 0x1.6c17ed4cc4834p-10};
static const double symflow_exp_table_2[6] = {
    0x1.62e42fefa39f3p-1, 0x1.ebfbdff82c590p-3, 0x1.c6b08d6f2a289p-5, 0x1.3b2ab6fb41213p-7,
    0x1.5d897e525c216p-10, 0x1.430a1d08ec681p-13};
static const double symflow_exp_plain_e[11] = {
    0x1.0000000000000p+0, 0x1.0000000000005p-1, 0x1.5555555555557p-3, 0x1.55555555520afp-5,
    0x1.11111111100dfp-7, 0x1.6c16c17f43a58p-10, 0x1.a01a01abe62ddp-13, 0x1.a019a66a75dd4p-16,
    0x1.71de02375656cp-19, 0x1.28a2c0a7209fbp-22, 0x1.af4ddd84882fep-26};
static const double symflow_exp_plain_2[11] = {
    0x1.62e42fefa39efp-1, 0x1.ebfbdff82c598p-3, 0x1.c6b08d704a0c2p-5, 0x1.3b2ab6fba1ddap-7,
    0x1.5d87fe78a5276p-10, 0x1.430913096fd9fp-13, 0x1.ffcbfc670dcd4p-17, 0x1.62bfd47773353p-20,
    0x1.b524fae627834p-24, 0x1.e6063f7217bc6p-28, 0x1.e9d3fe3952179p-32};

/* 2^(j/16), and the same less j << 48 in its bits. */
static const double symflow_exp_powers[16] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
static const long long symflow_exp_moved[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

#endif
