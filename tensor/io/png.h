/* PNG pictures as tensors: channels x height x width, as PyTorch's vision models take them. */
#ifndef GP_IO_PNG_H
#define GP_IO_PNG_H

#include "tensor/tensor.h"

enum { GP_PNG_PIXELS = 1 << 28 }; /* default limit: 16384 x 16384 */

/* Reads any PNG (1 to 16 bits, gray, alpha, RGB, palette, interlaced) into a C x H x W tensor on
 * the cpu. channels: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA, or 0 for what the file has (palettes
 * are looked up). dt u8: 0 to 255, files of fewer bits scaled up, of 16 rounded. f32: 0 to 1, all
 * bits kept. i32: as stored, to 1, 3, 15, 255 or 65535 for 1 to 16 bits (a palette's colours have
 * 8), alpha too. NULL with a message; more than `most` pixels, and sizes that the file cannot hold,
 * are refused before memory is allocated. */
gp_tensor *gp_png_load(const char *file, int channels, gp_dtype dt, uint64_t most);

/* Writes x (on the cpu, H x W or C x H x W with 1 to 4 channels) through a temporary. u8: as it is;
 * bool: black and white; floats: 0 to 1, other values are clamped, NaN is 0. bits: 8, or 16 for
 * floats. */
bool gp_png_save(const char *file, gp_tensor *x, int bits);

#endif
