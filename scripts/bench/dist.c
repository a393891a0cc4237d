/* The plain loop of MPI that dist.lua's collectives are measured against: prints what rank 0 took,
 * in seconds, per call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALL = 2, TIMES = 200, BATCHES = 21, LARGE = 25000000, REPEATS = 5 };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `batches` batches of calls. */
static double measure(const float *from, float *to, int n, int batches, int times) {
    double took[BATCHES];
    for (int b = -1; b < batches; b++) { /* the first is not counted */
        MPI_Barrier(MPI_COMM_WORLD);
        double t0 = MPI_Wtime();
        for (int i = 0; i < times; i++)
            MPI_Allreduce(from, to, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (b >= 0) took[b] = (MPI_Wtime() - t0) / times;
    }
    qsort(took, (size_t)batches, sizeof *took, compare);
    return took[batches / 2];
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    float *from = malloc(LARGE * sizeof *from), *to = malloc(LARGE * sizeof *to);
    if (!from || !to) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < LARGE; i++) from[i] = to[i] = 0;
    double small = measure(from, to, SMALL, BATCHES, TIMES);
    double large = measure(from, to, LARGE, REPEATS, 1);
    if (rank == 0) printf("small\t%.9f\nlarge\t%.9f\n", small, large);
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
