package lifecycle

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// Server is an http.Server, or one that keeps its promises: Serve returns
// http.ErrServerClosed after the others were called.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// HTTP returns a Service that serves on an open listener. Its Drain stops
// accepting, closes idle connections and waits for the requests that are being
// answered; when the drain's time is up it closes their connections.
//
// A handler that streams without end must end by itself when the server drains:
// see [http.Server.RegisterOnShutdown]. The same holds for hijacked connections.
func HTTP(name string, srv Server, ln net.Listener) Service {
	return Service{
		Name: name,
		Run: func(context.Context) error {
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Drain: func(ctx context.Context) error {
			err := srv.Shutdown(ctx)
			if err != nil {
				err = errors.Join(err, srv.Close())
			}
			return err
		},
	}
}
