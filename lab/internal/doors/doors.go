// Package doors starts platforms, as processes of `paddock up`, and sends positions through their
// doors: wire, HTTP and the bus. Tile38 gets the same positions as points.
package doors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"paddock/internal/platform/position"
)

// Load is how long positions are sent, or each vehicle how many times.
type Load struct {
	Length    time.Duration
	Positions int     // of all vehicles once; 0: Length counts
	Times     int     // that each vehicle sends, with Positions; 0: once
	PerSecond float64 // of all connections, batch after batch at even distances; 0: as many as are taken
}

// Window is the figures of a load.
type Window struct {
	Positions int64 // acknowledged
	Elapsed   time.Duration
	// Latencies are of batches, to the acknowledgement of the last position: from the first byte,
	// or with PerSecond from the time at which the batch was due.
	Latencies []time.Duration
}

// Sender is the way in which positions are sent.
type Sender struct {
	Agent  string // name of the client
	Batch  int    // positions
	Window int    // batches of a connection that are sent and not acknowledged
}

// connection is one connection of a client. Two goroutines use it: one sends, the other one waits
// for acknowledgements.
type connection interface {
	// encode makes the message of a batch, which post sends.
	encode(positions []position.Position) error
	// post returns the number by which await knows the batch.
	post(ctx context.Context) (last uint64, err error)
	// await returns when the service has taken a batch. Batches come in the order of post.
	await(ctx context.Context, b batch) error
	Close() error
}

// dial opens the connection of a lane. The context ends with the load.
type dial func(ctx context.Context, lane int) (connection, error)

// Door is a way into a service.
type Door string

// The doors of a platform.
const (
	Wire Door = "wire" // posts of pos.update, each acknowledged
	HTTP Door = "http" // POST /v1/positions with lines of JSON
	Bus  Door = "bus"  // a message pos.<fleet>.<object> for each position; the last one of a batch is answered
)

// Fleets deals vehicles of a fleet to the connections that the door needs for as many batches under
// way as the others have: HTTP answers one request of a connection after the other.
func (s *Sender) Fleets(d Door, p *Places, fleet string, vehicles, conns int) []*Fleet {
	if d == HTTP {
		conns = min(conns*s.Window, vehicles)
	}
	all := p.Fleets(vehicles, conns)
	for _, f := range all {
		f.Name = fleet
	}
	return all
}

// Send sends positions through a door, until all of them are acknowledged.
func (s *Sender) Send(ctx context.Context, d Door, p *Platform, fleets []*Fleet, l Load) (Window, error) {
	switch d {
	case Wire:
		return s.Wire(ctx, p.Wire, fleets, l)
	case HTTP:
		return s.HTTP(ctx, p.HTTP, fleets, l)
	case Bus:
		return s.Bus(ctx, p.Bus, fleets, l)
	}
	return Window{}, fmt.Errorf("unknown door %q", d)
}

// Parse returns the doors with these names, each once.
func Parse[S ~string](names []S) (all []Door, err error) {
	for _, name := range names {
		d := Door(name)
		switch {
		case d != Wire && d != HTTP && d != Bus:
			return nil, fmt.Errorf("unknown door %q: use wire, http or bus", name)
		case slices.Contains(all, d):
			return nil, fmt.Errorf("%s is named twice", name)
		}
		all = append(all, d)
	}
	return all, nil
}
