-- A script for wrk: posts the lines of a file, one after the other and from the
-- start again. The file is the argument after "--".
--
--   wrk -t1 -c10 -d2s -s bodies.lua http://HOST/fence/NAME/search -- FILE
--
-- At the end it prints one line for a program to read.

local bodies = {}
local next_body = 1 -- tables begin at 1: a body 0 would be sent empty

function init(args)
  for line in io.lines(args[1]) do
    if line ~= "" then
      bodies[#bodies + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, line)
    end
  end
  if #bodies == 0 then
    error("no bodies in " .. args[1])
  end
end

function request()
  local body = bodies[next_body]
  next_body = next_body % #bodies + 1
  return body
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("summary requests=%d status=%d connect=%d read=%d write=%d timeout=%d\n",
    summary.requests, e.status, e.connect, e.read, e.write, e.timeout))
end
