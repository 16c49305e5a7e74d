# SPDX-License-Identifier: Apache-2.0
"""Medians, quartiles, and confidence intervals by resampling the rounds."""
import numpy

RESAMPLES = 2000
SEED = 20240601  # pictures of the same figures are the same


def pooled(figures):
    """One figure of several runs: quartiles of all rounds, or medians of quartiles where the rounds are not given."""
    samples = [sample for figure in figures for sample in figure.get("samples", [])]
    if samples and all("samples" in figure for figure in figures):
        low, median, high = numpy.percentile(samples, [25, 50, 75])
        return {"median": float(median), "low": float(low), "high": float(high), "samples": samples}
    return {key: float(numpy.median([figure[key] for figure in figures])) for key in ("median", "low", "high")}


def ratio_interval(above, below, part=0.95):
    """Ratio of the medians of two sets of rounds, and the interval that holds it in `part` of the resamples."""
    generator = numpy.random.default_rng(SEED)

    def medians(samples):
        rounds = numpy.asarray(samples, dtype=float)
        return numpy.median(generator.choice(rounds, size=(RESAMPLES, rounds.size)), axis=1)

    ratios = medians(above) / medians(below)
    low, high = numpy.percentile(ratios, [50 * (1 - part), 50 * (1 + part)])
    return float(numpy.median(above) / numpy.median(below)), float(low), float(high)
