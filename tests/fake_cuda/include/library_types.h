/* Data types as NVIDIA's libraries name them: the ones that gpush uses (tests/fake_cuda). */
#ifndef FAKE_LIBRARY_TYPES_H
#define FAKE_LIBRARY_TYPES_H

typedef enum cudaDataType_t {
    CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_C_32F = 4, CUDA_C_64F = 5,
    CUDA_C_16F = 6, CUDA_R_8U = 8, CUDA_R_32I = 10, CUDA_R_16BF = 14, CUDA_R_64I = 24
} cudaDataType_t;
typedef cudaDataType_t cudaDataType;
typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;

#endif
