package client

import (
	"context"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// Trial is the result that binding a tunnel would have.
type Trial struct {
	Tunnel string // its name
	Where  string // as visitors would know it, "" if it would not be bound
	Err    error  // why not: an *Error of wire
	Direct bool   // its visitors would go by connections of their own
	Group  string // the group that could share the name, "" if it would be exclusive
	Target error  // why the local service takes no connection, nil if it takes one
}

// Try asks the server at the other end of conn for the results of binding all tunnels, and dials
// each target once. Nothing is bound, and a running client of the same identity is not affected.
// The error is about the whole call: there are no results.
func (c *Client) Try(ctx context.Context, conn *wire.Conn) ([]Trial, error) {
	var trials []Trial
	var all []*target
	for r, asked := range c.asks(c.ids()) {
		a, err := ask(ctx, conn, message.KindTry, r)
		if err != nil {
			return nil, err
		}
		for i, b := range asked {
			var would Bound
			would.take(b, &a, i)
			trials = append(trials, Trial{Tunnel: b.Name, Where: would.Where, Err: would.Err, Direct: would.Direct, Group: would.Group})
		}
		all = append(all, asked...)
	}
	tryTargets(ctx, all, trials)
	return trials, nil
}

// maxTries is how many targets are dialed at once.
const maxTries = 16

// tryTargets fills in Target.
func tryTargets(ctx context.Context, asked []*target, trials []Trial) {
	room, done := make(chan struct{}, maxTries), make(chan struct{}, len(asked))
	for i, b := range asked {
		room <- struct{}{}
		go func() { // ends with its dial
			trials[i].Target = b.try(ctx)
			<-room
			done <- struct{}{}
		}()
	}
	for range asked {
		<-done
	}
}

// try dials the target, and greets it where it must speak HTTP/2.
func (b *target) try(ctx context.Context) error {
	if b.listener != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.DialTimeout)
	defer cancel()
	if p := b.h2; p != nil && p.secure == nil {
		c, err := p.connect(ctx)
		if err != nil {
			return err
		}
		return c.http.Close()
	}
	conn, err := b.connect(ctx, b.secure)
	if err != nil {
		return err
	}
	return conn.Close()
}
