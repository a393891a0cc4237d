/* Recognises the kind of a file by its first bytes, for readers that were given another kind. */
#include <ctype.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"

#define NO_PICTURE "convert it to PNG, which image.load reads"
#define PACKED "unpack it first"

static const struct {
    const char *start; /* of that many bytes */
    size_t bytes;
    const char *kind;
} kinds[] = {
    {"\x89PNG\r\n\x1a\n", 8, "a PNG picture: image.load reads it"},
    {"\x93NUMPY", 6, "an npy file: npy.load reads it"},
    {"PK\3\4", 4,
     "a zip archive: npz.load reads NumPy's; PyTorch's (.pt) holds code and is not "
     "read: " GP_CONVERT_PT},
    {"PK\5\6", 4, "a zip archive with nothing in it"},
    {"\xff\xd8\xff", 3, "a JPEG picture: " NO_PICTURE},
    {"GIF8", 4, "a GIF picture: " NO_PICTURE},
    {"RIFF", 4, "a RIFF file, such as WebP and WAV: it is not read"},
    {"II*\0", 4, "a TIFF picture: " NO_PICTURE},
    {"MM\0*", 4, "a TIFF picture: " NO_PICTURE},
    {"\x1f\x8b", 2, "packed by gzip: " PACKED},
    {"BZh", 3, "packed by bzip2: " PACKED},
    {"\xfd"
     "7zXZ",
     5, "packed by xz: " PACKED},
    {"\x28\xb5\x2f\xfd", 4, "packed by zstd: " PACKED},
    {"\x89HDF\r\n", 6, "an HDF5 file: save its data sets by numpy.savez, which npz.load reads"},
    {"MATLAB 5", 8, "a MATLAB file: save its arrays by numpy.savez, which npz.load reads"},
    {"%PDF", 4, "a PDF document"},
    {"\x7f"
     "ELF",
     4, "a program"},
};

/* Protocols 2 to 5. */
static bool is_pickle(const unsigned char *p, size_t n) {
    return n >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5;
}

/* The length of a header, and its opening brace. */
static bool is_safetensors(const unsigned char *p, size_t n) {
    uint64_t length = 0;
    for (size_t i = 0; n > 8 && i < 8; i++) length |= (uint64_t)p[i] << 8 * i;
    return n > 8 && p[8] == '{' && length <= GP_SAFETENSORS_HEADER;
}

const char *gp_file_kind(const void *start, size_t n) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n >= kinds[i].bytes && !memcmp(start, kinds[i].start, kinds[i].bytes))
            return kinds[i].kind;
    if (is_pickle(start, n))
        return "a Python pickle, which holds code and is not read: " GP_CONVERT_PT;
    return is_safetensors(start, n) ? "a safetensors file: safetensors.load reads it" : NULL;
}

bool gp_file_other(const char *op, const char *file, const void *start, size_t n,
                   const char *expected) {
    const char *kind = gp_file_kind(start, n);
    const unsigned char *p = start;
    size_t text = 0;
    if (kind) return gp_fail("%s: %s is %s", op, file, kind);
    if (n == 0) return gp_fail("%s: %s is empty (expected %s)", op, file, expected);
    while (text < n && (isprint(p[text]) || isspace(p[text]))) text++;
    if (text == n)
        return gp_fail("%s: %s is text, '%.*s%s' (expected %s)", op, file,
                       (int)strcspn(start, "\r\n\t\v\f"), (const char *)start,
                       n < GP_FILE_START ? "" : "…", expected);
    return gp_fail("%s: %s is not %s: it begins with the bytes %02x %02x %02x %02x", op, file,
                   expected, p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0);
}
