package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// A vehicle has no link for ten minutes, at one position a second. The platform has all positions,
// in order and once, within the longest wait of the backoff after the link is back.
func TestTenMinutesWithoutALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{t: t, addr: "127.0.0.1:7400", arrived: make(chan struct{})}
		network := &memory{config: &wire.Config{Mux: p.serves(), Sessions: new(wire.Sessions), Logger: slog.New(slog.DiscardHandler)}}
		s := p.settings(t.TempDir(), "")
		s.HTTP.Listen = ""
		s.Link.Backoff.Interval, s.Link.Backoff.MaxInterval = 200*time.Millisecond, 30*time.Second
		a := startWith(t, Options{Settings: s, Dial: network.dial})
		drive := func(from, to int) {
			for at := from; at < to; at++ {
				dec := a.byHTTP.decoder()
				res, err := a.byHTTP.take(&dec, fmt.Appendf(nil, `{"id":"v","lon":1,"lat":2,"t":%d}`, firstTime+at))
				if err != nil || res.Accepted != 1 {
					t.Fatal(res, err)
				}
				time.Sleep(time.Second)
			}
		}
		drive(0, 60)
		network.cut(errors.New("no network"))
		drive(60, 660)
		if waiting := a.spool.Stats().Records; waiting < 600 {
			t.Errorf("%d positions wait", waiting)
		}
		network.cut(nil)
		drive(660, 700)
		if waiting := a.spool.Stats().Records; waiting > 1 {
			t.Errorf("%d positions wait 40 s after the link is back", waiting)
		}
		a.stop()
		network.close()
		sequence(t, p.await(700), 700)
	})
}

// memory is a network in memory that can be switched off.
type memory struct {
	config *wire.Config

	mu    sync.Mutex
	down  error
	conns []*wire.Conn
	links []*wiretest.FaultConn
}

func (m *memory) dial(context.Context) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return nil, m.down
	}
	ours, theirs := wiretest.Pipe(0)
	conn, err := wire.AcceptConn(theirs, m.config)
	if err != nil {
		return nil, err
	}
	link := wiretest.Faulty(ours, wiretest.Faults{})
	m.conns, m.links = append(m.conns, conn), append(m.links, link)
	return link, nil
}

// cut breaks the connections. down is the error of later dials, nil for none.
func (m *memory) cut(down error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
	for _, l := range m.links {
		l.Cut()
	}
	m.links = nil
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		_ = c.Close()
	}
}
