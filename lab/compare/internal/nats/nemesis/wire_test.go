package nemesis

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"paddock/internal/platform/position"
	"paddock/wire"
)

// wireDoor is pos.update with acknowledgement, in one session over all nodes, as an agent has it.
type wireDoor struct {
	client *wire.Client
	target atomic.Pointer[node]
	node   *node // of the last call
	time   int64 // of the posts
	last   uint64
}

func newWireDoor() (d *wireDoor, err error) {
	d = &wireDoor{}
	d.client, err = wire.NewClient(wire.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			to := d.target.Load()
			if to == nil {
				return nil, io.EOF
			}
			return new(net.Dialer).DialContext(ctx, "tcp", to.wire)
		},
		DialTimeout: 2 * time.Second, MinBackoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Config: &wire.Config{Logger: slog.New(slog.DiscardHandler), Idle: 4 * time.Second},
	})
	return d, err
}

func (d *wireDoor) close() { _ = d.client.Close() } // everything is acknowledged

// send posts positions once. If they are not acknowledged in time, the next call waits for them at
// another node, to which the client sends them again.
func (d *wireDoor) send(ctx context.Context, n *node, objects []string, t int64, lat float64) error {
	if d.target.Store(n); d.node != nil && d.node != n {
		for _, c := range d.client.Conns() {
			c.Abort(wire.Cancelled)
		}
	}
	if d.node = n; d.time != t {
		for _, o := range objects {
			body, err := position.Append(nil, &position.Position{ID: o, Time: t, Lon: 0.5, Lat: lat})
			if err != nil {
				return err
			}
			if d.last, err = d.client.PostAck(ctx, "pos.update", body); err != nil {
				return fmt.Errorf("post: %w", err)
			}
		}
		d.time = t
	}
	return d.client.WaitAcked(ctx, d.last)
}
