# SPDX-License-Identifier: Apache-2.0
"""One look for all pictures. Colours are those of Okabe and Ito, which colour-blind readers can tell apart; markers differ, too."""
import math

import matplotlib

matplotlib.use("Agg")  # draws to files, needs no display
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
GREY = "#6b6b6b"
DOTS = 110  # an inch

plt.rcParams.update({
    "font.size": 10, "axes.titlesize": 10.5, "axes.labelsize": 10, "legend.fontsize": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left",
    "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.7, "axes.axisbelow": True,
    "legend.frameon": False, "lines.linewidth": 1.6, "lines.markersize": 4.5, "svg.hashsalt": "penstock",
})


def bytes_text(count):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:g} B"


def label_bytes(axes, values):
    """The sizes themselves on a logarithmic axis, or powers of two where they are too many to be read."""
    values = sorted(set(values))
    shown = values
    if len(values) > 6:
        first, last = math.ceil(math.log2(values[0])), math.floor(math.log2(values[-1]))
        step = max(1, -(-(last - first) // 6))
        shown = [1 << power for power in range(first, last + 1, step)]
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [bytes_text(value) for value in shown], fontsize=9)
    axes.minorticks_off()


def plain_numbers(axis):
    """10 and 0.5 in place of powers of ten, where they are short."""
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}" if value < 1e6 else f"{value:.0e}"))


def save(figure, path):
    figure.savefig(path, dpi=DOTS, bbox_inches="tight", metadata={"Software": None} if str(path).endswith(".png") else None)
    plt.close(figure)
