package ingest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

const (
	// sessionsName is the journal's value that holds the sessions.
	sessionsName = "sessions"
	// maxSessions and sessionExpiry bound the sessions that are stored, as in package wire. In
	// memory there are at most twice as many.
	maxSessions   = 1 << 16
	sessionExpiry = 24 * 60 * 60 * 1000
)

// Handled is the progress of a sender: how many posts of its session, of an epoch and an index of
// it, have been handled. It becomes durable with the positions of the batch.
type Handled struct {
	Session [16]byte
	Epoch   uint64
	Index   uint32
	Count   uint64
}

// lane is a session and an index.
type lane struct {
	session [16]byte
	index   uint32
}

// progress is what is known of a lane.
type progress struct {
	epoch, count uint64
	at           track.Millis // of the latest batch
}

// sessions is the progress of senders, as of some record.
type sessions map[lane]progress

func (s sessions) apply(all []Handled, at track.Millis) {
	for _, h := range all {
		l := lane{h.Session, h.Index}
		now := s[l]
		switch {
		case h.Epoch > now.epoch:
			now = progress{epoch: h.Epoch, count: h.Count}
		case h.Epoch == now.epoch:
			now.count = max(now.count, h.Count)
		}
		now.at = at
		s[l] = now
	}
	if len(s) > 2*maxSessions {
		s.forget(at)
	}
}

// Handled returns the number of posts of a lane and an epoch that were handled, 0 if it is not
// known. Without a journal it never is: package wire knows what this process has handled.
func (p *Pipeline) Handled(session [16]byte, epoch uint64, index uint32) uint64 {
	p.state.RLock()
	defer p.state.RUnlock()
	if now := p.sessions[lane{session, index}]; now.epoch == epoch {
		return now.count
	}
	return 0
}

// saveSessions stores the sessions as of the present record, and forgets old ones.
func (p *Pipeline) saveSessions() error {
	s := &p.folding.store
	p.state.Lock()
	p.sessions.forget(s.at)
	b := binary.AppendUvarint(nil, s.number)
	b = binary.AppendUvarint(b, uint64(len(p.sessions)))
	for l, now := range p.sessions {
		b = appendHandled(b, Handled{l.session, now.epoch, l.index, now.count})
		b = binary.AppendVarint(b, int64(now.at))
	}
	p.state.Unlock()
	return p.cfg.Journal.Put(journal.Value{Name: sessionsName, Bytes: b})
}

// forget removes sessions that have sent nothing for long, and the oldest beyond the bound.
func (s sessions) forget(now track.Millis) {
	type aged struct {
		lane
		at track.Millis
	}
	var all []aged
	for l, p := range s {
		if p.at+sessionExpiry < now {
			delete(s, l)
			continue
		}
		all = append(all, aged{l, p.at})
	}
	if len(all) <= maxSessions {
		return
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Compare(a.at, b.at) })
	for _, l := range all[:len(all)-maxSessions] {
		delete(s, l.lane)
	}
}

// loadSessions reads the stored sessions, and returns the number of the record behind them.
func (p *Pipeline) loadSessions() (next uint64, err error) {
	b, err := p.cfg.Journal.Get(sessionsName)
	if errors.Is(err, journal.ErrNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	r := newReader(b)
	next = r.Uint() + 1
	for range r.Count(20) {
		h := r.handled()
		p.sessions.apply([]Handled{h}, track.Millis(r.Int()))
	}
	if r.Failed || len(r.Rest) > 0 {
		return 0, errors.New("the sessions are damaged")
	}
	return next, nil
}

func appendHandled(b []byte, h Handled) []byte {
	b = append(b, h.Session[:]...)
	b = binary.AppendUvarint(b, h.Epoch)
	b = binary.AppendUvarint(b, uint64(h.Index))
	return binary.AppendUvarint(b, h.Count)
}

func (r *inputReader) handled() (h Handled) {
	copy(h.Session[:], r.Take(16))
	h.Epoch, h.Index, h.Count = r.Uint(), uint32(r.Uint()), r.Uint()
	return h
}
