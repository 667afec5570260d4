package nats2012

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/bus"
	natscodec "paddock/lab/internal/codec/nats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The rates that were printed in 2012 follow from the rows: the whole operation counts.
func TestOriginalRates(t *testing.T) {
	printed := []float64{19.64, 20.23, 24.85, 37.38, 70.17, 223.96}
	for i, want := range printed {
		r := Result{Row: Rows[i], N: 1, Elapsed: time.Duration(Rows[i].Original())}
		if got := r.MBs(); math.Abs(got-want) > 0.02*want/10 {
			t.Errorf("%s: %.2f MB/s, printed were %.2f", r.Row.Name, got, want)
		}
	}
	if n := len(Rows[6].delivery(1)); n != 17 {
		t.Errorf("a delivery has %d bytes", n)
	}
}

// Each row runs against a server, and gives a line that benchstat reads.
func TestRows(t *testing.T) {
	s, err := bus.New(bus.Config{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown(context.Background()) }()
	line := regexp.MustCompile(`^BenchmarkPub\w+ +\d+ +[\d.]+ ns/op +[\d.]+ MB/s +\d+ original-ns/op\n$`)
	for _, row := range Rows {
		r, err := Run(t.Context(), s.Addr().String(), natscodec.Login{}, row, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil || !line.MatchString(b.String()) {
			t.Errorf("%q, %v", b.String(), err)
		}
	}
}

// A server that delivers something else is found out, and one that is not there is told.
func TestWrong(t *testing.T) {
	row := Rows[6]
	row.Payload = "ok"
	s, err := bus.New(bus.Config{Port: -1, DenyPublish: []string{"foo"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s.Addr().String(), natscodec.Login{}, row, time.Millisecond); err == nil || !strings.Contains(err.Error(), "PubSub: delivery 1 of 1 is \"-ERR ") {
		t.Errorf("%v", err)
	}
	_ = s.Shutdown(context.Background())
	if _, err := Run(t.Context(), s.Addr().String(), natscodec.Login{}, row, time.Millisecond); err == nil {
		t.Error("nobody is there")
	}
}
