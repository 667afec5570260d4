package script

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"paddock/load"
)

func waitABit() { runtime.Gosched() }

const counting = "n = 0 function request() n = n + 1 return wrk.format('GET', '/' .. n) end"

// Requests come in the order in which the script makes them, from each thread's own, and
// none is lost or comes twice, however often batches go round.
func TestAhead(t *testing.T) {
	s, err := start(t, counting+" local pad = ('x'):rep(20000) wrk.headers.pad = pad", Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.Codec()
	for part := range 2 {
		source := s.Thread(part, 2)
		for i := 1; i <= 800; i++ {
			if got, err := next(t, source); err != nil || !strings.HasPrefix(got, fmt.Sprintf("GET /%d HTTP", i)) {
				t.Fatalf("thread %d, request %d: %.30q, %v", part, i, got, err)
			}
		}
	}
}

// The ring is bounded, for requests of any size.
func TestRingIsBounded(t *testing.T) {
	for _, size := range []int{1, 3000, 3 << 20} {
		s, err := start(t, fmt.Sprintf("local body = ('x'):rep(%d) function request() return wrk.format('POST', '/', nil, body) end", size), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Codec()
		a := s.ahead[0]
		<-a.filled
		s.Stop()
		bytes, n := 0, 0
		for b := range a.full {
			bytes += len(b.bytes)
			n += len(b.messages)
		}
		if bytes > ringBytes+batchBytes+size+100 || n < 2 || n > batches*batchRequests {
			t.Errorf("of %d bytes each: %d requests of %d bytes", size, n, bytes)
		}
	}
}

// More than one request at once is pipelined, and each has its form.
func TestPipelined(t *testing.T) {
	s, err := start(t, `function request() return wrk.format() .. wrk.format("HEAD") .. wrk.format("GET", "/", {Connection = "close"}) end`, Options{})
	if err != nil || s.Depth() != 3 {
		t.Fatal(err)
	}
	s.Codec()
	var forms []string
	for range 6 {
		for {
			m, err := s.Thread(0, 1).Make(0)
			if errors.Is(err, load.ErrNotYet) {
				waitABit()
				continue
			}
			forms = append(forms, fmt.Sprint(m.Form, " ", string(m.Bytes[:4])))
			break
		}
	}
	if got := strings.Join(forms, "|"); got != "0 GET |1 HEAD|4 GET |0 GET |1 HEAD|4 GET " {
		t.Error(got)
	}
}

// A thread that stops itself has no more requests, and a script that fails says why.
func TestEnds(t *testing.T) {
	for _, tc := range []struct{ script, err string }{
		{"n = 0 function request() n = n + 1 if n == 10 then wrk.thread:stop() end return wrk.format() end", "<nil>"},
		{"n = 0 function request() n = n + 1 if n == 11 then\n error('oops') end return wrk.format() end", "test.lua:2: oops"},
		{"n = 0 function request() n = n + 1 if n == 11 then os.exit(7) end return wrk.format() end", "the script has ended the run by os.exit(7)"},
	} {
		s, err := start(t, tc.script, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Codec()
		for n := 0; ; n++ {
			if _, err := next(t, s.Thread(0, 1)); err != nil {
				if !errors.Is(err, load.ErrOver) || n > 10 {
					t.Errorf("%d requests, then %v", n, err)
				}
				break
			}
		}
		if got := fmt.Sprint(s.Err()); got != tc.err {
			t.Errorf("%s: %s", tc.script, got)
		}
	}
}

// Pauses and requests come each in their order: connections that pause do not hold up the
// others.
func TestPauses(t *testing.T) {
	s, err := start(t, counting+" d = 0 function delay() d = d + 1.5 return d end", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Codec()
	p, ok := s.Thread(0, 1).(interface{ Pause() (time.Duration, error) })
	if !ok {
		t.Fatal("it does not pause")
	}
	pause := func() time.Duration {
		for {
			d, err := p.Pause()
			if !errors.Is(err, load.ErrNotYet) {
				return d
			}
			waitABit()
		}
	}
	var got []time.Duration
	for range 3 {
		got = append(got, pause())
	}
	if fmt.Sprint(got) != "[1ms 3ms 4ms]" { // whole milliseconds
		t.Error(got)
	}
	for i := 1; i <= 5000; i++ {
		if text, err := next(t, s.Thread(0, 1)); err != nil || !strings.HasPrefix(text, fmt.Sprintf("GET /%d HTTP", i)) {
			t.Fatalf("%q, %v", text, err)
		}
		pause()
	}
}

// BenchmarkAhead measures the cost of a prepared request to the thread that sends it.
func BenchmarkAhead(b *testing.B) {
	s, err := start(b, "", Options{})
	if err != nil {
		b.Fatal(err)
	}
	source := s.Thread(0, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := source.Make(0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest measures the cost of a request that a script makes.
func BenchmarkRequest(b *testing.B) {
	for name, text := range map[string]string{
		"constant": "function request() return wrk.request() end",
		"format":   counting,
		"bodies":   "local t, i = {}, 0 for j = 1, 1000 do t[j] = ('x'):rep(150) end function request() i = i % #t + 1 return wrk.format('POST', wrk.path, nil, t[i]) end",
	} {
		b.Run(name, func(b *testing.B) {
			s, err := start(b, text, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.threads[0].request(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
