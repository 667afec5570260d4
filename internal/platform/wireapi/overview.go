package wireapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/wire"
)

// Overview holds the figures of the wire door that the dashboard shows, at one moment. Counters
// count from the start; the page computes rates from them.
type Overview struct {
	T              int64            `json:"t"` // Unix ms
	Figures        Figures          `json:"figures"`
	Connections    []ConnectionLine `json:"connections"`     // the oldest first
	ConnectionsAll int              `json:"connections_all"` // that match, of which Connections are the first
}

// Figures holds the counts of the door.
type Figures struct {
	Connections int    `json:"connections"`
	Opening     int    `json:"opening"` // not authenticated yet
	Waiting     int    `json:"waiting"` // for their handshake
	Subscribers int    `json:"subscribers"`
	Streams     int64  `json:"streams"`
	InFlight    int64  `json:"in_flight"` // requests
	Positions   uint64 `json:"positions"` // posts, good and bad
	Searches    uint64 `json:"searches"`
	Received    int64  `json:"received"` // bytes
	Sent        int64  `json:"sent"`

	// Since the start: connections, look-ups and positions.
	Accepted     uint64 `json:"accepted"` // connections that were opened
	Refused      uint64 `json:"refused"`  // connections at a bound
	Failed       uint64 `json:"failed"`   // no wire, too late, or without a valid key
	Denied       uint64 `json:"denied"`   // of the failed ones, those without a valid key
	Paused       uint64 `json:"paused"`
	RefusedLarge uint64 `json:"refused_large"`
	Skipped      uint64 `json:"skipped"` // positions that agents dropped
}

// ConnectionLine is an open connection.
type ConnectionLine struct {
	Name     string `json:"name"`
	Identity string `json:"identity,omitempty"` // the key or the client of the tunnel
	Address  string `json:"address"`
	Agent    string `json:"agent,omitempty"`
	AgeMS    int64  `json:"age_ms"`
	RTTUS    int64  `json:"rtt_us"` // 0: not measured yet
	InFlight int64  `json:"in_flight"`
	Streams  int64  `json:"streams"`
	Posts    int64  `json:"posts"` // received
	Requests int64  `json:"requests"`
	Received int64  `json:"received"` // bytes
	Sent     int64  `json:"sent"`
	Queued   int64  `json:"queued_bytes"`
}

// Overview returns the figures, and up to most connections whose name, identity, address or agent
// contains find, in any case.
func (a *API) Overview(find string, most int) *Overview {
	now, stats, total := time.Now(), a.Stats(), a.server.Total()
	o := &Overview{T: now.UnixMilli(), Connections: []ConnectionLine{}, Figures: Figures{
		Connections: stats.Conns, Opening: stats.Opening, Waiting: stats.Waiting, Subscribers: stats.Subscribers,
		Streams: total.Streams, InFlight: total.Inflight, Positions: stats.Positions, Searches: stats.Searches,
		Received: total.Rx.Bytes, Sent: total.Tx.Bytes, Accepted: stats.Accepted, Refused: stats.Refused, Failed: stats.Failed,
		Denied: stats.Denied, Paused: stats.Paused, RefusedLarge: stats.RefusedLarge, Skipped: stats.Skipped,
	}}
	find = strings.ToLower(find)
	var found []*wire.Conn
	for c := range a.server.All() {
		if strings.Contains(strings.ToLower(strings.Join([]string{c.Name(), identityOf(c), c.RemoteAddr().String(), agentOf(c)}, "\n")), find) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *wire.Conn) int {
		return cmp.Or(a.Since().Compare(b.Since()), cmp.Compare(a.Name(), b.Name()))
	})
	o.ConnectionsAll = len(found)
	for _, c := range found[:min(most, len(found))] {
		o.Connections = append(o.Connections, connectionLine(c, now))
	}
	return o
}

func connectionLine(c *wire.Conn, now time.Time) ConnectionLine {
	s := c.Stats()
	return ConnectionLine{
		Name: c.Name(), Identity: identityOf(c), Address: c.RemoteAddr().String(), Agent: agentOf(c),
		AgeMS: now.Sub(c.Since()).Milliseconds(), RTTUS: s.RTT.Microseconds(), InFlight: s.Inflight, Streams: s.Streams,
		Posts: s.Rx.Posts, Requests: s.Rx.Requests, Received: s.Rx.Bytes, Sent: s.Tx.Bytes, Queued: s.QueuedBytes,
	}
}

func identityOf(c *wire.Conn) string {
	if who, ok := c.Identity().(fmt.Stringer); ok {
		return who.String()
	}
	return ""
}

func agentOf(c *wire.Conn) string {
	if peer := c.Peer(); peer != nil {
		return peer.Agent
	}
	return ""
}
