# SPDX-License-Identifier: Apache-2.0
# Spack's recipe. Spack has not been run on it: tests/packaging reads it beside the CMake files. No archive is published, so
# that it is for sources that are there: spack dev-build penstock@0.1.0
from spack.package import *


class Penstock(CMakePackage, CudaPackage, ROCmPackage):
    """Stream-triggered message passing for MPI programs: matched persistent requests, one-sided epochs, channels and
    collectives that are started and waited for on host streams and streams of GPUs, without the CPU."""

    license("Apache-2.0")

    version("0.1.0")

    variant("ofi", default=True, description="The transport over libfabric")
    variant("tools", default=True, description="The penstock command")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("hwloc@2:")
    depends_on("fmt")
    depends_on("spdlog")
    depends_on("nlohmann-json")
    depends_on("libfabric@1.15:", when="+ofi")
    depends_on("cli11", when="+tools")
    depends_on("libpng", when="+tools")
    depends_on("cuda@12.8:", when="+cuda")

    conflicts("+cuda", when="+rocm", msg="a library serves the GPUs of one vendor: choose one of the two")
    conflicts("%gcc@:11", msg="C++20 needs GCC 12 or later")
    conflicts("%clang@:15", msg="C++20 needs Clang 16 or later")

    sanity_check_is_file = ["include/penstock/penstock.h", "include/penstock/penstock.hpp"]

    def cmake_args(self):
        arguments = [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("PENSTOCK_OFI", "ON" if self.spec.satisfies("+ofi") else "OFF"),
            self.define_from_variant("PENSTOCK_BUILD_TOOLS", "tools"),
            self.define_from_variant("PENSTOCK_CUDA", "cuda"),
            self.define_from_variant("PENSTOCK_HIP", "rocm"),
            self.define("PENSTOCK_BUILD_TESTS", self.run_tests),
            self.define("PENSTOCK_BUILD_EXAMPLES", False),
        ]
        if self.spec.satisfies("+cuda"):
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        if self.spec.satisfies("+rocm"):
            arguments.append(self.define("PENSTOCK_HIP_ARCHITECTURES", self.spec.variants["amdgpu_target"].value))
        return arguments

    def test_info(self):
        """The command tells what it has found"""
        if self.spec.satisfies("~tools"):
            raise SkipTest("the command is not built: +tools")
        which(join_path(self.prefix.bin, "penstock"))("info")

    def test_ping_pong(self):
        """Two ranks send to each other, every byte verified"""
        if self.spec.satisfies("~tools"):
            raise SkipTest("the command is not built: +tools")
        which(join_path(self.spec["mpi"].prefix.bin, "mpiexec"))(
            "-n",
            "2",
            join_path(self.prefix.bin, "penstock"),
            "bench",
            "latency",
            "--check",
            "--sizes",
            "8",
            "--rounds",
            "1",
        )
