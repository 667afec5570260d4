package machine

import (
	"encoding/binary"
	"fmt"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// life judges the time: how long the peer has been silent, how long it has taken nothing, and when
// to send PING.
type life struct {
	Idle    time.Duration // T of SPEC section 9
	start   time.Duration
	HeardAt time.Duration // last byte from the peer
	asked   time.Duration // last PING
	owed    time.Duration // the first PING since the peer was heard
	wrote   time.Duration // last progress of a write
	waiting bool          // a write is going on
	counted time.Duration // since when useless frames are counted
	pings   uint64        // the value in our last PING
	rtt     time.Duration // of the last PING that was answered
}

func (l *life) startLife(idle, now time.Duration) {
	*l = life{Idle: idle, start: now, HeardAt: now, asked: now, wrote: now, counted: now}
}

// Heard records that bytes have been received. It is called before they are fed.
func (m *Machine) Heard(now time.Duration) { m.HeardAt = now }

// Wrote records that a write has begun or has made progress; waiting means that some of it is still
// to be written.
func (m *Machine) Wrote(now time.Duration, waiting bool) { m.wrote, m.waiting = now, waiting }

// Tick judges the time, and returns when it must be called again at the latest.
// It may put a PING into the output. The error has closed the connection.
func (m *Machine) Tick(now time.Duration) (next time.Duration, err error) {
	if m.Failure != nil {
		return now, m.Failure
	}
	if m.PeerHello == nil && now-m.start >= HelloTimeout {
		return now, m.closeWith(fmt.Errorf("%w for %v", protocol.ErrHelloLate, HelloTimeout), protocol.Timeout)
	}
	if now-m.HeardAt >= m.Idle || m.waiting && now-m.wrote >= m.Idle {
		return now, m.closeWith(fmt.Errorf("%w for %v", protocol.ErrPeerDead, m.Idle), protocol.PeerDead)
	}
	if now-m.counted >= m.Idle {
		m.useless, m.counted = 0, now
	}
	if m.PeerHello == nil {
		return min(m.start+HelloTimeout, m.HeardAt+m.Idle), nil
	}
	third := m.Idle / 3
	if now-max(m.HeardAt, m.asked) >= third {
		m.Ping(now)
	}
	next = min(max(m.HeardAt, m.asked)+third, m.HeardAt+m.Idle)
	if m.waiting {
		next = min(next, m.wrote+m.Idle)
	}
	return next, nil
}

// Ping asks the peer for a sign of life, which measures the round trip. It takes
// the place of a PING that is not answered yet.
func (m *Machine) Ping(now time.Duration) {
	m.pings++
	if m.asked <= m.HeardAt {
		m.owed = now
	}
	m.asked = now
	m.pingDue = true
}

// Unheard returns for how long a PING has waited without a byte from the peer; 0 if none waits.
func (m *Machine) Unheard(now time.Duration) time.Duration {
	if m.asked <= m.HeardAt {
		return 0
	}
	return now - m.owed
}

// RTT is the last round trip that was measured, 0 if none was.
func (m *Machine) RTT() time.Duration { return m.rtt }

func (m *Machine) onPing(f *frame.Frame, ev *Event) error {
	if !f.Has(frame.FlagPong) {
		m.pong, m.pongDue = [8]byte(f.Body), true
		return nil
	}
	if m.pings == 0 || binary.LittleEndian.Uint64(f.Body) != m.pings {
		return nil
	}
	m.rtt = max(1, m.HeardAt-m.asked) // a clock may be too coarse for it
	ev.Op, ev.RTT = OpPong, m.rtt
	return nil
}
