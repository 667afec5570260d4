package wiretest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire/wiretest"
)

// since checks how much of the bubble's time has passed.
func since(t *testing.T, what string, begun time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(begun); d != want {
		t.Errorf("%s after %v, want %v", what, d, want)
	}
}

func TestLinkTimesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link(t, slow)
		begun := time.Now()
		wantWrite(t, a, "0123456789")
		since(t, "a write into the empty queue returns", begun, 0)
		wantRead(t, b, "0")
		since(t, "the first byte comes", begun, 101*time.Millisecond)
		wantRead(t, b, "123456789")
		since(t, "the last byte comes", begun, 110*time.Millisecond)
		wantWrite(t, b, "!")
		wantRead(t, a, "!")
		since(t, "the answer comes", begun, 211*time.Millisecond)
	})
}

func TestAFullQueueHoldsTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link(t, slow)
		begun := time.Now()
		go io.Copy(io.Discard, b)
		wantWrite(t, a, string(make([]byte, 100)))
		since(t, "a write into the empty queue returns", begun, 0)
		wantWrite(t, a, "1")
		since(t, "a write into the full queue returns", begun, time.Millisecond)
		wantWrite(t, a, string(make([]byte, 1000)))
		since(t, "a write of ten queues returns", begun, 1001*time.Millisecond)
	})
}

// TestAReaderThatDoesNotReadStopsTheWriter counts what a link holds.
func TestAReaderThatDoesNotReadStopsTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			link wiretest.LinkConfig
			want int
		}{
			"two buffers and what is on its way": {slow, 100 + 100 + 100 + 1},
			"the buffer":                         {wiretest.LinkConfig{Delay: time.Second, Buffer: 100}, 100},
		} {
			a, b := link(t, c.link)
			a.SetWriteDeadline(time.Now().Add(time.Hour))
			total := 0
			for err := error(nil); err == nil; {
				var n int
				n, err = a.Write([]byte{1})
				total += n
			}
			if total != c.want {
				t.Errorf("%s: holds %d bytes, want %d", name, total, c.want)
			}
			a.SetWriteDeadline(time.Time{})
			go func() { a.Write(make([]byte, 1000)); a.Close() }()
			if n, err := io.Copy(io.Discard, b); n != int64(total)+1000 || err != nil {
				t.Errorf("%s: %d bytes came, %v", name, n, err)
			}
		}
	})
}

// TestLinkReachesItsRate sends in writes of every size, over links
// that are long, short, fast, and of rates that do not divide a second.
func TestLinkReachesItsRate(t *testing.T) {
	for name, cfg := range map[string]wiretest.LinkConfig{
		"a gigabit at 50 ms": {Rate: 125e6, Delay: 25 * time.Millisecond},
		"a long one":         {Rate: 10e6, Delay: 300 * time.Millisecond},
		"an odd one":         {Rate: 1_234_567, Delay: 12_345_678, Buffer: 1500, Coalesce: -1},
		"a small queue":      {Rate: 1e6, Delay: time.Millisecond, Buffer: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link(t, cfg)
				total := cfg.Rate / 10
				begun := time.Now()
				go func() {
					defer a.Close()
					p := make([]byte, 100_000)
					for left, size := total, int64(1); left > 0; size = size%int64(len(p)) + 997 {
						n, err := a.Write(p[:min(size, left, int64(len(p)))])
						left -= int64(n)
						if err != nil {
							t.Error(err)
							return
						}
					}
				}()
				if n, err := io.Copy(io.Discard, b); n != total || err != nil {
					t.Fatalf("%d of %d bytes came: %v", n, total, err)
				}
				wire := time.Duration((total*int64(time.Second) + cfg.Rate - 1) / cfg.Rate)
				since(t, "all bytes have come", begun, wire+cfg.Delay)
			})
		})
	}
}

func TestCoalescingDelaysOnlyWhatMoreFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := slow
		cfg.Coalesce = 5 * time.Millisecond
		a, b := link(t, cfg)
		begun := time.Now()
		wantWrite(t, a, "0123456789")
		p := make([]byte, 100)
		n, err := b.Read(p)
		wantErr(t, "the first read", n, 5, err, nil)
		since(t, "it returns", begun, 105*time.Millisecond)
		n, err = b.Read(p)
		wantErr(t, "the second read", n, 5, err, nil)
		since(t, "it returns", begun, 110*time.Millisecond)
	})
}

func TestCloseOverALink(t *testing.T) {
	for name, c := range map[string]struct {
		linger   int
		arrives  int           // of 50 bytes, closed after 20 ms
		end      error         // that the reader gets
		learnsAt time.Duration // and when
	}{
		"FIN comes after the bytes":    {-1, 50, nil, 150 * time.Millisecond},
		"a reset overtakes the queue ": {0, 20, syscall.ECONNRESET, 120 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link(t, slow)
				begun := time.Now()
				wantWrite(t, a, string(make([]byte, 50)))
				time.Sleep(20 * time.Millisecond)
				a.(halfCloser).SetLinger(c.linger)
				a.Close()
				wantWrite(t, b, "nobody reads this")
				p, err := io.ReadAll(b)
				if len(p) != c.arrives || !errors.Is(err, c.end) {
					t.Errorf("%d bytes came, then %v; want %d, then %v", len(p), err, c.arrives, c.end)
				}
				since(t, "the end comes", begun, c.learnsAt)
				if _, err := b.Write(nil); err == nil {
					t.Error("a write to a connection that was closed long ago")
				}
			})
		})
	}
}

// TestAWriterLearnsOfCloseAfterTheDelay blocks it, so that nothing else wakes it.
func TestAWriterLearnsOfCloseAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link(t, wiretest.LinkConfig{Delay: time.Second, Buffer: 10})
		begun := time.Now()
		b.Close()
		n, err := a.Write(make([]byte, 5000))
		wantErr(t, "the write", n, 10, err, syscall.EPIPE)
		since(t, "it fails", begun, time.Second)
	})
}

func TestDeadlinesOverALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link(t, slow)
		begun := time.Now()
		wantWrite(t, a, "late")
		b.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := b.Read(make([]byte, 4))
		wantErr(t, "a read", n, 0, err, os.ErrDeadlineExceeded)
		since(t, "its deadline comes", begun, 50*time.Millisecond)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
		b.SetReadDeadline(time.Now().Add(time.Hour))
		wantRead(t, b, "late")
		since(t, "the bytes come", begun, 104*time.Millisecond)
	})
}

// TestABusyLinkCostsFewWakes counts what a reader does at a gigabit: it is called
// each 200 microseconds, however small the writes are.
func TestABusyLinkCostsFewWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link(t, wiretest.LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond})
		const total = 2_500_000 // 20 ms
		go func() {
			defer a.Close()
			for range total / 100 {
				if _, err := a.Write(make([]byte, 100)); err != nil {
					t.Error(err)
				}
			}
		}()
		n, reads, p := 0, 0, make([]byte, 64<<10)
		for {
			m, err := b.Read(p)
			if n += m; err != nil {
				break
			}
			reads++
		}
		if n != total || reads > 100 {
			t.Errorf("%d bytes came in %d reads, want %d in 100", n, reads, total)
		}
	})
}
