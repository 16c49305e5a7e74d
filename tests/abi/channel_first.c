/* SPDX-License-Identifier: Apache-2.0 */
#include <penstock/channel.h>

int (*const a_verb)(PST_Queue, MPI_Request, MPI_Count, MPI_Count) = PST_Channel_put;
int (*const another_call)(PST_Queue) = PST_Queue_wait;
