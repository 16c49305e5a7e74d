/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of Penstock: linked with MPI only, run with libpenstock preloaded.
 * Its messages, statuses and errors must be those of MPI. With the argument "recorded" it then
 * looks the library up at run time and matches a request that it has made with MPI_Send_init, which
 * shows that the preloaded library has recorded it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "[rank %d] wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void ring(MPI_Comm comm) {
  int out = 0, in = -1, me, all, round;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  MPI_Send_init(&out, 1, MPI_INT, (me + 1) % all, 3, comm, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]);
  for (round = 0; round < 100; ++round) {
    out = 1000 * round + me;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    check(in == 1000 * round + (me + all - 1) % all, "the received value");
    check(statuses[1].MPI_SOURCE == (me + all - 1) % all && statuses[1].MPI_TAG == 3, "the status");
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  check(requests[0] == MPI_REQUEST_NULL, "the freed request");
}

static int attributes_copied = 0;
static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  ++attributes_copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void communicators(void) {
  MPI_Comm dup, half, idup;
  MPI_Request request;
  int keyval;
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  check(attributes_copied == 1, "the copies of the program's attribute");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_split(dup, rank % 2, 0, &half);
  MPI_Comm_idup(half, &idup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ring(dup);
  ring(half);
  ring(idup);
  MPI_Comm_free(&idup);
  MPI_Comm_free(&half);
  MPI_Comm_free(&dup);
}

static void errors(void) {
  int value = 0, error_class = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Send_init(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request),
                  &error_class);
  check(error_class == MPI_ERR_RANK, "the error class of an invalid rank");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void recorded(void) {
  int (*match)(int, MPI_Request*, MPI_Status*);
  int (*is_matched)(MPI_Request, int*);
  int value = 5, flag = 0;
  MPI_Request requests[2];
  *(void**)&match = dlsym(RTLD_DEFAULT, "PST_Matchall");
  *(void**)&is_matched = dlsym(RTLD_DEFAULT, "PST_Is_matched");
  check(match != NULL && is_matched != NULL, "libpenstock is not loaded");
  MPI_Send_init(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&value, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
  check(match(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "PST_Matchall");
  check(is_matched(requests[0], &flag) == MPI_SUCCESS && flag, "PST_Is_matched");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  check(provided == MPI_THREAD_FUNNELED, "the thread level, which must not be raised");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ring(MPI_COMM_WORLD);
  communicators();
  errors();
  if (argc > 1 && strcmp(argv[1], "recorded") == 0) recorded();
  MPI_Finalize();
  if (rank == 0) printf("plain program: passed\n");
  return EXIT_SUCCESS;
}
