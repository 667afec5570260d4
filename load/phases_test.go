package load_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

func count(h *histogram.Histogram) int64 {
	if h == nil {
		return -1
	}
	return int64(h.Count())
}

// Without TLS the time of a connection is that of TCP, with both engines, and nothing is said of
// parts that there are not.
func TestPhasesWithoutTLS(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		address := serve(t, echo)
		r, err := load.Run(t.Context(), load.Plan{Address: address, Codec: ping(8), Conns: 3, Count: 60, PerConn: 10, Engine: e}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Total
		if v.Connects < 6 || count(v.TCP) != v.Connects || !v.TCP.Equal(v.Connect) || v.TLS != nil || v.DNS != nil {
			t.Errorf("%d connections: TCP %d, TLS %d, DNS %d", v.Connects, count(v.TCP), count(v.TLS), count(v.DNS))
		}
		_, port, _ := net.SplitHostPort(address)
		r, err = load.Run(t.Context(), load.Plan{Address: "localhost:" + port, Codec: ping(8), Count: 1, Engine: e}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if count(r.Total.DNS) != 1 {
			t.Errorf("a name was resolved %d times", count(r.Total.DNS))
		}
	})
}

// With TLS each connection has a time for TCP and one for the handshake, and both are within the
// time of the connection.
func TestPhasesWithTLS(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	address := serve(t, func(c net.Conn) {
		s := tls.Server(c, pair.TLS)
		_, _ = io.Copy(s, s)
	})
	r, err := load.Run(t.Context(), load.Plan{
		Address: address, Codec: ping(8), Conns: 2, Count: 40, PerConn: 10, TLS: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &r.Total
	if v.Connects < 4 || count(v.TCP) != v.Connects || count(v.TLS) != v.Connects {
		t.Fatalf("%d connections: TCP %d, TLS %d", v.Connects, count(v.TCP), count(v.TLS))
	}
	if sum := v.TCP.Mean() + v.TLS.Mean(); v.TLS.Min() <= 0 || sum > v.Connect.Mean()+v.Connect.Mean()/100 {
		t.Errorf("TCP %v and TLS %v of %v", v.TCP.Mean(), v.TLS.Mean(), v.Connect.Mean())
	}
}

// A run that has all its answers does not wait for connections that are still being made.
func TestEndWithAHandshakeUnderWay(t *testing.T) {
	t.Parallel()
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	var connections atomic.Int32
	address := serve(t, func(c net.Conn) {
		if connections.Add(1) > 2 { // the probe, and one connection of the run
			_, _ = io.Copy(io.Discard, c)
			return
		}
		s := tls.Server(c, pair.TLS)
		_, _ = io.Copy(s, s)
	})
	const timeout = time.Minute
	r, err := load.Run(t.Context(), load.Plan{
		Address: address, Codec: ping(8), Conns: 2, Count: 10, Timeout: timeout,
		TLS: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Done != 10 || r.Elapsed > timeout/2 {
		t.Errorf("%d answers in %v", r.Total.Done, r.Elapsed)
	}
}
