package wiretest_test

import (
	"io"
	"net"
	"testing"
	"time"

	"paddock/wire/wiretest"
)

// A gigabit per second at 50 ms round trip.
var gigabit = wiretest.LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond}

// BenchmarkBulk sends through each transport in writes of 64 KiB. The metric
// of-rate is the share of the link's rate that is reached, the delay not counted:
// from the first byte that comes to the last.
func BenchmarkBulk(b *testing.B) {
	b.Run("pipe", func(b *testing.B) {
		w, r := wiretest.Pipe(1 << 20)
		bulk(b, w, r, 0)
	})
	b.Run("link", func(b *testing.B) {
		w, r := wiretest.Link(gigabit)
		bulk(b, w, r, gigabit.Rate)
	})
	b.Run("shaper", func(b *testing.B) {
		client, server, _ := shaped(b, gigabit)
		bulk(b, client, server, gigabit.Rate)
	})
}

func bulk(b *testing.B, w, r net.Conn, rate int64) {
	const size = 64 << 10
	b.SetBytes(size)
	go func() {
		defer w.Close()
		p := make([]byte, size)
		for range b.N {
			if _, err := w.Write(p); err != nil {
				b.Error(err)
				return
			}
		}
	}()
	first, err := io.ReadFull(r, make([]byte, 1))
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	begun := time.Now()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, size))
	if n += int64(first); err != nil || n != size*int64(b.N) {
		b.Fatalf("%d bytes came: %v", n, err)
	}
	if rate > 0 {
		b.ReportMetric(float64(n)/float64(rate)/time.Since(begun).Seconds(), "of-rate")
	}
}

// BenchmarkRoundTrip sends one byte there and back.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("pipe", func(b *testing.B) {
		near, far := wiretest.Pipe(0)
		roundTrip(b, near, far)
	})
	b.Run("link of 1 ms", func(b *testing.B) {
		near, far := wiretest.Link(wiretest.LinkConfig{Rate: 125e6, Delay: 500 * time.Microsecond})
		roundTrip(b, near, far)
	})
	b.Run("link of 50 ms", func(b *testing.B) {
		near, far := wiretest.Link(gigabit)
		roundTrip(b, near, far)
	})
}

func roundTrip(b *testing.B, near, far net.Conn) {
	defer near.Close()
	go io.Copy(far, far)
	p := make([]byte, 1)
	for b.Loop() {
		if _, err := near.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := near.Read(p); err != nil {
			b.Fatal(err)
		}
	}
}
