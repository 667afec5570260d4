package ab_test

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/persona/ab"
	"paddock/load"
)

// recorder returns a recorder for a command line, with its plan.
func recorder(t testing.TB, line string, stop func(error)) (*ab.Recorder, load.Plan) {
	t.Helper()
	o, err := ab.Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	request, err := o.Request(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := ab.NewRecorder(o, nil, stop)
	return r, r.Plan(request)
}

// ended is a request that was the first of its connection, with times in microseconds.
func ended(dialed, connected, first, done int64) *load.Outcome {
	const us = int64(time.Microsecond)
	return &load.Outcome{
		Dialed: dialed * us, Connected: connected * us, Due: connected * us, Sent: connected * us,
		FirstByte: first * us, Done: done * us, Status: 200, Body: 5,
	}
}

// text returns the report of a recording.
func text(t testing.TB, r *ab.Recorder, result *load.Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.Report(result).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Three requests whose figures were worked out by hand: ab's text, letter by letter.
func TestText(t *testing.T) {
	r, plan := recorder(t, "-n 3 http://127.0.0.1:18998/delays", nil)
	tell := plan.Each(0)
	tell(ended(0, 1200, 50_000, 51_200))
	tell(ended(51_200, 51_600, 259_000, 259_600))
	tell(ended(259_600, 260_300, 765_000, 765_300))
	result := &load.Result{Total: load.Interval{BytesIn: 231, BodyIn: 15}}
	want := `..done


Server Software:        
Server Hostname:        127.0.0.1
Server Port:            18998

Document Path:          /delays
Document Length:        5 bytes

Concurrency Level:      1
Time taken for tests:   0.765 seconds
Complete requests:      3
Failed requests:        0
Total transferred:      231 bytes
HTML transferred:       15 bytes
Requests per second:    3.92 [#/sec] (mean)
Time per request:       255.100 [ms] (mean)
Time per request:       255.100 [ms] (mean, across all concurrent requests)
Transfer rate:          0.29 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.4      1       1
Processing:    50  254 231.0    357     505
Waiting:       49  254 231.4    356     505
Total:         51  255 230.8    357     506

Percentage of the requests served within a certain time (ms)
  50%    208
  66%    208
  75%    506
  80%    506
  90%    506
  95%    506
  98%    506
  99%    506
 100%    506 (longest request)
`
	if got := text(t, r, result); got != want {
		t.Errorf("got\n%s", got)
	}
}

// The flags that change the text.
func TestTextOfFlags(t *testing.T) {
	result := &load.Result{Total: load.Interval{BytesIn: 154, BytesOut: 274, BodyIn: 10}}
	for _, tc := range []struct {
		line         string
		has, without []string
	}{
		{"", []string{"\nDocument Length:        5 bytes\n"}, []string{"Keep-Alive", "Non-2xx", "Total body", "SSL"}},
		{"-k", []string{"\nKeep-Alive requests:    2\nTotal transferred:      154 bytes\n"}, nil},
		{"-l", []string{"\nDocument Length:        Variable\n"}, nil},
		{"-d", nil, []string{"Percentage"}},
		{"--goab", []string{"\nAvg latency over 2 requests: 1ms\nMax latency: 1ms\nTotal time: 2ms\nTPS: 1000.00\n"}, []string{"error count"}},
		{"--goab -k", []string{"\nMax latency: 1ms\nTotal error count: 0\nTotal time: "}, nil},
		{"-S", []string{"\n              min   avg   max\nConnect:        0     0    0\nProcessing:     1     1    1\nWaiting:        1     1    1\nTotal:          1     1    1\n"}, []string{"median"}},
		{"-p F", []string{
			"\nTotal transferred:      154 bytes\nTotal body sent:        274\nHTML transferred:       10 bytes\n",
			"\nTransfer rate:          75.20 [Kbytes/sec] received\n                        133.79 kb/s sent\n                        208.98 kb/s total\n",
		}, nil},
	} {
		r, plan := recorder(t, "-n 2 "+tc.line+" http://h/", nil)
		tell := plan.Each(0)
		tell(ended(0, 100, 1000, 1000))
		tell(ended(1000, 1100, 2000, 2000))
		got := text(t, r, result)
		for _, s := range tc.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in\n%s", tc.line, s, got)
			}
		}
		for _, s := range tc.without {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q in\n%s", tc.line, s, got)
			}
		}
	}
}

