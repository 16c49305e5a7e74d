# SPDX-License-Identifier: Apache-2.0
"""The command line of `penstock plot`."""
import argparse
import sys

from penstock_plot import curves, life, scaling, timeline
from penstock_plot.records import InputError, read_all


def condition(text):
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return key, value


def add_picture(parts, name, text, draw):
    parser = parts.add_parser(name, help=text, description=text)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--output", metavar="PICTURE", default=f"{name}.png",
                        help="the picture to write: .png, .svg or .pdf (default: %(default)s)")
    parser.add_argument("--title", help="in place of the picture's own")
    parser.set_defaults(draw=draw)
    return parser


def draw_curves(options):
    curves.draw(read_all(options.files), options.benchmark, options.output, dict(options.where), options.title)


def draw_scaling(options):
    scaling.draw(read_all(options.files), options.output, options.title)


def draw_timeline(options):
    timeline.draw(options.files, options.output, options.epoch, options.title, options.queue, options.tag, options.peer)


def draw_life(options):
    life.draw(read_all(options.files), options.output, options.title)


def make_parser():
    parser = argparse.ArgumentParser(prog="penstock plot", description="Draws what penstock measures and traces.")
    parts = parser.add_subparsers(required=True, metavar="PICTURE")
    each = add_picture(parts, "curves", "curves over the size of a message, from lines of `penstock bench ... --json`", draw_curves)
    each.add_argument("--benchmark", choices=curves.BENCHMARKS, default="latency", help="(default: %(default)s)")
    each.add_argument("--where", type=condition, action="append", default=[], metavar="NAME=VALUE",
                      help="only lines that have this, such as order=preposted; may be repeated")
    add_picture(parts, "scaling", "speed-up over the number of ranks, from tables of `penstock life --json`, or of faces, jacobi or comb", draw_scaling)
    each = add_picture(parts, "timeline", "one exchange on the time axis, from files of PENSTOCK_TRACE", draw_timeline)
    each.add_argument("--epoch", type=int, help="the start of the requests that is shown, counted from 1 (default: one of median length)")
    each.add_argument("--queue", type=int, help="only this queue of each rank (default: all)")
    each.add_argument("--tag", type=int, help="only messages of this tag (default: all)")
    each.add_argument("--peer", type=int, help="only messages from or to this rank (default: all)")
    add_picture(parts, "life", "bars of the variants, from tables of `penstock life`", draw_life)
    return parser


def main(words=None):
    options = make_parser().parse_args(words)
    try:
        options.draw(options)
    except (InputError, OSError, KeyError, ValueError) as error:
        text = f"no {error} in the files" if isinstance(error, KeyError) else str(error)
        sys.exit(f"penstock plot: {text}")
    except (AttributeError, TypeError) as error:  # JSON of another shape
        sys.exit(f"penstock plot: the files hold something else than what this picture is drawn from ({error})")


if __name__ == "__main__":
    main()
