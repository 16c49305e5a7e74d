# SPDX-License-Identifier: Apache-2.0
"""What examples/cuda_pytorch.py uses of PyTorch, over host memory and a host stream: so its calls of Penstock and of MPI,
whose handles differ in kind, are tested where there is neither PyTorch nor a GPU."""
import ctypes
import sys

Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
float64 = ctypes.c_double
example = sys.modules["__main__"]
launched = []  # ctypes calls a function only while somebody holds it


class Tensor:
    def __init__(self, shape, value):
        self.elements = (float64 * shape[0])(*[value] * shape[0])

    def data_ptr(self):
        return ctypes.addressof(self.elements)

    def numel(self):
        return len(self.elements)

    def __eq__(self, value):
        return Answers(element == value for element in self.elements)


class Answers(list):
    def all(self):
        return all(self) and len(self) == example.size


def full(shape, value, dtype, device):
    return Tensor(shape, value)


def empty_like(tensor):
    return Tensor((tensor.numel(),), -1.0)


def add(tensor, number, out):
    def run(_):
        out.elements[:] = [element + number for element in tensor.elements]

    launched.append(Function(run))
    example.call("PST_Stream_launch", cuda.stream, launched[-1], None)


class cuda:
    stream = ctypes.c_void_p()

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def set_device(number):
        assert number == 0
        example.QUEUE_CUDA, example.rounds, example.size = 0, 100, 1000  # PST_QUEUE_HOST

    @classmethod
    def current_stream(cls):
        example.call("PST_Stream_create", ctypes.byref(cls.stream))
        cls.cuda_stream = cls.stream.value
        return cls
