-- A script for wrk. Its arguments, after "--", say what is asked for:
--
--   (none)        the URL; wrk makes the request once
--   post FILE     the lines of a file, one after the other and from the start again,
--                 each a request that was made before the run
--   format FILE   the same, but each request is made when it is sent, as the scripts
--                 that people write do it
--   original FILE the same with the fault of the script of gofence's document: one request in
--                 a turn has no body
--   pipeline N    the URL, N requests at once
--   files N       /0, /1 and so on, N of them in turns
--
-- At the end it prints one line for a program to read, times in microseconds.

local function lines(file)
  local all = {}
  for line in io.lines(file) do
    if line ~= "" then
      all[#all + 1] = line
    end
  end
  if #all == 0 then
    error("no bodies in " .. file)
  end
  return all
end

local json = { ["Content-Type"] = "application/json" }

-- in_turns gives each of a list, over and over.
local function in_turns(list)
  local next_one = 1 -- tables begin at 1
  return function()
    local one = list[next_one]
    next_one = next_one % #list + 1
    return one
  end
end

-- A global function request makes wrk call it for each: there is none without need.
function init(args)
  if args[1] == "post" then
    local all = lines(args[2])
    for i = 1, #all do
      all[i] = wrk.format("POST", nil, json, all[i])
    end
    request = in_turns(all)
  elseif args[1] == "format" then
    local body = in_turns(lines(args[2]))
    request = function() return wrk.format("POST", nil, json, body()) end
  elseif args[1] == "original" then
    local all, at = lines(args[2]), 0 -- tables begin at 1: all[0] is none
    request = function()
      local body = all[at]
      at = (at + 1) % (#all + 1)
      return wrk.format("POST", nil, json, body)
    end
  elseif args[1] == "pipeline" then
    local all = string.rep(wrk.format(), tonumber(args[2]))
    request = function() return all end
  elseif args[1] == "files" then
    local all = {}
    for i = 1, tonumber(args[2]) do
      all[i] = wrk.format("GET", "/" .. (i - 1))
    end
    request = in_turns(all)
  end
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("summary requests=%d duration=%d bytes=%d errors=%d mean=%.0f p50=%d p90=%d p99=%d p999=%d max=%d\n",
    summary.requests, summary.duration, summary.bytes, e.status + e.connect + e.read + e.write + e.timeout,
    latency.mean, latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
