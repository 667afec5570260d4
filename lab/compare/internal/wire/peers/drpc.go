package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcserver"
)

// DRPC is storj's, with its defaults: a flush with every message. Its connection
// carries one call or stream at a time, and further callers wait for it; that is
// its design, whose answer to many callers is a pool of connections.
var DRPC = Peer{
	Name:  "drpc",
	About: "storj.io/drpc; raw-bytes encoding, defaults; one call at a time on a connection",
	Serve: func(svc *Service) (func() error, error) {
		server := drpcserver.New(&drpcHandler{sink: svc.Sink})
		ctx, cancel := context.WithCancel(context.Background())
		stop := acceptLoop(svc.listener(), func(nc net.Conn) {
			_ = server.ServeOne(ctx, nc) // ends with the connection; missing bytes show in the count
		})
		return func() error {
			cancel()
			return stop()
		}, nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		if err != nil {
			return nil, err
		}
		return &drpcSession{conn: drpcconn.New(nc)}, nil
	},
}

const (
	drpcEcho  = "echo"
	drpcPosts = "posts"
)

// rawEncoding carries a message's bytes as they are.
type rawEncoding struct{}

func (rawEncoding) Marshal(v drpc.Message) ([]byte, error) { return v.(*message).body, nil }

// MarshalAppend saves drpc one of two copies.
func (rawEncoding) MarshalAppend(buf []byte, v drpc.Message) ([]byte, error) {
	return append(buf, v.(*message).body...), nil
}

func (rawEncoding) Unmarshal(buf []byte, v drpc.Message) error {
	m := v.(*message)
	m.body = append(m.body[:0], buf...)
	return nil
}

type drpcHandler struct{ sink *Sink }

func (h *drpcHandler) HandleRPC(stream drpc.Stream, rpc string) error {
	m := &message{}
	switch rpc {
	case drpcEcho:
		if err := stream.MsgRecv(m, rawEncoding{}); err != nil {
			return err
		}
		return stream.MsgSend(m, rawEncoding{})
	case drpcPosts:
		counter := h.sink.Counter()
		for {
			if err := stream.MsgRecv(m, rawEncoding{}); errors.Is(err, io.EOF) {
				return stream.CloseSend()
			} else if err != nil {
				return err
			}
			counter.Add(1, len(m.body))
		}
	}
	return fmt.Errorf("no such call: %q", rpc)
}

type drpcSession struct {
	conn *drpcconn.Conn

	mu    sync.Mutex
	posts drpc.Stream // the only one; its MsgSend may be called by many
}

func (s *drpcSession) Requester(context.Context) (Requester, error) {
	return &drpcRequester{conn: s.conn}, nil
}

// Poster returns a sender on the connection's only stream.
func (s *drpcSession) Poster(ctx context.Context) (Sender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts == nil {
		stream, err := s.conn.NewStream(ctx, drpcPosts, rawEncoding{})
		if err != nil {
			return nil, err
		}
		s.posts = stream
	}
	return &drpcSender{stream: s.posts}, nil
}

func (s *drpcSession) Bulk(ctx context.Context) (Sender, error) {
	s.mu.Lock()
	taken := s.posts != nil
	s.mu.Unlock()
	if taken {
		return nil, unsupported("one stream at a time")
	}
	return s.Poster(ctx)
}

func (s *drpcSession) Close() error { return s.conn.Close() }

type drpcRequester struct {
	conn        *drpcconn.Conn
	out, answer message
}

func (r *drpcRequester) Request(ctx context.Context, body []byte) ([]byte, error) {
	r.out.body = body
	err := r.conn.Invoke(ctx, drpcEcho, rawEncoding{}, &r.out, &r.answer)
	return r.answer.body, err
}

type drpcSender struct {
	stream drpc.Stream
	out    message
}

func (s *drpcSender) Send(_ context.Context, body []byte) error {
	s.out.body = body
	return s.stream.MsgSend(&s.out, rawEncoding{})
}
