/* Prints what a message between two ranks takes: the seconds of an empty one, and the bytes of a second of long ones.
 * Run by scaling.py in two processes of mpirun. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG_BYTES = 1 << 20, TIMES = 10, ROUNDS = 100 };

/* Returns the least seconds of one way, of several rounds. */
static double one_way(char *bytes, int count, int rank) {
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int i = 0; i < TIMES; i++) {
            if (rank == 0)
                MPI_Send(bytes, count, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, count, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(bytes, count, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        const double seconds = (MPI_Wtime() - begin) / TIMES / 2;
        least = seconds < least ? seconds : least;
    }
    return least;
}

int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = calloc(LONG_BYTES, 1);
    const double empty = one_way(bytes, 1, rank), full = one_way(bytes, LONG_BYTES, rank);
    if (rank == 0)
        printf("%.9f %.0f\n", empty, LONG_BYTES / (full - empty));
    free(bytes);
    MPI_Finalize();
    return 0;
}
