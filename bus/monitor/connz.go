package monitor

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strings"
	"time"

	"paddock/bus"
)

// connz is the answer of /connz: names, types and order are the reference's. Total counts the
// connections in the requested state, before the other filters.
type connz struct {
	ID     string    `json:"server_id"`
	Now    time.Time `json:"now"`
	Count  int       `json:"num_connections"`
	Total  int       `json:"total"`
	Offset int       `json:"offset"`
	Limit  int       `json:"limit"`
	Conns  []connRow `json:"connections"`
}

type connRow struct {
	ID           uint64     `json:"cid"`
	Kind         string     `json:"kind"`
	Type         string     `json:"type"`
	IP           string     `json:"ip"`
	Port         int        `json:"port"`
	Start        time.Time  `json:"start"`
	LastActivity time.Time  `json:"last_activity"`
	Stop         *time.Time `json:"stop,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	RTT          string     `json:"rtt"`
	Uptime       string     `json:"uptime"`
	Idle         string     `json:"idle"`
	Pending      int64      `json:"pending_bytes"`
	InMsgs       uint64     `json:"in_msgs"`
	OutMsgs      uint64     `json:"out_msgs"`
	InBytes      uint64     `json:"in_bytes"`
	OutBytes     uint64     `json:"out_bytes"`
	Stalls       uint64     `json:"stalls,omitempty"`
	Dropped      uint64     `json:"dropped_msgs,omitempty"` // ours
	NumSubs      int        `json:"subscriptions"`
	Name         string     `json:"name,omitempty"`
	Lang         string     `json:"lang,omitempty"`
	Version      string     `json:"version,omitempty"`
	rowTLS
	User       string   `json:"authorized_user,omitempty"`
	Subs       []string `json:"subscriptions_list,omitempty"`
	SubsDetail []subRow `json:"subscriptions_list_detail,omitempty"`
}

// rowTLS has the result of the handshake. The certificates are shown on request, with auth.
type rowTLS struct {
	Version string    `json:"tls_version,omitempty"`
	Cipher  string    `json:"tls_cipher_suite,omitempty"`
	Peers   []peerRow `json:"tls_peer_certs,omitempty"`
	First   bool      `json:"tls_first,omitempty"`
}

type peerRow struct {
	Subject   string `json:"subject,omitempty"`
	KeySHA256 string `json:"spki_sha256,omitempty"`
	SHA256    string `json:"cert_sha256,omitempty"`
}

func (c *connQuery) tls(i *bus.TLSInfo) (r rowTLS) {
	if i == nil {
		return r
	}
	r.Version = strings.TrimPrefix(tls.VersionName(i.Version), "TLS ")
	r.Cipher, r.First = tls.CipherSuiteName(i.Cipher), i.First
	if c.auth {
		for _, p := range i.Peers {
			r.Peers = append(r.Peers, peerRow{p.Subject, p.KeySHA256, p.SHA256})
		}
	}
	return r
}

// connQuery holds the arguments of /connz.
type connQuery struct {
	page
	order              string
	auth               bool
	subs               listing
	cid                uint64
	state              connState
	user, account, mqt string
}

type connState int

const (
	stateOpen connState = iota
	stateClosed
	stateAll
)

func (q *query) state() connState {
	switch s := q.Get("state"); strings.ToLower(s) {
	case "", "open":
		return stateOpen
	case "closed":
		return stateClosed
	case "any", "all":
		return stateAll
	default:
		q.refuse("Error decoding state for %s", s)
		return stateOpen
	}
}

// connQuery reads the arguments in the reference's order, which decides which of two bad ones is
// reported.
func (q *query) connQuery() (c connQuery) {
	c.order, c.user, c.account, c.mqt = q.Get("sort"), q.Get("user"), q.Get("acc"), q.Get("mqtt_client")
	c.auth = q.bool("auth")
	c.subs = q.subs()
	c.page = q.page()
	c.cid = q.uint64("cid")
	c.state = q.state()
	switch {
	case c.order != "" && connOrders[c.order] == nil:
		q.refuse("invalid sorting option: %s", c.order)
	case c.order == "stop" && c.state != stateClosed:
		q.refuse("sort by stop only valid on closed connections")
	case c.order == "reason" && c.state != stateClosed:
		q.refuse("sort by reason only valid on closed connections")
	}
	if c.cid > 0 {
		c.limit = 1
	}
	return c
}

func (m *monitor) connz(q *query) any {
	c := q.connQuery()
	if q.err != nil {
		return nil
	}
	now := time.Now()
	set := m.srv.Settings()
	list := m.connections(&c, set.Account)
	z := connz{ID: set.ServerID, Now: now.UTC(), Total: len(list), Offset: c.offset, Limit: c.limit, Conns: []connRow{}}
	list = slices.DeleteFunc(list, func(i bus.ConnInfo) bool { return !c.takes(&i) })
	by := connOrders[cmp.Or(c.order, "cid")]
	slices.SortStableFunc(list, func(a, b bus.ConnInfo) int { return by(&a, &b, now) })
	for _, i := range cut(list, c.page) {
		z.Conns = append(z.Conns, c.row(&i, now))
	}
	z.Count = len(z.Conns)
	return z
}

// connections reads the connections in the requested state and account, the open ones first.
func (m *monitor) connections(c *connQuery, account string) (list []bus.ConnInfo) {
	if c.account != "" && c.account != account {
		return nil
	}
	if c.state != stateClosed {
		list = m.srv.Connections()
	}
	if c.state != stateOpen {
		list = append(list, m.srv.ClosedConnections()...)
	}
	return list
}

func (c *connQuery) takes(i *bus.ConnInfo) bool {
	return (c.cid == 0 || i.ID == c.cid) && (c.user == "" || i.User == c.user) && c.mqt == ""
}

func (c *connQuery) row(i *bus.ConnInfo, now time.Time) connRow {
	r := connRow{
		ID: i.ID, Kind: "Client", Type: "nats", IP: i.IP, Port: i.Port,
		Start: i.Start.UTC(), LastActivity: i.LastActivity.UTC(), RTT: roundTrip(i.RTT),
		Pending: i.Pending, InMsgs: i.InMsgs, OutMsgs: i.OutMsgs, InBytes: i.InBytes, OutBytes: i.OutBytes,
		Stalls: i.Stalls, Dropped: i.Dropped, NumSubs: i.Subscriptions,
		Name: i.Name, Lang: i.Lang, Version: i.Version, rowTLS: c.tls(i.TLS),
	}
	if i.Type == bus.ConnectionWebSocket {
		r.Type = "websocket"
	}
	if !i.Stop.IsZero() {
		now = i.Stop.UTC()
		r.Stop, r.Reason = &now, i.Reason.String()
	}
	r.Uptime, r.Idle = uptime(now.Sub(i.Start)), uptime(now.Sub(i.LastActivity))
	if c.auth {
		r.User = i.User
	}
	if c.subs == without {
		return r
	}
	for _, s := range i.Subs() {
		if c.subs == short {
			r.Subs = append(r.Subs, s.Subject)
		} else {
			d := detail(s)
			if r.Stop != nil {
				d.Account, d.AccountTag = i.Account, i.Account
			}
			r.SubsDetail = append(r.SubsDetail, d)
		}
	}
	return r
}

// roundTrip rounds times above a microsecond down to microseconds.
func roundTrip(d time.Duration) string {
	if d > time.Microsecond && d < time.Millisecond {
		d = d.Truncate(time.Microsecond)
	}
	return d.String()
}

// connOrders are the orders of the argument sort. Ids, starts, uptimes and reasons go up,
// everything else goes down.
var connOrders = map[string]func(a, b *bus.ConnInfo, now time.Time) int{
	"cid":   byID,
	"start": byID,
	"subs":  down(func(i *bus.ConnInfo) int { return i.Subscriptions }),
	"pending": down(func(i *bus.ConnInfo) int64 {
		return i.Pending
	}),
	"msgs_to":    down(func(i *bus.ConnInfo) uint64 { return i.OutMsgs }),
	"msgs_from":  down(func(i *bus.ConnInfo) uint64 { return i.InMsgs }),
	"bytes_to":   down(func(i *bus.ConnInfo) uint64 { return i.OutBytes }),
	"bytes_from": down(func(i *bus.ConnInfo) uint64 { return i.InBytes }),
	"last":       down(func(i *bus.ConnInfo) int64 { return i.LastActivity.UnixNano() }),
	"idle":       func(a, b *bus.ConnInfo, _ time.Time) int { return a.LastActivity.Compare(b.LastActivity) },
	"uptime":     func(a, b *bus.ConnInfo, now time.Time) int { return cmp.Compare(lived(a, now), lived(b, now)) },
	"stop":       func(a, b *bus.ConnInfo, _ time.Time) int { return b.Stop.Compare(a.Stop) },
	"reason":     func(a, b *bus.ConnInfo, _ time.Time) int { return cmp.Compare(a.Reason.String(), b.Reason.String()) },
	"rtt":        down(func(i *bus.ConnInfo) time.Duration { return i.RTT }),
}

func byID(a, b *bus.ConnInfo, _ time.Time) int { return cmp.Compare(a.ID, b.ID) }

// down orders by a number, the largest first.
func down[N cmp.Ordered](number func(*bus.ConnInfo) N) func(a, b *bus.ConnInfo, now time.Time) int {
	return func(a, b *bus.ConnInfo, _ time.Time) int { return cmp.Compare(number(b), number(a)) }
}

// lived returns the time for which a connection has existed, until its end or now.
func lived(i *bus.ConnInfo, now time.Time) time.Duration {
	if !i.Stop.IsZero() {
		now = i.Stop
	}
	return now.Sub(i.Start)
}
