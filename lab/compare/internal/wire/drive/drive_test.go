package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a server in this process.
type local struct{ sink *peers.Sink }

func (l local) Usage() (measure.Usage, error) { return measure.OwnUsage() }

func (l local) Received() (messages, bytes int64, err error) {
	messages, bytes = l.sink.Totals()
	return messages, bytes, nil
}

func (l local) Await(bytes int64, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); _ = lifecycle.Sleep(context.Background(), time.Millisecond) {
		if _, b := l.sink.Totals(); b >= bytes {
			return nil
		}
	}
	return fmt.Errorf("not within %v", limit)
}

// connect serves a peer and reaches it. The error is the peer's own.
func connect(t *testing.T, peer peers.Peer, withTLS bool) (peers.Session, local, error) {
	t.Helper()
	svc := &peers.Service{Sink: &peers.Sink{}}
	target := peers.Target{}
	if withTLS {
		config, certificate, err := peers.NewCertificate()
		if err != nil {
			t.Fatal(err)
		}
		svc.TLS = config
		if target.TLS, err = peers.ClientTLS(certificate); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if svc.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Listener.Close() })
	svc.Addr = svc.Listener.Addr().String()
	stop, err := peer.Serve(svc)
	if err != nil {
		return nil, local{}, err
	}
	t.Cleanup(func() { _ = stop() }) // its error depends on which side ended first
	target.Addr = svc.Addr
	session, err := peer.Dial(t.Context(), target)
	if err != nil {
		return nil, local{}, err
	}
	t.Cleanup(func() { session.Close() })
	return session, local{svc.Sink}, nil
}

// cannot lists the missing operations, as "peer operation" and "peer TLS".
var cannot = map[string]bool{
	"raw requests": true, "raw posts": true, "raw paced": true, "raw beside": true,
}

// Every peer does every operation that it has, and its messages have arrived: Run itself compares
// the counts.
func TestEveryPeer(t *testing.T) {
	short := measure.Options{Warmup: 2 * time.Millisecond, Duration: 10 * time.Millisecond}
	for _, peer := range peers.All() {
		for _, op := range []measure.Operation{Requests, RoundTrip, Posts, Bulk, Paced, Beside} {
			for _, withTLS := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/tls=%v", peer.Name, op, withTLS), func(t *testing.T) {
					var m *measure.Measurement
					session, remote, err := connect(t, peer, withTLS)
					if err == nil {
						m, err = Run(t.Context(), op, session, remote, short)
					}
					want := cannot[peer.Name+" "+string(op)]
					if got := errors.Is(err, errors.ErrUnsupported); got != want || err != nil && !want {
						t.Fatalf("got %v; is it supported: %v", err, !want)
					}
					if !want {
						check(t, op, m)
					}
				})
			}
		}
	}
}

func check(t *testing.T, op measure.Operation, m *measure.Measurement) {
	t.Helper()
	if m.Elapsed < 10*time.Millisecond-Pace { // a paced window ends with the answer to its last request
		t.Errorf("a window of %v", m.Elapsed)
	}
	size := int64(peers.SmallSize)
	if op == Bulk {
		size = peers.BulkSize
	}
	if op != Paced && op != Beside && m.Bytes != m.Ops*size {
		t.Errorf("%d operations of %d bytes are %d bytes", m.Ops, size, m.Bytes)
	}
	// A call at a border of the window may be in one of the two counts alone.
	if timed := m.Latency.Count; op == RoundTrip && max(timed-m.Ops, m.Ops-timed) > 1 || (op == Paced || op == Beside) && timed != m.Ops {
		t.Errorf("%d of %d samples were recorded", timed, m.Ops)
	}
}

func TestUnknownOperation(t *testing.T) {
	if _, err := Run(t.Context(), "sing", nil, nil, measure.Options{}); err == nil {
		t.Error("no error")
	}
}