// Each way to fail is counted once, in its place.
func TestFailures(t *testing.T) {
	r, plan := recorder(t, "-n 10 -r -k http://h/", func(err error) { t.Error(err) })
	tell := plan.Each(0)
	end := func(class load.Class, status uint16, body int64, last bool) {
		e := ended(0, 100, 200, 1000)
		e.Class, e.Status, e.Body, e.Last = class, status, body, last
		tell(e)
	}
	end(load.ClassOK, 200, 5, false)
	end(load.ClassOK, 200, 6, false)     // length
	end(load.ClassStatus, 404, 5, false) // non-2xx
	end(load.ClassOK, 304, 5, true)      // non-2xx, not kept
	end(load.ClassReset, 0, 0, false)    // receive
	end(load.ClassWrite, 0, 0, false)    // receive
	end(load.ClassEarlyEnd, 0, 0, false) // length
	end(load.ClassClosed, 0, 0, false)   // length
	end(load.ClassParse, 0, 0, false)    // exception
	end(load.ClassProtocol, 0, 0, false) // exception
	result := &load.Result{}
	result.Total.Failed[load.ClassRefused], result.Total.Failed[load.ClassPorts] = 2, 1
	want := `Complete requests:      10
Failed requests:        10
   (Connect: 3, Receive: 2, Length: 3, Exceptions: 2)
Non-2xx responses:      2
Keep-Alive requests:    3
`
	if got := text(t, r, result); !strings.Contains(got, want) {
		t.Error(got)
	}
}

// The ends of a run: a connection that breaks, unless -r is given; connections that cannot be made;
// silence.
func TestGivesUp(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		happens    func(r *ab.Recorder, tell func(*load.Outcome))
		want       string
	}{
		{"broke", "-n 5", func(_ *ab.Recorder, tell func(*load.Outcome)) {
			tell(ended(0, 100, 200, 300))
			tell(&load.Outcome{Class: load.ClassReset})
		}, "a connection broke (reset) after 1 requests; -r goes on"},
		{"broke with -r", "-n 5 -r", func(_ *ab.Recorder, tell func(*load.Outcome)) { tell(&load.Outcome{Class: load.ClassReset}) }, ""},
		{"refused", "-n 5", func(r *ab.Recorder, _ func(*load.Outcome)) {
			for range 11 {
				v := &load.Interval{}
				v.Failed[load.ClassRefused] = 1
				r.Interval(v)
			}
		}, "11 connections could not be made"},
		{"silence", "-n 5 -s 1", func(_ *ab.Recorder, tell func(*load.Outcome)) {
			tell(ended(0, 100, 200, 300))
			tell(&load.Outcome{Class: load.ClassTimeout, Done: int64(time.Second)}) // another was answered meanwhile
			tell(&load.Outcome{Class: load.ClassTimeout, Done: int64(2 * time.Second)})
		}, "no answer came for 1s, after 2 requests"},
	} {
		var why error
		r, plan := recorder(t, tc.line+" http://h/", func(err error) { why = errors.Join(why, err) })
		tc.happens(r, plan.Each(0))
		if got := ""; why != nil && why.Error() != tc.want || why == nil && tc.want != got {
			t.Errorf("%s: %v, want %s", tc.name, why, tc.want)
		}
	}
}

