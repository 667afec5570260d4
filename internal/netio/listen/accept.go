package listen

import (
	"context"
	"net"
	"time"
)

// minPause and maxPause bound the pause after an Accept that has failed. It doubles from one to the
// other, and is short again after the next connection.
const minPause, maxPause = 5 * time.Millisecond, time.Second

// Accept calls serve with each connection of l, until ctx ends. failed is called with the error of
// an Accept and the pause that follows it; an error of its own ends Accept, which returns it.
func Accept(ctx context.Context, l net.Listener, serve func(net.Conn), failed func(err error, pause time.Duration) error) error {
	for pause := minPause; ; {
		conn, err := l.Accept()
		if err == nil {
			pause = minPause
			serve(conn)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := failed(err, pause); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}
