package wire_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"paddock/wire"
)

const (
	bulkWrite = 64 << 10
	bulkRound = 32 << 20 // bytes that each way carries before the other one's turn
)

// BenchmarkTLSBulk carries bytes over a plain tls.Conn and over a stream of wire
// with TLS, in turns and by writes of 64 KiB, and reports the median of the ratios
// of each turn: on a machine that does other things as well they mean something, the
// rates alone do not. ratio is the rate of wire to that of tls, cpu-ratio what wire
// costs to what tls does.
//
//	go test ./wire -run '^$' -bench TLSBulk -benchtime 15x
func BenchmarkTLSBulk(b *testing.B) {
	plain, secured := plainSink(b), wireSink(b)
	plain(bulkRound / 4)
	secured(bulkRound / 4)
	var ratios, costs, base []float64
	b.SetBytes(2 * bulkRound)
	for b.Loop() {
		start := processor(b)
		p := plain(bulkRound)
		middle := processor(b)
		w := secured(bulkRound)
		costs = append(costs, float64(processor(b)-middle)/float64(middle-start))
		base = append(base, bulkRound/p.Seconds()/1e6)
		ratios = append(ratios, p.Seconds()/w.Seconds())
	}
	slices.Sort(ratios)
	slices.Sort(base)
	slices.Sort(costs)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(ratios[len(ratios)/10], "ratio-p10")
	b.ReportMetric(costs[len(costs)/2], "cpu-ratio")
	b.ReportMetric(base[len(base)/2], "tls-MB/s")
}

// processor is how long this process has computed.
func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTLSOnly is one of both alone, for profiles.
func BenchmarkTLSOnly(b *testing.B) {
	for name, sink := range map[string]func(testing.TB) func(int) time.Duration{"plain": plainSink, "wire": wireSink} {
		b.Run(name, func(b *testing.B) {
			send := sink(b)
			send(bulkRound)
			b.SetBytes(bulkRound)
			for b.Loop() {
				send(bulkRound)
			}
		})
	}
}

// plainSink returns a function that carries n bytes over a tls.Conn, and says how
// long it took until the last one was read.
func plainSink(tb testing.TB) func(n int) time.Duration {
	l, err := tls.Listen("tcp", "127.0.0.1:0", serverTLS())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	got := make(chan struct{})
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		accepted <- nc
		counts(nc, got)
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), clientTLS())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Close()
		(<-accepted).Close()
	})
	return func(n int) time.Duration { return push(tb, c, n, got) }
}

// wireSink is plainSink over a stream.
func wireSink(tb testing.TB) func(n int) time.Duration {
	got := make(chan struct{})
	mux := wire.NewMux()
	mux.HandleStream("sink", func(_ context.Context, s *wire.Stream) error {
		_, err := s.WriteTo(&turns{got: got})
		return err
	})
	s := &wire.Server{Config: &wire.Config{Mux: mux, TLS: serverTLS()}}
	c := dial(tb, serve(tb, s), &wire.Config{TLS: clientTLS()})
	stream, err := c.Open(context.Background(), "sink", wire.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return func(n int) time.Duration { return push(tb, stream, n, got) }
}

// push writes n bytes behind a length, and waits until the other end has them.
func push(tb testing.TB, w io.Writer, n int, got <-chan struct{}) time.Duration {
	p := make([]byte, bulkWrite)
	begin := time.Now()
	for sent := 0; sent < n; sent += len(p) {
		if sent+len(p) >= n {
			p[len(p)-1] = 1 // the last byte
		}
		if _, err := w.Write(p); err != nil {
			tb.Fatal(err)
		}
	}
	<-got
	return time.Since(begin)
}

// turns tells of each last byte.
type turns struct{ got chan<- struct{} }

func (t *turns) Write(b []byte) (int, error) {
	if b[len(b)-1] == 1 {
		t.got <- struct{}{}
	}
	return len(b), nil
}

func counts(r io.Reader, got chan<- struct{}) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{&turns{got: got}}, r, make([]byte, bulkWrite))
}
