"""Reads a histogram log with HdrHistogram for Python, and prints what it says, as JSON:
for each tag the intervals, the count of each value, and some quantiles."""

import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

QUANTILES = (50, 90, 99, 99.9, 100)

reference = HdrHistogram(1, 3_600_000_000_000, 3)
reader = HistogramLogReader(sys.argv[1], reference)
tags = {}
while (interval := reader.get_next_interval_histogram()) is not None:
    of = tags.setdefault(interval.get_tag(), {"intervals": 0, "sum": HdrHistogram(1, 3_600_000_000_000, 3)})
    of["intervals"] += 1
    of["sum"].add(interval)

print(json.dumps({
    tag: {
        "intervals": of["intervals"],
        "counts": [
            [i.value_iterated_to, i.count_at_value_iterated_to] for i in of["sum"].get_recorded_iterator()
        ],
        "quantiles": [of["sum"].get_value_at_percentile(q) for q in QUANTILES],
    }
    for tag, of in tags.items()
}))