// A request that ends after the time of -t does not count.
func TestTimeIsOver(t *testing.T) {
	r, plan := recorder(t, "-t 1 http://h/", nil)
	tell := plan.Each(0)
	tell(ended(0, 100, 900_000, 1_000_000))
	tell(ended(0, 100, 900_000, 1_000_001))
	if r.Done() != 1 || plan.Duration != time.Second || plan.Count != 50_000 {
		t.Errorf("%d requests, %v, %d", r.Done(), plan.Duration, plan.Count)
	}
}

// With -t, the report is of that time: to its end if there was more to do, and without the bytes
// that came after it.
func TestReportOfATime(t *testing.T) {
	in := &load.Interval{Length: 2 * time.Second, BytesIn: 100, BytesOut: 40, BodyIn: 10}
	after := &load.Interval{Start: 2 * time.Second, BytesIn: 1000, BytesOut: 1000, BodyIn: 1000}
	for line, want := range map[string]string{
		"-t 2 -n 9": "2.000 seconds",
		"-t 2 -n 1": "1.000 seconds",
		"-t 9 -n 9": "2.000 seconds", // it was interrupted
	} {
		r, plan := recorder(t, line+" -p F http://h/", nil)
		plan.Each(0)(ended(0, 100, 900_000, 1_000_000))
		r.Interval(in)
		total := load.NewInterval()
		total.Add(in)
		if plan.Duration == 2*time.Second {
			r.Interval(after)
			total.Add(after)
		}
		got := text(t, r, &load.Result{Elapsed: 2 * time.Second, Total: *total})
		for _, s := range []string{
			"Time taken for tests:   " + want, "Total transferred:      100 bytes\n", "Total body sent:        40\n", "HTML transferred:       10 bytes\n",
		} {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in\n%s", line, s, got)
			}
		}
	}
}

