package wire

import (
	"errors"
	"net"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/nowait"
)

const (
	// defaultMaxStanding bounds those for whom there is no place yet: each is a socket, some
	// 4 KiB with what the system has for it.
	defaultMaxStanding = 16_384
	// secureTimeout is how long a connection may take to be opened from the moment of its
	// accept, where it is us who take that long; and how long a client has for it.
	secureTimeout = 30 * time.Second
	// usherEach is how often it is looked who has spoken, or has stood for too long.
	usherEach = 20 * time.Millisecond
)

// stand has a connection wait for a place, or refuses it. s.mu is held.
func (s *Server) stand(nc net.Conn) {
	in, out := s.room.Enter(nc, s.mostStanding())
	if !in {
		out = nc
	}
	if out != nil {
		s.refuse(out, crowded)
	}
	if in && !s.ushering {
		s.ushering = true
		s.tasks.Add(1)
		go s.usher()
	}
}

// mostStanding is how many may wait, besides those that are here. s.mu is held.
func (s *Server) mostStanding() int {
	most := orDefault(s.MaxWaiting, defaultMaxStanding)
	if s.MaxSockets > 0 {
		most = min(most, max(s.MaxSockets-len(s.conns)-len(s.opening), 0))
	}
	return most
}

// heard says whether the peer of a connection has said something, and whether he has gone.
// It is not known where there is no socket.
func heard(nc net.Conn) (spoken, gone bool) {
	raw := nowait.Raw(nc)
	if raw == nil {
		return true, false
	}
	err := raw.Control(func(fd uintptr) { spoken, gone = nowait.Heard(fd) })
	return spoken, gone || err != nil
}

// calls tells the usher that there may be a place.
func (s *Server) calls() {
	select {
	case s.called <- struct{}{}:
	default:
	}
}

// usher gives places to those who wait, for as long as there are any.
func (s *Server) usher() {
	defer s.tasks.Done()
	ticker := time.NewTicker(usherEach)
	defer ticker.Stop()
	for s.seat() {
		select {
		case <-s.ctx.Done():
		case <-s.called:
		case <-ticker.C:
		}
	}
}

// seat gives away the places that there are. It says whether somebody still waits.
func (s *Server) seat() (more bool) {
	type drop struct {
		nc  net.Conn
		err error
	}
	var drops []drop
	defer func() {
		for _, d := range drops {
			s.notOpened(d.nc, d.err, true)
		}
	}()
	dropped := func(nc net.Conn, err error) {
		_ = nc.Close()
		if errors.Is(err, handshake.ErrQueueTimeout) {
			s.stats.Refused++
		} else {
			s.stats.Failed++
		}
		drops = append(drops, drop{nc, err})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place := func(nc net.Conn) bool {
		if s.full() {
			s.refuse(nc, tooMany)
			return true
		}
		return s.place(nc)
	}
	for !s.stopped && s.room.Next(place, dropped) {
	}
	s.ushering = !s.stopped && s.room.Len() > 0
	return s.ushering
}

// gate lets any number of goroutines wait for a change, each with its own context. A change
// wakes all of them; a goroutine that still cannot continue waits again. The gate is guarded by
// its owner's lock.
type gate struct{ changed chan struct{} }

// wait returns a channel that the next open closes.
func (g *gate) wait() <-chan struct{} {
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

// open wakes all waiting goroutines.
func (g *gate) open() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
