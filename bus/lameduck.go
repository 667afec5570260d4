package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"
)

// lameDuckStep is the longest pause between two connections that lame duck mode
// closes: few clients are not kept waiting for the end of its duration.
const lameDuckStep = time.Second

// ErrLameDuck refuses to enter lame duck mode twice.
var ErrLameDuck = errors.New("bus: already in lame duck mode")

// LameDuck disconnects all clients without sending all of them elsewhere at once. It stops
// accepting, tells clients by an INFO with ldm and the servers of [Config.MigrateTo], waits for
// [Config.LameDuckGrace], in which they may leave by themselves, and closes the others in random
// order, spread over the rest of [Config.LameDuckDuration].
//
// It returns nil when no client is left, and ctx's error if that ends first. The
// server still serves connected clients, and Local connections: Shutdown ends it.
func (s *Server) LameDuck(ctx context.Context) error {
	if err := s.conns.enterLameDuck(); err != nil {
		return err
	}
	s.lame.Store(true)
	cfg := s.cfg()
	cfg.Logger.Info("Entering lame duck mode, stop accepting new clients")
	s.conns.closeListeners()
	for _, c := range s.conns.all() {
		c.sendLameDuckInfo()
	}
	if left, err := s.awaitDrained(ctx, cfg.LameDuckGrace); left || err != nil {
		return err
	}
	cfg.Logger.Info("Closing existing clients")
	return s.closeGradually(ctx, s.conns.all(), cfg.LameDuckDuration-cfg.LameDuckGrace)
}

// closeGradually closes clients over at most d.
func (s *Server) closeGradually(ctx context.Context, clients []*client, d time.Duration) error {
	rand.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
	step := min(d/time.Duration(max(len(clients), 1)), lameDuckStep)
	next := time.Now()
	for _, c := range clients {
		c.shut(ServerShutdown, "")
		next = next.Add(step) // of many clients, the due ones are closed at once
		if left, err := s.awaitDrained(ctx, time.Until(next)); left || err != nil {
			return err
		}
	}
	// Each has its write deadline to take its pending bytes.
	_, err := s.awaitDrained(ctx, s.cfg().WriteDeadline+drainTime)
	return err
}

// awaitDrained waits for d, and reports whether no client was left before.
func (s *Server) awaitDrained(ctx context.Context, d time.Duration) (left bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.conns.drained:
		return true, nil
	case <-ctx.Done():
		return false, fmt.Errorf("bus: lame duck: %w", ctx.Err())
	case <-s.ctx.Done():
		return false, ErrClosed
	case <-timer.C:
		return false, nil
	}
}

// sendLameDuckInfo sends the INFO of lame duck mode, if the client takes one unasked. A
// client that has not had its second INFO yet learns it from that one.
func (c *client) sendLameDuckInfo() {
	c.mu.Lock()
	informed := c.informed
	c.mu.Unlock()
	if informed {
		c.out.send(c.srv.infoLine(c, true))
		c.out.flush()
	}
}

// infoLameDuck adds lame duck mode and the addresses of other servers.
func (s *Server) infoLameDuck(i *info) {
	if i.LameDuck = s.lame.Load(); !i.LameDuck {
		return
	}
	for _, text := range s.cfg().MigrateTo {
		if address, web := serverAddress(text); web {
			i.WSConnectURLs = append(i.WSConnectURLs, address)
		} else {
			i.ConnectURLs = append(i.ConnectURLs, address)
		}
	}
}

// serverAddress returns the host:port of a server's URL, which needs no scheme and no port. web =
// it is for WebSocket clients.
func serverAddress(text string) (address string, web bool) {
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	port := u.Port()
	web = u.Scheme == "ws" || u.Scheme == "wss"
	switch {
	case port != "":
	case u.Scheme == "ws":
		port = "80"
	case u.Scheme == "wss":
		port = "443"
	default:
		port = fmt.Sprint(DefaultPort)
	}
	return net.JoinHostPort(u.Hostname(), port), web
}

// checkMigration checks MigrateTo.
func (c *Config) checkMigration() error {
	for _, text := range c.MigrateTo {
		if address, _ := serverAddress(text); address == "" {
			return fmt.Errorf("bus: %q is no URL of a server", text)
		}
	}
	return nil
}
