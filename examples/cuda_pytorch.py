#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch tensors travel between two GPUs in the order of PyTorch's own stream, through ctypes.

    mpiexec -n 2 python3 cuda_pytorch.py [libpenstock.so]

mpi4py is not needed: libpenstock brings its MPI with it, and this program calls both through one
library. MPI's handles are of two kinds, numbers in MPICH and its family, addresses in Open MPI;
`handles` below has what is used here of both. Tensors must be contiguous and stay where they are.
"""
import ctypes
import sys

try:
    import torch
except ImportError:
    torch = None

QUEUE_CUDA = 1  # PST_QUEUE_CUDA
rounds, size = 1000, 100000


def handles(lib):
    """The type of a handle, MPI_COMM_WORLD, MPI_DOUBLE and MPI_STATUSES_IGNORE of this MPI."""
    if hasattr(lib, "ompi_mpi_comm_world"):
        names = ("ompi_mpi_comm_world", "ompi_mpi_double")
        objects = (ctypes.c_char.in_dll(lib, name) for name in names)
        return ctypes.c_void_p, *(ctypes.c_void_p(ctypes.addressof(each)) for each in objects), None
    number = ctypes.c_int
    return number, number(0x44000000), number(0x4C00080B), ctypes.c_void_p(1)


lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libpenstock.so.0", ctypes.RTLD_GLOBAL)
Handle, comm_world, double, statuses_ignore = handles(lib)


def call(name, *arguments):
    """Calls a function of Penstock or MPI, which all return an error code."""
    if getattr(lib, name)(*arguments) != 0:
        text = ctypes.create_string_buffer(1024)
        lib.PST_Last_error(text, 1024)
        sys.exit(f"{name}: {text.value.decode()}")


def message(name, tensor, peer, requests, index):
    """Makes a persistent request, MPI_Send_init or MPI_Recv_init, for the tensor's memory."""
    place = ctypes.byref(requests, index * ctypes.sizeof(Handle))
    address = ctypes.c_void_p(tensor.data_ptr())
    call(name, address, tensor.numel(), double, peer, 0, comm_world, place)


def exchange_and_mix(rank):
    mine = torch.full((size,), float(rank), dtype=torch.float64, device="cuda")
    theirs = torch.empty_like(mine)
    requests = (Handle * 2)()
    message("MPI_Send_init", mine, 1 - rank, requests, 0)
    message("MPI_Recv_init", theirs, 1 - rank, requests, 1)
    call("PST_Matchall", 2, requests, statuses_ignore)

    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    queue = ctypes.c_void_p()
    call("PST_Queue_init", ctypes.byref(queue), QUEUE_CUDA, ctypes.byref(stream))
    for _ in range(rounds):
        call("PST_Enqueue_runall", queue, 2, requests)
        torch.add(theirs, 1.0, out=mine)  # in the same memory, on the same stream
    call("PST_Queue_wait", queue)
    call("PST_Queue_free", ctypes.byref(queue))
    for i in range(2):
        call("MPI_Request_free", ctypes.byref(requests, i * ctypes.sizeof(Handle)))
    return mine


def main():
    if torch is None or not torch.cuda.is_available():
        print("no PyTorch, or no GPU for it, here")
        return 77  # ctest counts it as skipped
    call("MPI_Init", None, None)
    rank = ctypes.c_int()
    call("MPI_Comm_rank", comm_world, ctypes.byref(rank))
    torch.cuda.set_device(rank.value % torch.cuda.device_count())
    # Each round a rank takes the other's numbers plus 1; after an even number of rounds its own.
    right = bool((exchange_and_mix(rank.value) == rank.value + rounds).all())
    print(f"rank {rank.value}: {'right' if right else 'WRONG'}", flush=True)
    call("MPI_Finalize")
    return 0 if right else 1


sys.exit(main())
