-- A script for wrk: asks for /0, /1 and so on in turns. Its argument, after "--", is how many
-- there are. At the end it prints one line for a program to read, times in microseconds.

local all, next_one = {}, 1

function init(args)
  for i = 1, tonumber(args[1]) do
    all[i] = wrk.format("GET", "/" .. (i - 1))
  end
end

function request()
  local one = all[next_one]
  next_one = next_one % #all + 1
  return one
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("summary requests=%d duration=%d bytes=%d errors=%d mean=%.0f p50=%d p90=%d p99=%d p999=%d max=%d\n",
    summary.requests, summary.duration, summary.bytes, e.status + e.connect + e.read + e.write + e.timeout,
    latency.mean, latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
