/* All-reduce by point-to-point messages, three ways, without the sums; and one rank that sends to
   all others at once. Prints name, length and the seconds of the slowest rank, which test_smpi.py
   compares with the same algorithms in this package's simulator. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, p;

static void exchange(double *out, int nout, int dest, double *in, int nin, int source) {
  MPI_Sendrecv(out, nout, MPI_DOUBLE, dest, 0, in, nin, MPI_DOUBLE, source, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* p divides n */
static void ring(double *v, double *in, int n) {
  int m = n / p, left = (rank + p - 1) % p, right = (rank + 1) % p;
  for (int step = 0; step < 2 * (p - 1); step++)
    exchange(v, m, right, in, m, left);
}

static void binomial(double *v, double *in, int n) {
  int bit;
  for (bit = 1; bit < p; bit <<= 1) {
    if (rank & bit) {
      MPI_Send(v, n, MPI_DOUBLE, rank - bit, 0, MPI_COMM_WORLD);
      break;
    }
    if (rank + bit < p)
      MPI_Recv(in, n, MPI_DOUBLE, rank + bit, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank)
    MPI_Recv(v, n, MPI_DOUBLE, rank - bit, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  while (bit >>= 1)
    if (rank + bit < p)
      MPI_Send(v, n, MPI_DOUBLE, rank + bit, 0, MPI_COMM_WORLD);
}

static void recursive_doubling(double *v, double *in, int n) {
  for (int distance = 1; distance < p; distance <<= 1)
    exchange(v, n, rank ^ distance, in, n, rank ^ distance);
}

static void fan_out(double *v, double *in, int n) {
  if (rank == 0) {
    MPI_Request *requests = malloc(p * sizeof *requests);
    for (int dest = 1; dest < p; dest++)
      MPI_Isend(v, n, MPI_DOUBLE, dest, 0, MPI_COMM_WORLD, &requests[dest]);
    MPI_Waitall(p - 1, requests + 1, MPI_STATUSES_IGNORE);
    free(requests);
  } else
    MPI_Recv(in, n, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  void (*algorithms[])(double *, double *, int) = {ring, binomial, recursive_doubling, fan_out};
  const char *names[] = {"ring", "binomial", "recursive_doubling", "fan_out"};
  for (int a = 1; a < argc; a++) {
    int n = atoi(argv[a]);
    double *v = calloc(n, sizeof *v), *in = calloc(n, sizeof *in);
    for (int i = 0; i < 4; i++) {
      MPI_Barrier(MPI_COMM_WORLD);
      double start = MPI_Wtime();
      algorithms[i](v, in, n);
      double took = MPI_Wtime() - start, end;
      MPI_Reduce(&took, &end, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (!rank)
        printf("%s %d %.12g\n", names[i], n, end);
    }
    free(v);
    free(in);
  }
  MPI_Finalize();
  return 0;
}
