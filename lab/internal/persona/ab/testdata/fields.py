"""The figures of a report of ab, as people's scripts take them from it: a regular expression each."""
import json
import re
import sys

text = sys.stdin.read()
found = {}
for name, expression in {
    "seconds": r"Time taken for tests:\s+([\d.]+) seconds",
    "complete": r"Complete requests:\s+(\d+)",
    "failed": r"Failed requests:\s+(\d+)",
    "rate": r"Requests per second:\s+([\d.]+) \[#/sec\] \(mean\)",
    "each": r"Time per request:\s+([\d.]+) \[ms\] \(mean\)",
    "every": r"Time per request:\s+([\d.]+) \[ms\] \(mean, across all concurrent requests\)",
    "kbytes": r"Transfer rate:\s+([\d.]+) \[Kbytes/sec\] received",
    "p50": r"\s+50%\s+(\d+)",
    "p99": r"\s+99%\s+(\d+)",
    "longest": r"\s+100%\s+(\d+) \(longest request\)",
}.items():
    matches = re.findall(expression, text)
    if len(matches) != 1:
        sys.exit(f"{name}: found {len(matches)} times")
    found[name] = float(matches[0])
for row in ("Connect", "Processing", "Waiting", "Total"):
    cells = re.search(rf"^{row}:\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)$", text, re.M)
    found[row.lower()] = [float(x) for x in cells.groups()]
print(json.dumps(found))
