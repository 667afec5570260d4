package durable

import (
	"context"
	"errors"
	"fmt"

	"paddock/lab/internal/doors"
)

// peer is Tile38 with an append-only file. Each fence is a channel, and nothing subscribes to them.
type peer struct {
	*doors.Peer
	b      *bench
	fleets []*doors.Fleet
	rounds []window
}

// startPeer starts Tile38 if it is there, and gives it all objects. Without it the report has the
// reason.
func (b *bench) startPeer(ctx context.Context) (*peer, error) {
	program, missing := doors.FindPeer(b.Peer)
	if missing != "" {
		b.report.Missing = missing
		return nil, nil
	}
	p := &peer{b: b, fleets: b.places.Fleets(b.Objects, b.Conns)}
	var err error
	if p.Peer, err = doors.StartPeer(ctx, program, b.root, b.Sets, "", true); err != nil {
		return nil, err
	}
	b.Say("%s: %d objects", doors.PeerName, b.Objects)
	if _, err := b.sender.Tile38(ctx, p.Peer, p.fleets, doors.Load{Positions: b.Objects}); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

// measure makes the load of a round.
func (p *peer) measure(ctx context.Context, _ int) error {
	w, err := p.b.sender.Tile38(ctx, p.Peer, p.fleets, doors.Load{Length: p.b.Duration})
	if err != nil {
		return fmt.Errorf("%s: %w", doors.PeerName, err)
	}
	p.rounds = append(p.rounds, window{Window: w})
	return nil
}

func (p *peer) note() { p.b.report.addFeed(newFeed(doors.PeerName, p.rounds)) }

func (p *peer) stop(ctx context.Context) error { return p.End(ctx) }
