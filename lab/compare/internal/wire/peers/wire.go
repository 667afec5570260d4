package peers

import (
	"context"
	"errors"

	"paddock/wire"
)

// Wire is ours, with no setting changed. Its handlers of requests and posts run
// on the connection's reader, as a look-up would: they neither block nor call.
var Wire = Peer{
	Name:  "wire",
	About: "paddock/wire; zero Config, handlers inline, requests by CallAppend",
	Serve: func(svc *Service) (func() error, error) {
		mux, config := wire.NewMux(), &wire.Config{}
		config.Mux = mux
		wire.Handle(mux, wireEcho, func(_ context.Context, body []byte) ([]byte, error) {
			return body, nil
		}, wire.Inline())
		mux.HandlePosts(wirePosts, func(_ context.Context, posts *wire.Posts) error {
			count, bytes := 0, 0
			for _, body := range posts.All() {
				count++
				bytes += len(body)
			}
			svc.Sink.Add(count, bytes)
			return nil
		}, wire.Inline())
		mux.HandleStream(wireBulk, func(_ context.Context, s *wire.Stream) error {
			_, err := s.WriteTo(svc.Sink)
			return err
		})
		return serveWire(svc, config), nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		conn, err := wire.Dial(ctx, "tcp", t.Addr, &wire.Config{TLS: t.TLS})
		if err != nil {
			return nil, err
		}
		if err := conn.Ready(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return &wireSession{conn}, nil
	},
}

const (
	wireEcho  = "bench.echo"
	wirePosts = "bench.posts"
	wireBulk  = "bench.bulk"
)

type wireSession struct{ conn *wire.Conn }

func (s *wireSession) Requester(context.Context) (Requester, error) {
	return &wireRequester{conn: s.conn}, nil
}

func (s *wireSession) Poster(context.Context) (Sender, error) { return wirePoster{s.conn}, nil }

func (s *wireSession) Bulk(ctx context.Context) (Sender, error) {
	stream, err := s.conn.Open(ctx, wireBulk, wire.OpenOptions{})
	return bulkSender{stream}, err
}

func (s *wireSession) Close() error { return s.conn.Close() }

type wireRequester struct {
	conn   *wire.Conn
	answer []byte
}

func (r *wireRequester) Request(ctx context.Context, body []byte) (answer []byte, err error) {
	r.answer, err = r.conn.CallAppend(ctx, r.answer[:0], wireEcho, body)
	return r.answer, err
}

type wirePoster struct{ conn *wire.Conn }

func (p wirePoster) Send(ctx context.Context, body []byte) error {
	return p.conn.Post(ctx, wirePosts, body)
}

// serveWire accepts connections until stop.
func serveWire(svc *Service, config *wire.Config) (stop func() error) {
	config.TLS = svc.TLS
	server := &wire.Server{Config: config}
	served := make(chan error, 1)
	go func() { served <- server.Serve(svc.Listener) }()
	return func() error { return errors.Join(server.Close(), <-served) }
}
