package peers

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// prints returns the path of a program that prints a text.
func prints(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return script(t, "cat "+file)
}

const wrkText = `Let 3 bodies hit the floor
Running 5m test @ http://fence.example/search
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    10.50ms  812.25us   1.02m    81.25%
    Req/Sec     5.50k   317.25    1.25M     -nan%
  Latency Distribution
     50%  850.00us
     75%   12.28ms
     90%   22.37ms
     99%    1.50s 
  1629003 requests in 5.00m, 0.50GB read
  Socket errors: connect 1, read 20, write 300, timeout 4000
  Non-2xx or 3xx responses: 43
Requests/sec:   5429.64
Transfer/sec:      3.23MB
`

// The units of wrk are read.
func TestWrkText(t *testing.T) {
	got, err := RunWrk(t.Context(), prints(t, wrkText), "http://x/", "", 50, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	want := &Figures{
		Requests: 1629003, Elapsed: 5 * time.Minute, PerSecond: 5429.64, Bytes: 1 << 29, Failed: 4321, NonSuccess: 43,
		Latency:     Spread[time.Duration]{Mean: ms(10.5), StdDev: ms(0.81225), Max: ms(61_200), Within: 81.25},
		Rate:        Spread[float64]{Mean: 5500, StdDev: 317.25, Max: 1_250_000},
		Percentiles: []Percentile{{50, ms(0.85)}, {75, ms(12.28)}, {90, ms(22.37)}, {99, ms(1500)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

const abText = `Server Software:        nginx/1.22.1
Time taken for tests:   4.570 seconds
Complete requests:      50000
Failed requests:        12
   (Connect: 0, Receive: 0, Length: 12, Exceptions: 0)
Non-2xx responses:      7
Total transferred:      190000000 bytes
HTML transferred:       175800000 bytes
Requests per second:    10940.92 [#/sec] (mean)
Time per request:       4.570 [ms] (mean)
Time per request:       0.091 [ms] (mean, across all concurrent requests)

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.5      1       6
Total:          0    4   2.3      4      38

Percentage of the requests served within a certain time (ms)
  50%      4
 100%     38 (longest request)
`

func TestAbText(t *testing.T) {
	got, err := ReadAb(abText)
	if err != nil {
		t.Fatal(err)
	}
	want := &Figures{
		Requests: 50_000, Elapsed: 4570 * time.Millisecond, PerSecond: 10940.92, Bytes: 190_000_000, Failed: 12, NonSuccess: 7,
		Latency:     Spread[time.Duration]{Mean: 4570 * time.Microsecond, StdDev: 2300 * time.Microsecond, Max: 38 * time.Millisecond},
		Percentiles: []Percentile{{50, 4 * time.Millisecond}, {100, 38 * time.Millisecond}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// An output that cannot be read is an error that names the line, or the one that is missing.
func TestUnreadable(t *testing.T) {
	for _, tc := range []struct{ text, line, instead, want string }{
		{wrkText, "10.50ms", "fast", `line 5 of wrk's output cannot be read: "    Latency    fast `},
		{wrkText, "5.50k", "5.50x", `line 6 of wrk's output`},
		{wrkText, "0.50GB", "0.50XB", `prints no line "%d requests in`},
		{wrkText, "12.28ms", "12.28", `line 9 of wrk's output`},
		{wrkText, "Requests/sec:", "Rate:", `wrk prints no line "Requests/sec:%v"`},
		{wrkText, "1629003 requests", "0 requests", `wrk has done no request`},
		{wrkText, wrkText, "", `wrk prints no line`},
		{abText, "50000", "many", `line 3 of ab's output`},
		{abText, "2.3 ", "? ", `line 16 of ab's output`},
		{abText, "50%      4", "50%      ?", `line 19 of ab's output`},
		{abText, "Complete", "Some", `ab prints no line "Complete requests:%d"`},
	} {
		text := strings.Replace(tc.text, tc.line, tc.instead, 1)
		_, err := ReadAb(text)
		if tc.text == wrkText {
			_, err = RunWrk(t.Context(), prints(t, text), "http://x/", "", 50, time.Second)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v, want %q", tc.instead, tc.line, err, tc.want)
		}
	}
}
