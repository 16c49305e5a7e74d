#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that check_layering finds what it is there for: each violation is planted alone in a small tree."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import check_layering  # noqa: E402

CLEAN = {
    "include/penstock/penstock.h": "#include <mpi.h>\n",
    "include/penstock/cuda.hpp": "#include <cuda_runtime_api.h>\n",
    "include/penstock/device.cuh": "#include <cuda_runtime.h>\n",
    "src/base/error.hpp": "#include <string>\n",
    "src/base/error.cpp": '#include "base/error.hpp"\n#include <fmt/format.h>\n',
    "src/protocol/ring.hpp": '#include "base/error.hpp"\n',
    "src/device/host/stream.cpp": '#include "protocol/ring.hpp"\n',
    "src/group/world.hpp": "#include <mpi.h>\n#include <hwloc.h>\n",
    "src/transport/plan.hpp": '#include "group/world.hpp"\n',
    "src/proxy/proxy.cpp": '#include <mpi.h>\n#include "transport/plan.hpp"\n',
    "src/gpu/launch.hpp": "#include <gpu_runtime.hpp>\n",
    "src/peer/peer.hpp": "",
    "src/peer_gpu/kernels.cu": '#include <cuda_runtime.h>\n#include "gpu/launch.hpp"\n#include "peer/peer.hpp"\n',
    "src/relay/gpu/kernels.cu": "#include <cuda_runtime.h>\n",
    "src/core/queue.hpp": '#include "transport/plan.hpp"\n',
    "src/rma/window.hpp": '#include "core/queue.hpp"\n',
    "src/channel/channel.hpp": '#include "core/queue.hpp"\n',
    "src/api/queue.cpp": '#include <penstock/penstock.h>\n#include "core/queue.hpp"\n#include "rma/window.hpp"\n',
    "halo/messages.cpp": '#include <penstock/halo.hpp>\n#include "mover.hpp"\n',
    "halo/mover.hpp": "",
    "halo/cuda/mover.cpp": '#include "../mover.hpp"\n#include <gpu_runtime.hpp>\n',
    "bench/latency.cpp": '#include <penstock/penstock.h>\n#include "table.hpp"\n',
    "bench/table.hpp": "",
    "tests/unit/core/queue_test.cpp": '#include "core/queue.hpp"\n',
}

# (file, its text, a part of the message)
PLANTED = [
    ("halo/bad.cpp", '#include "core/queue.hpp"', "halo uses the public API only"),
    ("halo/bad.cpp", "#include <gpu_runtime.hpp>", "only in halo/cuda"),
    ("src/api/bad.cpp", "#include <penstock/halo.hpp>", "the halo library may be included only in"),
    ("src/base/bad.hpp", '#include "core/queue.hpp"', "base must not include core"),
    ("src/device/bad.hpp", '#include "group/world.hpp"', "device must not include group"),
    ("src/core/bad.cpp", '# include  "api/generated.hpp"', "core must not include api"),
    ("src/rma/bad.hpp", '#include "channel/channel.hpp"', "rma must not include channel"),
    ("src/coll/bad.hpp", '#include "rma/window.hpp"', "coll must not include rma"),
    ("src/api/bad.hpp", '#include "../core/queue.hpp"', "write includes from src/"),
    ("src/core/bad.cpp", "#include <mpi.h>", "mpi.h may be included only in"),
    ("src/peer/bad.cpp", "#include <mpi.h>", "mpi.h may be included only in"),
    ("src/core/bad.cpp", "#include <penstock/penstock.h>", "mpi.h may be included only in"),
    ("src/core/bad.cpp", "#include <cuda_runtime.h>", "GPU vendor headers"),
    ("src/device/host/bad.cpp", "#include <hip/hip_runtime.h>", "GPU vendor headers"),
    ("src/peer/bad.cpp", "#include <rdma/fabric.h>", "libfabric headers"),
    ("src/core/bad.cpp", "#include <hwloc.h>", "hwloc may be included only in"),
    ("src/proxy/bad.cpp", '#include "peer/peer.hpp"', "proxy must not include"),
    ("src/relay/bad.hpp", '#include "peer/peer.hpp"', "relay must not include"),
    ("src/peer_gpu/bad.hpp", '#include "ofi/engine.hpp"', "peer_gpu must not include"),
    ("src/peer/bad.hpp", '#include "peer_gpu/kernels.hpp"', "peer must not include"),
    ("src/proxy/bad.hpp", '#include "gpu/launch.hpp"', "proxy must not include"),
    ("src/relay/bad.cpp", "#include <gpu_runtime.hpp>", "GPU vendor headers"),
    ("src/transport/bad.hpp", '#include "plan/host_plan.hpp"', "transport must not include"),
    ("src/core/bad.hpp", "#include <fmt/format.h>", "belong in .cpp files"),
    ("src/base/bad.cpp", "#include <nlohmann/json.hpp>", "base uses the standard library"),
    ("src/protocol/bad.cpp", "", "protocol is header-only"),
    ("src/helpers/bad.cpp", "", "helpers is not a room"),
    ("bench/bad.cpp", '#include "core/queue.hpp"', "bench uses the public API only"),
    ("tests/conformance/bad.cpp", '#include "../../src/base/error.hpp"', "tests/conformance uses the public API only"),
    ("include/penstock/bad.h", "#include <cuda.h>", "vendor headers stay out"),
    ("include/penstock/penstock.hpp", "#include <cuda_runtime_api.h>", "vendor headers stay out"),
    ("include/penstock/bad.h", '#include "base/error.hpp"', "public headers do not include src/"),
]


def plant(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Planted(unittest.TestCase):
    def violations(self, extra):
        with tempfile.TemporaryDirectory() as folder:
            plant(Path(folder), CLEAN | extra)
            return check_layering.check(Path(folder))

    def test_clean_tree_passes(self):
        self.assertEqual(self.violations({}), [])

    def test_each_violation_is_found(self):
        for name, text, message in PLANTED:
            with self.subTest(file=name, text=text):
                found = self.violations({name: text + "\n"})
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(name), found)
                self.assertIn(message, found[0])


if __name__ == "__main__":
    unittest.main()
