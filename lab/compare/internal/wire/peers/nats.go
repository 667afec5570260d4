package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// NATS is nats-server embedded in the server's process, together with the client that answers and
// receives, which reaches it by loopback; the measured client is in the other process. Limits on
// pending messages are raised so that no message is dropped. One-way messages have a window,
// because a broker has none: the receiver reports its count after every eighth of the window, as a
// careful user would.
var NATS = Peer{
	Name:  "nats",
	About: "nats.go with an embedded nats-server; request/reply over one inbox, one-way messages in a window of 16 MiB",
	Serve: serveNATS,
	Dial:  dialNATS,
}

const (
	natsEcho  = "bench.echo"
	natsPosts = "bench.posts"
	natsAck   = "bench.ack" // how many bytes of bench.posts have been received, as text

	natsWindow  = 16 << 20
	natsPending = 256 << 20
	natsReady   = 5 * time.Second
)

func serveNATS(svc *Service) (func() error, error) {
	if svc.TLS != nil {
		return nil, unsupported("not set up for TLS here")
	}
	if err := svc.Listener.Close(); err != nil {
		return nil, err
	}
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, MaxPending: natsPending,
	})
	if err != nil {
		return nil, err
	}
	go broker.Start()
	stop := func() { broker.Shutdown(); broker.WaitForShutdown() }
	if !broker.ReadyForConnections(natsReady) {
		stop()
		return nil, errors.New("the embedded nats-server does not listen")
	}
	svc.Addr = broker.Addr().String()
	nc, err := receiveNATS(svc)
	if err != nil {
		stop()
		return nil, err
	}
	return func() error {
		nc.Close()
		stop()
		return nil
	}, nil
}

// receiveNATS connects the client that answers requests and takes messages.
func receiveNATS(svc *Service) (*nats.Conn, error) {
	nc, err := nats.Connect("nats://" + svc.Addr)
	if err != nil {
		return nil, err
	}
	_, echoErr := nc.Subscribe(natsEcho, func(m *nats.Msg) {
		_ = m.Respond(m.Data) // fails when the connection ends; so does the requester
	})
	counter := svc.Sink.Counter()
	var received, acked int64
	posts, postsErr := nc.Subscribe(natsPosts, func(m *nats.Msg) {
		counter.Add(1, len(m.Data))
		received += int64(len(m.Data))
		if received-acked >= natsWindow/8 {
			acked = received
			_ = nc.Publish(natsAck, strconv.AppendInt(nil, acked, 10)) // a lost one shows as a sender that waits
		}
	})
	if err := errors.Join(echoErr, postsErr); err != nil {
		nc.Close()
		return nil, err
	}
	if err := errors.Join(posts.SetPendingLimits(-1, -1), nc.Flush()); err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}

func dialNATS(_ context.Context, t Target) (Session, error) {
	if t.Link != nil || t.TLS != nil {
		return nil, unsupported("not set up for TLS or other links here")
	}
	nc, err := nats.Connect("nats://" + t.Addr)
	if err != nil {
		return nil, err
	}
	s := &natsSession{nc: nc, moved: make(chan struct{}, 1)}
	_, err = nc.Subscribe(natsAck, s.acknowledged)
	if err := errors.Join(err, nc.Flush()); err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

type natsSession struct {
	nc          *nats.Conn
	sent, acked atomic.Int64
	moved       chan struct{} // one token: acked has grown; a goroutine that takes it and can go on passes it on
}

func (s *natsSession) acknowledged(m *nats.Msg) {
	n, err := strconv.ParseInt(string(m.Data), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("bench.ack: %v", err)) // the two ends are of one binary
	}
	s.acked.Store(n)
	s.pass()
}

func (s *natsSession) pass() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *natsSession) Requester(context.Context) (Requester, error) { return natsRequester{s.nc}, nil }
func (s *natsSession) Poster(context.Context) (Sender, error)       { return s, nil }
func (s *natsSession) Bulk(context.Context) (Sender, error)         { return s, nil }

// Send publishes within the window. It may be called by many goroutines.
func (s *natsSession) Send(ctx context.Context, body []byte) error {
	if end := s.sent.Add(int64(len(body))); end-s.acked.Load() > natsWindow {
		for end-s.acked.Load() > natsWindow {
			select {
			case <-s.moved:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.pass()
	}
	return s.nc.Publish(natsPosts, body)
}

func (s *natsSession) Close() error {
	s.nc.Close()
	return nil
}

type natsRequester struct{ nc *nats.Conn }

func (r natsRequester) Request(ctx context.Context, body []byte) ([]byte, error) {
	m, err := r.nc.RequestWithContext(ctx, natsEcho, body)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}
