package script

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/load"
	"paddock/load/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testURL = "http://host:8080/path?q=1"

// start loads a script of one thread, unless o says otherwise.
func start(t testing.TB, text string, o Options) (*Script, error) {
	t.Helper()
	o.URL, o.Threads = testURL, max(o.Threads, 1)
	if o.Args == nil {
		o.Args = []string{testURL}
	}
	s, err := Load("test.lua", text, o)
	if s != nil {
		t.Cleanup(s.Stop)
	}
	return s, err
}

// next waits for the next request of a thread.
func next(t testing.TB, source http1.Source) (string, error) {
	t.Helper()
	for {
		m, err := source.Make(0)
		if errors.Is(err, load.ErrNotYet) {
			waitABit()
			continue
		}
		return string(m.Bytes), err
	}
}

func TestRequests(t *testing.T) {
	t.Setenv("HERE", "/here")
	const usual = "GET /path?q=1 HTTP/1.1\r\nHost: host:8080\r\n\r\n"
	for _, tc := range []struct{ name, script, want string }{
		{"nothing", "", usual},
		{"method", "wrk.method = 'PUT'", "PUT /path?q=1 HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"body", "wrk.method, wrk.body = 'POST', 'a=1'", "POST /path?q=1 HTTP/1.1\r\nHost: host:8080\r\nContent-Length: 3\r\n\r\na=1"},
		{"empty body", "wrk.body = ''", "GET /path?q=1 HTTP/1.1\r\nHost: host:8080\r\nContent-Length: 0\r\n\r\n"},
		{"a number as a body", "wrk.body = 12", "GET /path?q=1 HTTP/1.1\r\nHost: host:8080\r\nContent-Length: 2\r\n\r\n12"},
		{"header", "wrk.headers['X-A'] = 'b'; wrk.headers['X-N'] = 7", "GET /path?q=1 HTTP/1.1\r\nX-A: b\r\nX-N: 7\r\nHost: host:8080\r\n\r\n"},
		{"host", "wrk.headers.host = 'other'", "GET /path?q=1 HTTP/1.1\r\nhost: other\r\n\r\n"},
		{"length", "wrk.headers['content-length'], wrk.body = '99', 'ab'", "GET /path?q=1 HTTP/1.1\r\nHost: host:8080\r\nContent-Length: 2\r\n\r\nab"},
		{"init", "function init(args) wrk.path = '/' .. #args .. args[0] .. args[1] end", "GET /1" + testURL + "more HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"request", "function request() return wrk.format('PATCH', '/x', {A = 'b'}, 'body') end", "PATCH /x HTTP/1.1\r\nA: b\r\nHost: host:8080\r\nContent-Length: 4\r\n\r\nbody"},
		{"wrk.request", "function request() return wrk.request() end", usual},
		{"no arguments", "function request() return wrk.format() end", usual},
		{"nil for some", "function request() return wrk.format(nil, '/y', nil, nil) end", "GET /y HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"by hand", `function request() return "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" end`, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"},
		{"parts of the URL", "wrk.path = wrk.scheme .. wrk.host .. wrk.port", "GET httphost8080 HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"a first line for the shell", "#!/usr/bin/wrk -s\nwrk.path = '/x'", "GET /x HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"set by setup", "function setup(t) t:set('p', {'/', {id = 1}}) end function init() wrk.path = p[1] .. p[2].id end", "GET /1 HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"joined", "wrk.path = '/' .. 1 .. 2.5 .. ('x'):rep(2) .. select('#', ...) .. (function() return 'a', 'b' end)()", "GET /12.5xx0a HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"joined by metatables", "local m = setmetatable({}, {__concat = function(a, b) return '<' .. (type(a) == 'table' and 'm' or a) .. (type(b) == 'table' and 'm' or b) .. '>' end}); wrk.path = '/' .. m .. 'b' .. 'c'", "GET /<mbc> HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"drawn", "math.randomseed(1); local a = math.random(1, 1000000); math.randomseed(1); assert(a == math.random(1, 1000000)); assert(math.random(3) <= 3 and math.random() < 1)", usual},
		{"environment", "wrk.path = os.getenv('HERE') .. tostring(os.getenv('NOT_HERE'))", "GET /herenil HTTP/1.1\r\nHost: host:8080\r\n\r\n"},
		{"time", "assert(os.time() > 1.6e9 and os.clock() >= 0)", usual},
		{"strings", "assert(('%5.2f|%s'):format(1.5, 'x') == ' 1.50|x' and ('abc'):gsub('b', {b = 'X'}) == 'aXc' and ('abc'):gsub('%w', '%0%0', 2) == 'aabbc' and ('abc'):gsub('b', function() return nil end) == 'abc' and table.concat({1, 2}, ',') == '1,2')", usual},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := start(t, tc.script, Options{Args: []string{testURL, "more"}})
			if err != nil {
				t.Fatal(err)
			}
			s.Codec()
			for range 3 { // in the ring and behind it
				if got, err := next(t, s.Thread(0, 1)); got != tc.want || err != nil {
					t.Fatalf("got %q, %v\nwant %q", got, err, tc.want)
				}
			}
		})
	}
}

// Mistakes end the script before the run, and name the line.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ script, want string }{
		{"x = = 1", `test.lua:1: syntax error near "="`},
		{"\n\nfor i = 1 do end", "test.lua:3: "},
		{"goto nowhere", "test.lua:2: no visible label"},
		{"x = 1\nerror('oops')", "test.lua:2: oops"},
		{"error({})", "test.lua: the script: table"},
		{"\nnil_function()", "test.lua:2: attempt to call a non-function object"},
		{"function init()\n local x = nil .. 'a'\nend", "test.lua:2: cannot perform concat operation between nil and string"},
		{"function setup(t)\n t:set('f', print)\nend", "test.lua:2: thread:set(\"f\"): only booleans"},
		{"function setup(t) t.port = 1 end", `test.lua:1: a thread has no field "port" to set`},
		{"function setup(t) t:stop() end", "test.lua:1: thread:stop is for a thread that runs"},
		{"a = {}; a.a = a\nfunction setup(t) t:set('a', a) end", "test.lua:2: thread:set(\"a\"): tables within tables, too deep"},
		{"function request() end", "test.lua: request() has returned a nil, not the text of a request"},
		{"function request() return 7 end", "test.lua: request() has returned a number"},
		{"function request() return '' end", "test.lua: the result of request(): an empty text is no request"},
		{"function request() return 'GET / HTTP/1.1\\r\\n' end", "request 1: no blank line ends its head"},
		{"function request() return 'GET /\\r\\n\\r\\n' end", `request 1: its first line is "GET /", not like`},
		{"function request() return 'CONNECT / HTTP/1.1\\r\\n\\r\\n' end", "CONNECT makes a tunnel"},
		{"function request() return wrk.format() .. 'x' end", "request 2: no blank line"},
		{"function request() return 'GET / HTTP/1.1\\r\\nContent-Length: 5\\r\\n\\r\\nabc' end", "its Content-Length says 5, and 3 bytes follow"},
		{"function request() return 'GET / HTTP/1.1\\r\\nContent-Length: +1\\r\\n\\r\\na' end", `its Content-Length is "+1"`},
		{"function request() return 'GET / HTTP/1.1\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab' end", "its Content-Length is 1 and 2"},
		{"function request() return 'GET / HTTP/1.1\\r\\nHost: a\\nX: b\\r\\n\\r\\n' end", "a line that does not end in CR LF"},
		{"function request() return 'GET / HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' end", "Transfer-Encoding"},
		{"function request() return wrk.format({}) end", "test.lua:1: wrk.format: the method is a table"},
		{"wrk.headers = 1", "test.lua: the request: wrk.format: the headers are a number"},
		{"function delay() return -1 end", "delay() has returned -1, not a number of milliseconds"},
		{"function delay() return 0/0 end", "delay() has returned"},
		{"function delay() return '5' end", "delay() has returned 5, not"},
		{"function response() end", "test.lua: it has a function response()"},
		{"function response() end function request() end", "test.lua: it has a function response()"},
		{"os.exit(3)", "os.exit(3)"},
		{"pcall(os.exit, 3); while true do end", "os.exit(3)"},
		{"math.random(2, 1)", "there is no number from 2 to 1"},
		{"for l in io.lines('nowhere') do end", "test.lua:1: "},
	} {
		_, err := start(t, tc.script, Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\n got %v\nwant %s", tc.script, err, tc.want)
		}
	}
}

