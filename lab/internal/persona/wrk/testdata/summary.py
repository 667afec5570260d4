"""Read a run of wrk as scripts of its users do, into numbers of base units."""
import json
import re
import sys

TIME = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
SIZE = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
text = sys.stdin.read()


def seconds(value):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", value).groups()
    return round(float(number) * TIME[unit], 9)


def size(value):
    number, unit = re.fullmatch(r"([\d.]+)([KMG]?)B", value).groups()
    return float(number) * SIZE[unit]


lines = text.splitlines()
row = re.search(r"Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)%", text).groups()
by_place = lines[3].split()  # some count lines instead
rate = lines[4].split()
total = re.search(r"(\d+) requests in (\S+), (\S+) read", text).groups()
errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
print(json.dumps({
    "duration": re.search(r"Running (\S+) test @", text).group(1),
    "latency": [seconds(v) for v in row[:3]] + [float(row[3])],
    "place": [by_place[0], seconds(by_place[1]), rate[0]],
    "percentiles": {p: seconds(v) for p, v in re.findall(r"^\s+(\d+)%\s+(\S+)\s*$", text, re.M)},
    "requests": int(total[0]), "time": seconds(total[1]), "read": size(total[2]),
    "errors": [int(n) for n in errors.groups()] if errors else None,
    "failed": int(failed.group(1)) if failed else None,
    "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
    "transfer": size(re.search(r"Transfer/sec:\s+(\S+)", text).group(1)),
}, sort_keys=True))
