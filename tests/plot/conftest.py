# SPDX-License-Identifier: Apache-2.0
import pytest
from penstock_plot import style

style.DOTS = 20  # an inch: nobody looks at these


@pytest.fixture
def picture(tmp_path):
    """A file, and that it became a picture."""
    path = tmp_path / "picture.png"
    yield path
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