// A call that takes too long ends, whatever it catches.
func TestDeadline(t *testing.T) {
	for _, tc := range []struct{ script, want string }{
		{"function request() while true do end end", "test.lua:1: request takes longer than 1ms"},
		{"function request() while true do pcall(function() while true do end end) end end", "request takes longer than 1ms"},
		{"function delay() repeat until false end", "delay takes longer than 1ms"},
		{"function request() local function f() return 1 + f() end return f() end", "stack overflow"},
		{"function request() return ('x'):rep(2^24 + 1) end", "16777217 bytes are more than 16 MiB"},
		{"function request() return ('GET / HTTP/1.1\\r\\n\\r\\n'):rep(1025) end", "more than 1024 requests at once"},
	} {
		_, err := start(t, tc.script, Options{limit: time.Millisecond})
		if !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%s\n got %.300s\nwant %s", tc.script, err, tc.want)
		}
	}
}

// The output of each thread's script is printed in the order of wrk: that of setup and done first.
func TestPrint(t *testing.T) {
	var out bytes.Buffer
	_, err := start(t, "print('a', 1, nil, true) io.write('b', 2, '\\n') io.stdout:write('c\\n')\nfunction setup(t) print('setup') end function init() print('init') end", Options{Threads: 2, Print: &out})
	const each = "a\t1\tnil\ttrue\nb2\nc\n"
	if want := each + each + "setup\ninit\n" + each + "setup\ninit\n"; err != nil || out.String() != want {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(path, []byte("one\r\n\n12.5 three\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"local n = {} for l in io.lines(path) do n[#n + 1] = l end assert(#n == 4 and n[1] == 'one' and n[2] == '' and n[4] == 'last')",
		"local f = assert(io.open(path)) assert(f:read('*l') == 'one') assert(f:read('*a') == '\\n12.5 three\\nlast') f:close() assert(not pcall(f.read, f))",
		"local f, why = io.open('nowhere') assert(f == nil and why:find('no such file'))",
	} {
		if _, err := start(t, fmt.Sprintf("path = %q\n", path)+script, Options{}); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// Connections go to the first address of the URL, or to the address that setup sets.
func TestAddress(t *testing.T) {
	local := "function setup(t) t.addr = wrk.lookup('127.0.0.1', '7070')[1] assert(tostring(t.addr) == '127.0.0.1:7070') assert(not wrk.connect(wrk.lookup('127.0.0.1', '1')[1])) end"
	for script, want := range map[string]string{
		"": "", local: "127.0.0.1:7070",
		"n = 7070 function setup(t) t.addr = wrk.lookup('127.0.0.1', tostring(n))[1] n = n + 1 end": "error",
	} {
		s, err := start(t, script, Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Address()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, %v", script, got, err)
		}
	}
}
