# One line of a run of wrk, as people keep it in a table: rate, mean latency, p99, failures.
/^Running/ { url = $NF }
/threads and/ { threads = $1; conns = $4 }
/^ +Latency +[0-9]/ { avg = $2; max = $4; within = $5 }
/Req\/Sec/ { rate = $2 }
/^ +50%/ { p50 = $2 }
/^ +99%/ { p99 = $2 }
/requests in/ { requests = $1; time = $4; read = $5 }
/Socket errors/ { gsub(",", ""); timeouts = $NF; reads = $6 }
/Non-2xx or 3xx/ { failed = $NF }
/^Requests\/sec/ { persec = $2 }
/^Transfer\/sec/ { bytes = $2 }
END { print url, threads, conns, avg, max, within, rate, p50, p99, requests, time, read, reads + 0, timeouts + 0, failed + 0, persec, bytes }
