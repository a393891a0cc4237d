/* The formulas of recurrent cells, for the CPU's kernels and CUDA's: as in PyTorch's documentation
 * of nn.LSTM and nn.GRU, and their derivatives. Arguments are numbers of one type. */
#ifndef GP_CELL_RULES_H
#define GP_CELL_RULES_H

#define GP_SIGMOID(v) (1 / (1 + exp(-(v))))

/* LSTM: c and h after the step; gates i f g o. */
#define GP_LSTM_C(i, f, g, c) ((f) * (c) + (i) * (g))
#define GP_LSTM_H(o, c) ((o)*tanh(c))
/* d: the gradient of h; tc: tanh(c); e: the gradient of c, then those of the gates before their
 * nonlinearity. */
#define GP_LSTM_E(dc, d, o, tc) ((dc) + (d) * (o) * (1 - (tc) * (tc)))
#define GP_LSTM_DI(e, g, i) ((e) * (g) * (i) * (1 - (i)))
#define GP_LSTM_DF(e, c, f) ((e) * (c) * (f) * (1 - (f)))
#define GP_LSTM_DG(e, i, g) ((e) * (i) * (1 - (g) * (g)))
#define GP_LSTM_DO(d, tc, o) ((d) * (tc) * (o) * (1 - (o)))

/* GRU: n, whose hn = w_hn h + b_hn is gated by r, and h after the step. */
#define GP_GRU_N(x, r, hn) tanh((x) + (r) * (hn))
#define GP_GRU_H(n, z, h) ((n) + (z) * ((h) - (n)))
/* Gradients before the nonlinearity, of n first; h: before the step. */
#define GP_GRU_DN(d, z, n) ((d) * (1 - (z)) * (1 - (n) * (n)))
#define GP_GRU_DR(dn, hn, r) ((dn) * (hn) * (r) * (1 - (r)))
#define GP_GRU_DZ(d, h, n, z) ((d) * ((h) - (n)) * (z) * (1 - (z)))

#endif
