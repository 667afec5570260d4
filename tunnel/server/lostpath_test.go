package server

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// A client whose path drops every packet notices within 12 s, also if only one direction is lost
// and the server still hears it. By another path it gets its name back at once, whatever the state
// of the old session at the server: the name is not reported as in use.
func TestAClientLosesItsPath(t *testing.T) {
	for name, c := range map[string]struct {
		toClient, toServer bool
		later              bool // the other direction is lost too, when the server has just heard the client
	}{
		"both ways":                         {true, true, false},
		"to the client":                     {true, false, false},
		"to the server":                     {false, true, false},
		"to the client, and then both ways": {true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				n := newIsland(t, tunnel.Limits{})
				bound := make(chan client.Bound, 8)
				client, err := client.New(client.Config{
					Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "bus-17.example", Target: "127.0.0.1:1"}},
					Logger:  silent, OnBound: func(b client.Bound) { bound <- b },
				})
				if err != nil {
					t.Fatal(err)
				}
				dialed := make(chan *lossy, 8)
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					_ = client.Run(ctx, wire.ClientConfig{Dial: func(context.Context) (net.Conn, error) {
						p := newLossy()
						n.conns <- p.server
						dialed <- p
						return p.client, nil
					}, Config: &wire.Config{Agent: "bus-17", Logger: silent, Idle: liveness}})
				})
				path := <-dialed
				time.Sleep(time.Minute) // nothing happens but heartbeats
				path.lose(c.toClient, c.toServer)
				begun := time.Now()
				if c.later {
					time.Sleep(liveness / 2)
					path.lose(true, true)
				}
				<-dialed
				if took := time.Since(begun); took > 12*time.Second {
					t.Errorf("the client has noticed after %v", took)
				}
				back := time.Now()
				synctest.Wait()
				s := n.server.Stats()
				if s.Sessions != 1 || s.Names != 1 || s.Away != 0 || time.Since(back) != 0 {
					t.Errorf("%d sessions, %d names, %d of them away, %v after the client came back", s.Sessions, s.Names, s.Away, time.Since(back))
				}
				if c.later && s.Takeovers != 1 {
					t.Errorf("the server has the old session still, and there were %d takeovers", s.Takeovers)
				}
				time.Sleep(time.Minute) // nothing is left of the old one that would end the new one
				select {
				case <-dialed:
					t.Error("the client has come a third time")
				default:
				}
				cancel()
				running.Wait()
				n.kill()
				close(bound)
				for b := range bound {
					if b.Err != nil {
						t.Error(b.Err)
					}
				}
			})
		})
	}
}

// lossy is a path whose directions may be lost: bytes sent that way do not arrive, nor does the end
// of the connection.
type lossy struct{ client, server *wiretest.FaultConn }

func newLossy() *lossy {
	near, far := wiretest.Pipe(64 << 10)
	return &lossy{wiretest.Faulty(near, wiretest.Faults{}), wiretest.Faulty(far, wiretest.Faults{})}
}

func (p *lossy) lose(toClient, toServer bool) {
	if toClient {
		p.client.Stall(wiretest.In)
	}
	if toServer {
		p.server.Stall(wiretest.In)
	}
}
