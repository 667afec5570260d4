//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A script makes the requests, and has the last word.
func TestBenchWrkScripts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := t.TempDir()
	bodies := filepath.Join(dir, "bodies")
	if err := os.WriteFile(bodies, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, script string
		args         []string
		code         int
		want         string // an expression, of both outputs
	}{
		{
			name: "bodies",
			script: `local list = {}
for line in io.lines("` + bodies + `") do list[#list + 1] = line end
print("Let " .. #list .. " bodies hit the floor")
local at = 0
function request()
  local body = list[at]
  at = (at + 1) % (#list + 1)
  return wrk.format("POST", wrk.path, {["X-At"] = at}, body)
end`,
			want: `^Let 2 bodies hit the floor\nLet 2 bodies hit the floor\nLet 2 bodies hit the floor\nRunning 1s test(?s:.*) good answers`,
		},
		{
			name: "done", args: []string{"--block", "--", "more"},
			script: `function init(args) assert(args[1] == "more") end
function done(summary, latency, requests, truth)
  assert(latency.max >= latency:percentile(99) and latency(1) >= 0 and #latency > 0)
  assert(summary.errors.status == 0 and summary.duration > 5e5 and truth.response.max > 0 and truth.unanswered == 0)
  print("done", summary.requests > 0 and requests.mean > 0, truth.verdict)
end`,
			want: `(?s)Transfer/sec.*B\ndone\ttrue\t(green|amber|red)\n$`,
		},
		{name: "exit of done", script: `function done() os.exit(9) end`, code: 9, want: `os.exit\(9\)`},
		{name: "mistake in done", script: "function done(summary)\n summary.x.y = 1 end", code: 2, want: `script.lua:2: `},
		{name: "mistake on the way", script: "n = 0 function request() n = n + 1 if n == 2000 then\n error('oops') end return wrk.format() end", code: 2, want: `error: \S*script.lua:2: oops`},
		{name: "mistake at once", script: "\n\nx = y.z", code: 2, want: `error: \S*script.lua:3: `},
		{name: "response", script: "function response() end", code: 2, want: `response\(\).*--lua-inline runs it there`},
		{
			name: "response, inline", args: []string{"--lua-inline"},
			script: `n = 0
function request() n = n + 1 return wrk.format("POST", "/echo", nil, "body " .. n) end
function response(status, headers, body)
  assert(status == 200 and body:match("^body %d+$") and headers["Content-Length"] == tostring(#body))
  got = (got or 0) + 1
end
local threads = {}
function setup(thread) threads[#threads + 1] = thread end
function done(summary)
  local sum = 0
  for _, thread in ipairs(threads) do sum = sum + thread:get("got") end
  print("got", sum >= summary.requests and sum <= summary.requests + 4)
end`,
			want: `got\ttrue\n(?s:.*)run inline, which is slow, to http`,
		},
		{
			name:   "delay",
			script: `function delay() return 50 end`,
			want:   `\n  \d\d requests in 1.0\ds`, // 4 connections, each 50 ms and more
		},
		{
			name:   "pipelined",
			script: `function request() return wrk.format() .. wrk.format(nil, "/two") end`,
			want:   `closed, 2 requests deep`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "script.lua")
			if err := os.WriteFile(file, []byte(tc.script), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := wrkOutcome(t, append([]string{"-t2", "-c4", "-d1", "-s", file, s.URL + "/echo"}, tc.args...)...)
			if text := stdout + stderr; code != tc.code || !regexp.MustCompile(tc.want).MatchString(text) {
				t.Errorf("code %d, want %d and %s:\n%s", code, tc.code, tc.want, text)
			}
		})
	}
}
