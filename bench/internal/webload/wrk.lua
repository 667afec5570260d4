-- A script for wrk: posts the lines of a file, one after the other and from the start
-- again; without a file it asks for the URL. The file is the argument after "--".
-- At the end it prints one line for a program to read, times in microseconds.

local requests = {}
local next_request = 1 -- tables begin at 1

function init(args)
  if args[1] then
    for line in io.lines(args[1]) do
      if line ~= "" then
        requests[#requests + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, line)
      end
    end
  else
    requests[1] = wrk.format()
  end
  if #requests == 0 then
    error("no bodies in " .. args[1])
  end
end

function request()
  local r = requests[next_request]
  next_request = next_request % #requests + 1
  return r
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("summary requests=%d duration=%d bytes=%d errors=%d mean=%.0f p50=%d p90=%d p99=%d p999=%d max=%d\n",
    summary.requests, summary.duration, summary.bytes, e.status + e.connect + e.read + e.write + e.timeout,
    latency.mean, latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
