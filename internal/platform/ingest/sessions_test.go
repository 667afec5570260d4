package ingest

import (
	"encoding/binary"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// sessionOf returns the n-th session.
func sessionOf(n int) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// The sessions of senders are bounded between two checkpoints, and the newest ones stay.
func TestSessionsAreBounded(t *testing.T) {
	s := sessions{}
	const all = 5 * maxSessions
	most := 0
	for n := range all {
		s.apply([]Handled{{Session: sessionOf(n), Epoch: 1, Count: 1}}, track.Millis(n))
		most = max(most, len(s))
	}
	if most > 2*maxSessions {
		t.Errorf("%d sessions at once", most)
	}
	for n := all - maxSessions; n < all; n++ {
		if s[lane{sessionOf(n), 0}].count != 1 {
			t.Fatalf("the session %d of %d is forgotten", n, all)
		}
	}
	s.apply([]Handled{{Session: sessionOf(0)}}, sessionExpiry+all)
	if s.forget(sessionExpiry + all); len(s) != 1 {
		t.Errorf("%d sessions after a day", len(s))
	}
}

// Without a journal no session is kept: the process that handled the posts knows them.
func TestSessionsAreKeptWithAJournal(t *testing.T) {
	send := func(p *Pipeline) uint64 {
		b := fixes("v", 1, 1)
		b.Handled = &Handled{Session: sessionOf(1), Epoch: 2, Index: 3, Count: 4}
		submit(t, p, b)
		return p.Handled(sessionOf(1), 2, 3)
	}
	with, _ := openOn(t, Config{}, journal.NewMemory(), nil)
	with.Start(nil)
	defer with.Close(t.Context())
	if n := send(with); n != 4 {
		t.Errorf("%d posts of the session were handled", n)
	}
	without, _ := newPipeline(t, nil, Config{})
	if n := send(without); n != 0 || len(without.sessions) > 0 {
		t.Errorf("without a journal %d, of %d sessions", n, len(without.sessions))
	}
}
