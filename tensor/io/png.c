/* Reading and writing PNG by libpng, whose long jumps end in this file. */
#include "tensor/io/png.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/card/card.h"
#include "tensor/device/card/clock.h"
#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/op.h"

/* All state that must survive a jump out of libpng is here, not in local variables of the function
 * that is jumped into. */
typedef struct picture {
    const char *op, *file;
    png_structp png;
    png_infop info;
    png_bytep pixels; /* rows of height * stride bytes, channels interleaved, 16-bit samples in host
                         order */
    png_bytep *rows;
    size_t stride;
    uint32_t width, height;
    int channels, bits; /* bits: 8 or 16 */
    int step;           /* between the sample values: 1 except for files of 1, 2 and 4 bits */
    uint64_t size;      /* bytes of the file */
    FILE *f;
    bool stopped; /* by Ctrl-C, with its message */
} picture;

/* Whether Ctrl-C has come, now or before; checked for each row. */
static bool stopped(picture *p) { return p->stopped = p->stopped || gp_file_stopped(p->op); }

static void on_error(png_structp png, png_const_charp text) {
    picture *p = png_get_error_ptr(png);
    if (!p->size && ferror(p->f)) gp_file_unwritable(p->op, p->file);
    else if (ferror(p->f)) gp_fail("%s: cannot read %s: %s", p->op, p->file, strerror(errno));
    else if (feof(p->f))
        gp_fail("%s: %s is cut off: it ends after %llu bytes, in the middle of the picture", p->op,
                p->file, (unsigned long long)p->size);
    else gp_fail("%s: %s: %s", p->op, p->file, text);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

/* Allocates the pixels, whose size libpng knows now. */
static bool make_rows(picture *p) {
    p->pixels = malloc(p->stride * p->height);
    p->rows = malloc(sizeof *p->rows * p->height);
    if (!p->pixels || !p->rows)
        return gp_fail("%s: %s: out of memory for %u x %u pixels", p->op, p->file, p->width,
                       p->height);
    for (uint32_t i = 0; i < p->height; i++) p->rows[i] = p->pixels + i * p->stride;
    return true;
}

/* Sets libpng's transforms: to 8 or 16 bits and to the channels wanted. */
static void transforms(picture *p, int channels, bool keep16) {
    png_structp png = p->png;
    int color = png_get_color_type(png, p->info), bits = png_get_bit_depth(png, p->info);
    bool alpha = color & PNG_COLOR_MASK_ALPHA || png_get_valid(png, p->info, PNG_INFO_tRNS);
    bool rgb = color & PNG_COLOR_MASK_COLOR;
    png_set_expand(png);
    if (channels >= 3 && !rgb) png_set_gray_to_rgb(png);
    if ((channels == 1 || channels == 2) && rgb) png_set_rgb_to_gray(png, 1, -1, -1);
    if (channels == 1 || channels == 3) png_set_strip_alpha(png);
    if ((channels == 2 || channels == 4) && !alpha)
        png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
    if (bits == 16 && !keep16) png_set_scale_16(png);
    if (bits == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
}

/* libpng scales gray samples of few bits to 0 … 255, in steps of this. */
static int step_of(picture *p) {
    int bits = png_get_bit_depth(p->png, p->info);
    bool gray = png_get_color_type(p->png, p->info) == PNG_COLOR_TYPE_GRAY;
    return gray && bits < 8 ? 255 / ((1 << bits) - 1) : 1;
}

/* Whether there are at most that many pixels, and a file of that size can hold them: deflate packs
 * at most 1032 : 1. */
static bool plausible(picture *p, uint64_t most) {
    uint64_t pixels = (uint64_t)p->width * p->height;
    if (pixels > most)
        return gp_fail("%s: %s has %u x %u = %llu pixels (limit %llu; option max_pixels sets it)",
                       p->op, p->file, p->width, p->height, (unsigned long long)pixels,
                       (unsigned long long)most);
    int color = png_get_color_type(p->png, p->info);
    uint64_t samples = color & PNG_COLOR_MASK_PALETTE ? 1 : png_get_channels(p->png, p->info);
    uint64_t row = ((uint64_t)p->width * samples * png_get_bit_depth(p->png, p->info) + 7) / 8;
    return row * p->height / 1032 <= p->size ||
           gp_fail("%s: %s: %u x %u pixels cannot come from a file of %llu bytes", p->op, p->file,
                   p->width, p->height, (unsigned long long)p->size);
}

/* Everything that may jump out of libpng: nothing in this function needs to be released. */
static bool read_picture(picture *p, int channels, bool keep16, uint64_t most) {
    if (setjmp(png_jmpbuf(p->png))) return false;
    png_init_io(p->png, p->f);
    png_read_info(p->png, p->info);
    p->width = png_get_image_width(p->png, p->info);
    p->height = png_get_image_height(p->png, p->info);
    if (!plausible(p, most)) return false;
    p->step = step_of(p);
    transforms(p, channels, keep16);
    int passes = png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    p->channels = png_get_channels(p->png, p->info);
    p->bits = png_get_bit_depth(p->png, p->info);
    p->stride = png_get_rowbytes(p->png, p->info);
    if (!make_rows(p)) return false;
    for (int i = 0; i < passes; i++)
        for (uint32_t y = 0; y < p->height; y++) {
            if (stopped(p)) return false;
            png_read_row(p->png, p->rows[y], NULL);
        }
    png_read_end(p->png, NULL);
    return true;
}

#define SAMPLES(type, expr)                                                                        \
    for (int c = 0; c < p->channels; c++)                                                          \
        for (uint32_t y = 0; y < p->height && !stopped(p); y++) {                                  \
            const void *row = p->rows[y];                                                          \
            type *to = (type *)t->a.data + ((size_t)c * p->height + y) * p->width;                 \
            for (uint32_t x = 0; x < p->width; x++) {                                              \
                size_t i = (size_t)x * (size_t)p->channels + (size_t)c;                            \
                int v = p->bits == 16 ? ((const uint16_t *)row)[i] : ((const uint8_t *)row)[i];    \
                to[x] = (type)(expr);                                                              \
            }                                                                                      \
        }

/* Converts interleaved rows to C x H x W. */
static gp_tensor *planes(picture *p, gp_dtype dt) {
    gp_shape shape = {.ndim = 3, .dim = {p->channels, p->height, p->width}};
    gp_tensor *t = gp_tensor_new_host(dt, &shape);
    if (!t) return NULL;
    float most = p->bits == 16 ? 65535 : 255;
    if (dt == GP_f32) SAMPLES(float, (float)v / most)
    else if (dt == GP_i32) SAMPLES(int32_t, v / p->step)
    else SAMPLES(uint8_t, v)
    return p->stopped ? gp_tensor_unref(t), NULL : t;
}

gp_tensor *gp_png_load(const char *file, int channels, gp_dtype dt, uint64_t most) {
    picture p = {.op = "image.load", .file = file};
    if (channels < 0 || channels > 4)
        return gp_fail_null("image.load: channels = %d (expected 1 to 4)", channels);
    if (dt != GP_u8 && dt != GP_f32 && dt != GP_i32)
        return gp_fail_null("image.load: dtype %s (expected u8, f32 or i32)", gp_dtype_name(dt));
    p.f = gp_file_begin(p.op, file, "\x89PNG\r\n\x1a\n", "a PNG picture", &p.size);
    if (!p.f) return NULL;
    gp_tensor *t = NULL;
    p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    if (!p.info) gp_fail("image.load: out of memory");
    else if (read_picture(&p, channels, dt != GP_u8, most)) t = planes(&p, dt);
    if (t) gp_clock_work(gp_host_rate(GP_HOST_samples, (double)t->a.numel));
    png_destroy_read_struct(&p.png, &p.info, NULL);
    free(p.pixels);
    free(p.rows);
    fclose(p.f);
    return t;
}

/* The sample at p as an integer in 0 … most. */
static unsigned sample(gp_dtype dt, const void *p, unsigned most) {
    gp_scalar s = gp_scalar_load(dt, p);
    if (!s.is_float) return dt == GP_bool ? (s.i ? most : 0) : (unsigned)s.i;
    if (!(s.f > 0)) return 0;
    return s.f >= 1 ? most : (unsigned)rint(s.f * most);
}

/* Converts C x H x W (contiguous) to interleaved rows, big endian as in the file. */
static void interleave(picture *p, const gp_tensor *t) {
    gp_dtype dt = (gp_dtype)t->a.dtype;
    size_t size = gp_dtype_size(dt), C = (size_t)p->channels;
    unsigned most = p->bits == 16 ? 65535 : 255;
    const char *from = t->a.data;
    for (size_t c = 0; c < C; c++)
        for (uint32_t y = 0; y < p->height && !stopped(p); y++)
            for (uint32_t x = 0; x < p->width; x++, from += size) {
                unsigned v = sample(dt, from, most);
                png_bytep to = p->rows[y] + (x * C + c) * (size_t)(p->bits / 8);
                if (p->bits == 16) to[0] = (png_byte)(v >> 8), to[1] = (png_byte)v;
                else to[0] = (png_byte)v;
            }
}

/* As read_picture: the caller releases what must be. */
static bool write_picture(picture *p) {
    static const int colors[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(p->png))) return false;
    png_init_io(p->png, p->f);
    png_set_IHDR(p->png, p->info, p->width, p->height, p->bits, colors[p->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(p->png, p->info);
    for (uint32_t y = 0; y < p->height; y++) {
        if (stopped(p)) return false;
        png_write_row(p->png, p->rows[y]);
    }
    png_write_end(p->png, p->info);
    return true;
}

/* Takes the picture's size and depth from x; false with a message when x is not a picture. */
static bool describe(picture *p, const gp_tensor *x, int bits) {
    const gp_array *a = &x->a;
    char text[200];
    int64_t channels = a->ndim == 3 ? a->dim[0] : 1;
    bool real = gp_is_float((gp_dtype)a->dtype);
    if ((a->ndim != 2 && a->ndim != 3) || channels < 1 || channels > 4 || a->numel == 0)
        return gp_fail(
            "image.save: got %s (expected height x width, or 1 to 4 channels x height x width)",
            gp_tensor_text(x, text, sizeof text));
    if (!real && a->dtype != GP_u8 && a->dtype != GP_bool)
        return gp_fail(
            "image.save: dtype %s (expected u8 with 0 to 255, floats with 0 to 1, or bool)",
            gp_dtype_name((gp_dtype)a->dtype));
    if (bits != 8 && (bits != 16 || !real))
        return gp_fail("image.save: bits = %d with dtype %s (expected 8, or 16 with floats)", bits,
                       gp_dtype_name((gp_dtype)a->dtype));
    int64_t height = a->dim[a->ndim - 2], width = a->dim[a->ndim - 1];
    if (height > 1000000 || width > 1000000)
        return gp_fail("image.save: %lld x %lld pixels (libpng takes up to 1000000 either way)",
                       (long long)width, (long long)height);
    p->width = (uint32_t)width;
    p->height = (uint32_t)height;
    p->channels = (int)channels;
    p->bits = bits;
    p->stride = (size_t)width * (size_t)channels * (size_t)(bits / 8);
    return true;
}

/* Writes a temporary, which is renamed to the file when it is complete. */
static bool save_rows(picture *p) {
    gp_outfile o;
    if (!gp_outfile_begin(&o, p->op, p->file)) return false;
    p->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, p, on_error, on_warning);
    p->info = p->png ? png_create_info_struct(p->png) : NULL;
    p->f = o.f;
    bool ok = p->info ? write_picture(p) : gp_fail("image.save: out of memory");
    png_destroy_write_struct(&p->png, &p->info);
    if (ok) return gp_outfile_commit(&o, false);
    gp_outfile_cancel(&o);
    return false;
}

bool gp_png_save(const char *file, gp_tensor *x, int bits) {
    picture p = {.op = "image.save", .file = file};
    if (!describe(&p, x, bits)) return false;
    gp_tensor *t = gp_to_host(x, GP_WHY_copy, "image.save");
    bool ok = t && make_rows(&p);
    if (ok) {
        interleave(&p, t);
        ok = !p.stopped && save_rows(&p);
    }
    gp_tensor_unref(t);
    free(p.pixels);
    free(p.rows);
    return ok;
}
