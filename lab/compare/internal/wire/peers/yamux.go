package peers

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/hashicorp/yamux"
)

// Yamux runs with its defaults but for the window, which is raised from 256 KiB
// so that no bulk stream waits for it, and for the keep-alive, which is off: it
// measures nothing here.
var Yamux = Peer{
	Name:  "yamux",
	About: "github.com/hashicorp/yamux; windows of 4 MiB, a stream per requester, one for posts",
	Serve: func(svc *Service) (func() error, error) {
		return acceptLoop(svc.listener(), func(nc net.Conn) {
			session, err := yamux.Server(nc, yamuxConfig())
			if err != nil {
				return
			}
			serveSession(session.Accept, svc.Sink)
			session.Close()
		}), nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		if err != nil {
			return nil, err
		}
		session, err := yamux.Client(nc, yamuxConfig())
		if err != nil {
			nc.Close()
			return nil, err
		}
		return &streamSession{open: session.Open, close: session.Close}, nil
	},
}

func yamuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.MaxStreamWindowSize = 4 << 20
	c.LogOutput = io.Discard
	return c
}

// serveSession serves the streams of one connection, until there are no more.
func serveSession(accept func() (net.Conn, error), sink *Sink) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		stream, err := accept()
		if err != nil {
			return
		}
		running.Go(func() {
			_ = serveStream(stream, sink) // ends with the stream; missing bytes show in the count
			stream.Close()
		})
	}
}
