# SPDX-License-Identifier: Apache-2.0
"""The command line of `penstock plot`. Tables need nothing but Python: what draws is imported for pictures alone."""
import argparse
import sys

from penstock_plot import tables
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


def add_pictures(parts):
    from penstock_plot import curves, life, scaling, timeline

    each = add_picture(parts, "curves", "curves over the size of a message, from lines of `penstock bench ... --json`",
                       lambda options: curves.draw(read_all(options.files), options.benchmark, options.output, dict(options.where), options.title))
    each.add_argument("--benchmark", choices=curves.BENCHMARKS, default="latency", help="(default: %(default)s)")
    each.add_argument("--where", type=condition, action="append", default=[], metavar="NAME=VALUE",
                      help="only lines that have this, such as order=preposted; may be repeated")
    add_picture(parts, "scaling", "speed-up over the number of ranks, from tables of `penstock life --json`, or of faces, jacobi or comb",
                lambda options: scaling.draw(read_all(options.files), options.output, options.title))
    each = add_picture(parts, "timeline", "one exchange on the time axis, from files of PENSTOCK_TRACE",
                       lambda options: timeline.draw(options.files, options.output, options.epoch, options.title, options.queue, options.tag,
                                                     options.peer))
    each.add_argument("--epoch", type=int, help="the start of the requests that is shown, counted from 1 (default: one of median length)")
    each.add_argument("--queue", type=int, help="only this queue of each rank (default: all)")
    each.add_argument("--tag", type=int, help="only messages of this tag (default: all)")
    each.add_argument("--peer", type=int, help="only messages from or to this rank (default: all)")
    add_picture(parts, "life", "bars of the variants, from tables of `penstock life`",
                lambda options: life.draw(read_all(options.files), options.output, options.title))


def make_parser(pictures):
    parser = argparse.ArgumentParser(prog="penstock plot", description="Draws, or prints as tables, what penstock measures and traces.")
    parser.add_argument("--table", nargs="+", metavar="FILE",
                        help="print Markdown tables of lines of `penstock bench ... --json`, of penstock_floor, faces or comb")
    if pictures:
        add_pictures(parser.add_subparsers(metavar="PICTURE"))
    return parser


def parse(words):
    parser = make_parser(pictures="--table" not in words)
    options = parser.parse_args(words)
    if options.table:
        options.draw = lambda given: tables.print_all(read_all(given.table))
    elif "draw" not in options:
        parser.error("a PICTURE or --table is needed")
    return options


def main(words=None):
    options = parse(sys.argv[1:] if words is None else words)
    try:
        options.draw(options)
    except (InputError, OSError, KeyError, ValueError) as error:
        text = f"no {error} in the files" if isinstance(error, KeyError) else str(error)
        sys.exit(f"penstock plot: {text}")
    except (AttributeError, TypeError) as error:  # JSON of another shape
        sys.exit(f"penstock plot: the files hold something else than what this picture is drawn from ({error})")


if __name__ == "__main__":
    main()
