package server

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// ticketTable holds the unused tickets of a server, and its listener for channels.
type ticketTable struct {
	open    atomic.Bool // channels are listened for
	now     atomic.Int64
	carried atomic.Uint64
	bytes   [2]atomic.Int64 // from visitors, to visitors
	falls   [fallbacks]atomic.Uint64
	refused atomic.Uint64 // connections that are no channel

	mu      sync.Mutex
	tickets map[[message.TicketIDBytes]byte]*pendingTicket // guarded by mu
}

// pendingTicket is a ticket that was handed out.
type pendingTicket struct {
	*message.Ticket
	secured bool
	key     [sha256.Size]byte // of the client's link, with keyed
	keyed   bool
	came    chan *relay.DirectChannel // has room for the one that there may be
	expiry  *time.Timer

	over bool // guarded by ticketTable.mu; used, or withdrawn
}

// maxTickets bounds the tickets that are out, withdrawn ones too until their time is over.
const maxTickets = 4_096

// issue makes a ticket for a stream of a link, nil if too many are out.
func (d *ticketTable) issue(link *wire.Conn, p tunnel.Protocol) *pendingTicket {
	a := &pendingTicket{Ticket: message.NewTicket(), secured: relay.SecuredBy(p, relay.OverTLS(link.NetConn())), came: make(chan *relay.DirectChannel, 1)}
	a.key, a.keyed = wire.PeerKey(link)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tickets) >= maxTickets {
		return nil
	}
	if d.tickets == nil {
		d.tickets = map[[message.TicketIDBytes]byte]*pendingTicket{}
	}
	d.tickets[a.ID] = a
	a.expiry = time.AfterFunc(relay.DirectTime, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.tickets, a.ID)
	})
	return a
}

// withdraw invalidates a ticket. It stays known until it expires, so that a late channel is not
// taken for a stranger's.
func (d *ticketTable) withdraw(a *pendingTicket) {
	d.mu.Lock()
	a.over = true
	d.mu.Unlock()
	select {
	case c := <-a.came:
		c.Cut()
	default:
	}
}

// redeem passes a channel to the visitor that waits for it.
func (d *ticketTable) redeem(a *pendingTicket, c *relay.DirectChannel) (ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.over {
		return false
	}
	a.over = true
	a.expiry.Stop()
	delete(d.tickets, a.ID)
	a.came <- c
	return true
}

// AltProtocol makes a wire.Server accept the channels of direct tunnels where its clients connect.
// Until it was called, the server announces that it accepts none.
func (s *Server) AltProtocol() *wire.AltProtocol {
	s.init()
	s.directs.open.Store(true)
	return &wire.AltProtocol{First: message.DirectPreface[0], ALPN: message.DirectALPN, Serve: s.serveDirect}
}

// serveDirect checks a connection that claims to be a channel. One with a withdrawn ticket is
// closed without a penalty.
func (s *Server) serveDirect(conn, socket net.Conn) error {
	c := &relay.DirectChannel{Conn: conn, Socket: socket}
	err := s.directs.admit(c)
	if err != nil {
		s.directs.refused.Add(1)
		_ = socket.Close()
	}
	if errors.Is(err, errLate) {
		err = nil
	}
	return err
}

// errLate is about a ticket that is good for nothing any more.
var errLate = fmt.Errorf("%w: its ticket was used or withdrawn", relay.ErrDirect)

// unknownTicket stands for a ticket that is not there: to look costs as much as for one that is.
var unknownTicket = message.NewTicket()

// admit reads the first message of a channel.
func (d *ticketTable) admit(c *relay.DirectChannel) error {
	var hello [message.HelloBytes]byte
	if _, err := io.ReadFull(c, hello[:]); err != nil {
		return fmt.Errorf("%w: %w", relay.ErrDirect, err)
	}
	id := [message.TicketIDBytes]byte(hello[len(message.DirectPreface):])
	d.mu.Lock()
	a := d.tickets[id]
	d.mu.Unlock()
	t := unknownTicket
	if a != nil {
		t = a.Ticket
	}
	proven := t.Proves("client", hello[len(message.DirectPreface)+message.TicketIDBytes:])
	switch {
	case string(hello[:len(message.DirectPreface)]) != message.DirectPreface:
		return fmt.Errorf("%w: first bytes %x", relay.ErrDirect, hello[:len(message.DirectPreface)])
	case a == nil || !proven:
		return fmt.Errorf("%w: no such ticket", relay.ErrDirect)
	case a.secured != relay.OverTLS(c.Conn):
		return fmt.Errorf("%w: TLS, or none, contrary to the ticket", relay.ErrDirect)
	case a.secured && a.keyed && !a.comesWith(c.Conn):
		return fmt.Errorf("%w: not the key of its link", relay.ErrDirect)
	}
	_ = c.Socket.SetDeadline(time.Time{})
	if !d.redeem(a, c) {
		return errLate
	}
	return nil
}

// comesWith reports whether a channel has the key of the link.
func (a *pendingTicket) comesWith(conn net.Conn) bool {
	state := conn.(interface{ ConnectionState() tls.ConnectionState }).ConnectionState()
	return len(state.PeerCertificates) > 0 && sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo) == a.key
}

// stats are the counts.
func (d *ticketTable) stats() DirectStats {
	s := DirectStats{
		Now: int(d.now.Load()), Carried: d.carried.Load(), Sent: d.bytes[0].Load(), Received: d.bytes[1].Load(),
		Fallbacks: map[string]uint64{}, Refused: d.refused.Load(),
	}
	for f := range fallbacks {
		if n := d.falls[f].Load(); n > 0 {
			s.Fallbacks[f.String()] = n
		}
	}
	return s
}
