package peers

import (
	"context"
	"net"

	"github.com/xtaci/smux"
)

// Smux runs version 2 of its protocol, which has credit for each stream, with
// the largest frames, and buffers raised from 64 KiB for a stream so that no bulk
// stream waits for them. The keep-alive is off: it measures nothing here.
var Smux = Peer{
	Name:  "smux",
	About: "github.com/xtaci/smux; version 2, frames of 65,535 bytes, 4 MiB for a stream, a stream per requester, one for posts",
	Serve: func(svc *Service) (func() error, error) {
		return acceptLoop(svc.listener(), func(nc net.Conn) {
			session, err := smux.Server(nc, smuxConfig())
			if err != nil {
				return
			}
			serveSession(func() (net.Conn, error) { return session.AcceptStream() }, svc.Sink)
			session.Close()
		}), nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		if err != nil {
			return nil, err
		}
		session, err := smux.Client(nc, smuxConfig())
		if err != nil {
			nc.Close()
			return nil, err
		}
		return &streamSession{
			open:  func() (net.Conn, error) { return session.OpenStream() },
			close: session.Close,
		}, nil
	},
}

func smuxConfig() *smux.Config {
	c := smux.DefaultConfig()
	c.Version = 2
	c.KeepAliveDisabled = true
	c.MaxFrameSize = 65535
	c.MaxReceiveBuffer = 16 << 20
	c.MaxStreamBuffer = 4 << 20
	return c
}
