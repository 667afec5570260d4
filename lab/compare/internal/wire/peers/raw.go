package peers

import (
	"context"
	"net"
	"sync/atomic"
)

// Raw is the floor: one TCP connection, or one tls.Conn, and nothing on top.
// Go's defaults: TCP_NODELAY, the kernel's buffers; crypto/tls with its dynamic
// record sizes, which is how a tls.Conn is used.
var Raw = Peer{
	Name:  "raw",
	About: "net.Conn or tls.Conn of the standard library; one stream, nothing multiplexed",
	Serve: func(svc *Service) (func() error, error) {
		return acceptLoop(svc.listener(), func(nc net.Conn) {
			_ = serveStream(nc, svc.Sink) // ends with the connection; what is missing shows in the count
		}), nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		if err != nil {
			return nil, err
		}
		var taken atomic.Bool
		return &streamSession{
			open: func() (net.Conn, error) {
				if taken.Swap(true) {
					return nil, unsupported("a bare connection carries one thing")
				}
				return nc, nil
			},
			close: nc.Close,
		}, nil
	},
}
