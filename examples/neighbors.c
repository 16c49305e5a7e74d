/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks hold strips of a plane that is closed to a ring. In each step the stream exchanges the
 * strips' outer rows with the neighbours on a Cartesian communicator, then computes all rows from
 * those beside them. The host enqueues all steps at once and waits once. At the end each rank
 * compares its strip with what the whole plane becomes without any exchange.
 *
 *   mpiexec -n 2 ./neighbors_c
 */
#include <penstock/penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 16, columns = 100, steps = 200 };

/* A row of the neighbour below, those of the strip, a row of the neighbour above. */
struct strip {
  unsigned cells[rows + 2][columns];
  unsigned next[rows][columns];
};

/* Ends the job with Penstock's own explanation. MPI's default error handler would end it earlier,
 * with less text. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "neighbors_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned first_value(int row, int column) {
  return 2654435761u * (unsigned)(row * columns + column + 1);
}

/* Below and above make a difference. */
static unsigned next_value(unsigned below, unsigned above) {
  return 3 * below + above;
}

static void compute(void* argument) {
  struct strip* const strip = argument;
  int row, column;
  for (row = 0; row < rows; ++row)
    for (column = 0; column < columns; ++column)
      strip->next[row][column] =
          next_value(strip->cells[row][column], strip->cells[row + 2][column]);
  memcpy(strip->cells[1], strip->next, sizeof strip->next);
}

/* One column of the whole plane, by itself. */
static void compute_column(unsigned* cells, int count, int column) {
  unsigned* const next = malloc(sizeof *next * (size_t)count);
  int row, step;
  for (row = 0; row < count; ++row) cells[row] = first_value(row, column);
  for (step = 0; step < steps; ++step) {
    for (row = 0; row < count; ++row)
      next[row] = next_value(cells[(row + count - 1) % count], cells[(row + 1) % count]);
    memcpy(cells, next, sizeof *next * (size_t)count);
  }
  free(next);
}

static void run(struct strip* strip, MPI_Comm ring) {
  /* The block of the rank below, then that of the rank above; one row each. */
  const MPI_Count counts[2] = {columns, columns};
  const MPI_Aint outer_rows[2] = {columns, (MPI_Aint)rows * columns};
  const MPI_Aint rows_beside[2] = {0, (MPI_Aint)(rows + 1) * columns};
  PST_Stream stream;
  PST_Queue queue;
  MPI_Request halo;
  int step;

  check(PST_Stream_create(&stream));
  check(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  check(PST_Neighbor_alltoallv_init(strip->cells, counts, outer_rows, MPI_UNSIGNED, strip->cells,
                                    counts, rows_beside, MPI_UNSIGNED, ring, MPI_INFO_NULL, &halo));
  check(PST_Match(&halo, MPI_STATUS_IGNORE));

  for (step = 0; step < steps; ++step) {
    check(PST_Enqueue_run(queue, &halo)); /* the stream waits for its neighbours */
    check(PST_Stream_launch(stream, compute, strip));
  }
  check(PST_Queue_wait(queue));

  check(PST_Request_free(&halo));
  check(PST_Queue_free(&queue));
  check(PST_Stream_free(&stream));
}

int main(int argc, char** argv) {
  static struct strip strip;
  const int periodic = 1;
  int rank, size, row, column, wrong = 0;
  unsigned* whole;
  MPI_Comm ring;

  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &ring);
  MPI_Comm_rank(ring, &rank);
  for (row = 0; row < rows; ++row)
    for (column = 0; column < columns; ++column)
      strip.cells[row + 1][column] = first_value(rank * rows + row, column);
  run(&strip, ring);

  whole = malloc(sizeof *whole * (size_t)(rows * size));
  for (column = 0; column < columns; ++column) {
    compute_column(whole, rows * size, column);
    for (row = 0; row < rows; ++row)
      wrong += strip.cells[row + 1][column] != whole[rank * rows + row];
  }
  free(whole);
  printf("rank %d computed %d cells in %d steps, %d of them wrong\n", rank, rows * columns, steps,
         wrong);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
