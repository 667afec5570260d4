package wire_test

import (
	"context"
	"io"
	"testing"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// What a page has, files of up to a quarter of a MiB, comes within three round trips of the
// time at which it was asked for, however long the path is: one for the question, one for
// the first window, and one for what that brought.
func TestAFileNeedsFewRoundTrips(t *testing.T) {
	for _, rtt := range []time.Duration{2 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond} {
		t.Run(rtt.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				file := payload(288 << 10)
				mux := wire.NewMux()
				mux.HandleStream("file", func(_ context.Context, s *wire.Stream) error {
					_, err := s.Write(file)
					return err
				})
				near, far := wiretest.Link(wiretest.LinkConfig{Rate: 1.25e9, Delay: rtt / 2})
				d, a := over(t, near, far, nil, &wire.Config{Mux: mux})
				for range 3 {
					asked := time.Now()
					s, err := d.Open(t.Context(), "file", wire.OpenOptions{})
					if err != nil {
						t.Fatal(err)
					}
					_ = s.CloseWrite()
					if n, err := io.Copy(io.Discard, s); n != int64(len(file)) || err != nil {
						t.Fatalf("%d bytes, %v", n, err)
					}
					_ = s.Close()
					if took := time.Since(asked); took > 3*rtt+time.Millisecond { // at 10 Gbit/s
						t.Errorf("it took %v, %.1f round trips", took, float64(took)/float64(rtt))
					}
				}
				settled(t, d, a)
			})
		})
	}
}