// A run without an answer has a report too.
func TestReportOfNothing(t *testing.T) {
	r, _ := recorder(t, "-t 5 --goab http://h/", nil)
	if got := text(t, r, &load.Result{Elapsed: 5 * time.Second}); !strings.Contains(got, "Time taken for tests:   5.000 seconds\nComplete requests:      0\n") ||
		!strings.HasSuffix(got, "\nAvg latency over 0 requests: 0s\nMax latency: 0s\nTotal time: 5s\nTPS: 0.00\n") {
		t.Error(got)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir() + "/"
	r, plan := recorder(t, "-n 3 -e "+dir+"e -g "+dir+"g http://h/", nil)
	tell := plan.Each(0)
	tell(ended(259_600, 260_300, 765_000, 765_300))
	tell(ended(0, 1200, 50_000, 51_200))
	tell(ended(2_051_200, 2_051_600, 2_259_000, 2_259_600))
	began := time.Date(2026, 11, 2, 3, 4, 5, 0, time.Local)
	if kept, err := r.Report(&load.Result{Began: began}).WriteFiles(); err != nil || kept != 3 {
		t.Fatal(kept, err)
	}
	e, _ := os.ReadFile(dir + "e")
	lines := strings.Split(string(e), "\n")
	if len(lines) != 103 || lines[0] != "Percentage served,Time in ms" || lines[1] != "0,51.200" || lines[17] != "16,51.200" ||
		lines[18] != "17,208.400" || lines[50] != "49,208.400" || lines[51] != "50,505.700" || lines[101] != "100,505.700" {
		t.Errorf("%s", e)
	}
	g, _ := os.ReadFile(dir + "g")
	seconds := func(n int64) string { return time.Unix(began.Unix()+n, 0).Format(time.ANSIC) + "\t" }
	want := "starttime\tseconds\tctime\tdtime\tttime\twait\n" +
		seconds(0) + stamp(began, 0) + "\t1\t50\t51\t49\n" +
		seconds(2) + stamp(began, 2) + "\t0\t208\t208\t207\n" +
		seconds(0) + stamp(began, 0) + "\t1\t505\t506\t505\n"
	if string(g) != want {
		t.Errorf("got\n%swant\n%s", g, want)
	}
}

// With more requests than are kept the figures are right to a thousandth, and -g states its number.
func TestManyRequests(t *testing.T) {
	const n = 1000
	exact, plan := recorder(t, "-n 1000 http://h/", nil)
	bounded, other := recorder(t, "-n 1000 -g "+t.TempDir()+"/g http://h/", nil)
	bounded.KeepAtMost(100)
	for i := range int64(n) {
		e := ended(i*1000, i*1000+100, i*1000+(i*617)%n*90+200, i*1000+(i*617)%n*90+300)
		plan.Each(0)(e)
		other.Each(0)(e)
	}
	a, b := text(t, exact, &load.Result{}), text(t, bounded, &load.Result{})
	if a != b { // the times are whole milliseconds: a thousandth is not seen here
		t.Errorf("got\n%swant\n%s", b, a)
	}
	if kept, err := bounded.Report(&load.Result{}).WriteFiles(); err != nil || kept != 100 || bounded.Done() != n {
		t.Error(kept, bounded.Done(), err)
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	_, plan := recorder(t, "-n 100000 http://h/", nil)
	tell, e := plan.Each(0), ended(0, 100, 200, 300)
	if n := testing.AllocsPerRun(1000, func() { tell(e) }); n != 0 {
		t.Errorf("%v allocations for each request", n)
	}
}

func BenchmarkRecorder(b *testing.B) {
	for _, of := range []struct {
		name string
		keep int
	}{{"kept", 1 << 21}, {"counted", 0}} {
		b.Run(of.name, func(b *testing.B) {
			r, plan := recorder(b, "-n 2000000 http://h/", nil)
			r.KeepAtMost(of.keep)
			tell, e := plan.Each(0), ended(0, 100, 200, 300)
			for i := 1; b.Loop(); i++ {
				if tell(e); i == of.keep {
					r.Forget()
					i = 0
				}
			}
		})
	}
}

func TestStart(t *testing.T) {
	for line, want := range map[string]string{
		"-n 150 http://h/":            "This is paddock 1.2, in the form of ApacheBench 2.3\n\nBenchmarking h (be patient)...",
		"-n 151 http://h/":            "This is paddock 1.2, in the form of ApacheBench 2.3\n\nBenchmarking h (be patient)\n",
		"-n 151 -q http://h/":         "This is paddock 1.2, in the form of ApacheBench 2.3\n\nBenchmarking h (be patient)...",
		"-X proxy:81 -n 9 http://h:8": "This is paddock 1.2, in the form of ApacheBench 2.3\n\nBenchmarking h [through proxy:81] (be patient)...",
	} {
		o, err := ab.Parse(strings.Fields(line))
		var b strings.Builder
		if err == nil {
			err = o.WriteStart(&b, "1.2")
		}
		if err != nil || b.String() != want {
			t.Errorf("%s: %q, %v", line, b.String(), err)
		}
	}
}

// Progress comes ten times, and each hundred requests at most.
func TestProgress(t *testing.T) {
	o, err := ab.Parse([]string{"-n", "250", "http://h/"})
	if err != nil {
		t.Fatal(err)
	}
	request, _ := o.Request(nil)
	var b strings.Builder
	r := ab.NewRecorder(o, &b, nil)
	tell := r.Plan(request).Each(0)
	for range 250 {
		tell(ended(0, 100, 200, 300))
	}
	r.Finish()
	if b.String() != "Completed 100 requests\nCompleted 200 requests\nFinished 250 requests\n" {
		t.Error(b.String())
	}
	if err := o.WriteRequest(io.Discard, request); err != nil {
		t.Error(err)
	}
}

// stamp is so many seconds after a time, as -g has it.
func stamp(t time.Time, seconds int64) string { return strconv.FormatInt(t.Unix()+seconds, 10) }
