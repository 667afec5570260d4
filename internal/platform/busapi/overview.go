package busapi

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/bus"
	"paddock/internal/busd/bridge"
)

const (
	// shownSubjects bounds the subscriptions of one connection in an overview.
	shownSubjects = 20
	// shownBusiest bounds the busiest subjects in an overview.
	shownBusiest = 20
)

// Overview holds the figures of the bus that the dashboard shows, at one moment. Counters count
// from the server's start; the page computes rates from them.
type Overview struct {
	T              int64            `json:"t"` // Unix ms
	Figures        Figures          `json:"figures"`
	Prefixes       []PrefixLine     `json:"prefixes"`
	Subjects       []SubjectLine    `json:"subjects"` // the busiest ones
	Closed         []ClosedLine     `json:"closed"`   // by reason; one that never occurred is absent
	Connections    []ConnectionLine `json:"connections"`
	ConnectionsAll int              `json:"connections_all"` // that match, of which Connections are the first
	Bridges        []BridgeLine     `json:"bridges"`
}

// Figures holds the counts of the whole bus.
type Figures struct {
	Connections   int    `json:"connections"` // of the network
	Opened        uint64 `json:"opened"`
	Subscriptions int    `json:"subscriptions"`
	MessagesIn    uint64 `json:"messages_in"`  // published
	MessagesOut   uint64 `json:"messages_out"` // delivered, once for each subscription
	BytesIn       uint64 `json:"bytes_in"`
	BytesOut      uint64 `json:"bytes_out"`
	Pending       int64  `json:"pending_bytes"`
	SlowConsumers uint64 `json:"slow_consumers"` // connections that were closed for it
	Dropped       uint64 `json:"dropped"`        // messages for slow subscribers
	Stalls        uint64 `json:"stalls"`
	Refused       uint64 `json:"refused"` // by permission
}

// PrefixLine is the traffic of the subjects that begin with whole tokens.
type PrefixLine struct {
	Prefix string `json:"prefix"` // "other" is all other subjects
	In     uint64 `json:"in"`     // messages
	Out    uint64 `json:"out"`
}

// SubjectLine is a busy subject.
type SubjectLine struct {
	Subject  string `json:"subject"`
	Messages uint64 `json:"messages"` // at least so many of the recent ones
}

// ClosedLine counts the connections that have ended for one reason.
type ClosedLine struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// ConnectionLine is an open connection.
type ConnectionLine struct {
	ID            uint64   `json:"id"`
	Name          string   `json:"name,omitempty"`
	User          string   `json:"user,omitempty"`
	Address       string   `json:"address,omitempty"` // absent: within the process
	Client        string   `json:"client,omitempty"`  // its library
	AgeMS         int64    `json:"age_ms"`
	RTTUS         int64    `json:"rtt_us"` // 0: not measured yet
	Pending       int64    `json:"pending_bytes"`
	MessagesIn    uint64   `json:"messages_in"`
	MessagesOut   uint64   `json:"messages_out"`
	BytesIn       uint64   `json:"bytes_in"`
	BytesOut      uint64   `json:"bytes_out"`
	Dropped       uint64   `json:"dropped"`
	Stalls        uint64   `json:"stalls"`
	Subscriptions int      `json:"subscriptions"`
	Subjects      []string `json:"subjects"` // of the first of these
}

// BridgeLine is a connection to another server. Counts are those since its start.
type BridgeLine struct {
	Name        string `json:"name"`
	Connected   bool   `json:"connected"`
	URL         string `json:"url,omitempty"`   // of the server that is connected, without secrets
	AgeMS       int64  `json:"age_ms"`          // of the connection; 0: there is none
	Error       string `json:"error,omitempty"` // why there is no connection
	Connects    uint64 `json:"connects"`
	Waiting     int64  `json:"waiting_bytes"` // for the other server
	MessagesIn  uint64 `json:"messages_in"`   // published here
	MessagesOut uint64 `json:"messages_out"`  // published there
	BytesIn     uint64 `json:"bytes_in"`
	BytesOut    uint64 `json:"bytes_out"`

	DroppedIn  map[string]uint64 `json:"dropped_in"` // by reason; one that never occurred is absent
	DroppedOut map[string]uint64 `json:"dropped_out"`
}

// BridgeLines returns the bridges of a bus.
func BridgeLines(states []bridge.State) []BridgeLine {
	now := time.Now()
	lines := make([]BridgeLine, len(states))
	for i := range states {
		s := &states[i]
		lines[i] = BridgeLine{
			Name: s.Name, Connected: s.Connected, URL: s.URL, Error: s.Fault, Connects: s.Connects, Waiting: s.Waiting,
			MessagesIn: s.In.Messages, MessagesOut: s.Out.Messages, BytesIn: s.In.Bytes, BytesOut: s.Out.Bytes,
			DroppedIn: dropped(&s.In), DroppedOut: dropped(&s.Out),
		}
		if s.Connected {
			lines[i].AgeMS = now.Sub(s.Since).Milliseconds()
		}
	}
	return lines
}

func dropped(t *bridge.Traffic) map[string]uint64 {
	m := map[string]uint64{}
	t.Drops(func(why bridge.Reason, n uint64) {
		if n > 0 {
			m[why.String()] = n
		}
	})
	return m
}

// NewOverview returns the figures of a bus without bridges, and at most most of the connections in
// whose name, user, address or library find occurs, in any case.
func NewOverview(s *bus.Server, find string, most int) *Overview {
	now, stats := time.Now(), s.Stats()
	o := &Overview{
		T: now.UnixMilli(), Prefixes: []PrefixLine{}, Subjects: []SubjectLine{}, Closed: []ClosedLine{}, Connections: []ConnectionLine{}, Bridges: []BridgeLine{},
		Figures: Figures{
			Connections: stats.Connections, Opened: stats.TotalConnections, Subscriptions: stats.Subscriptions,
			MessagesIn: stats.InMsgs, MessagesOut: stats.OutMsgs, BytesIn: stats.InBytes, BytesOut: stats.OutBytes,
			SlowConsumers: stats.SlowConsumers, Dropped: stats.Dropped, Stalls: stats.Stalls, Refused: stats.Refused,
		},
	}
	for _, p := range s.PrefixTraffic() {
		o.Prefixes = append(o.Prefixes, PrefixLine{p.Prefix, p.In, p.Out})
	}
	for _, b := range s.BusySubjects(shownBusiest) {
		o.Subjects = append(o.Subjects, SubjectLine{b.Subject, b.Messages})
	}
	for reason, n := range stats.Closed {
		o.Closed = append(o.Closed, ClosedLine{reason.String(), n})
	}
	slices.SortFunc(o.Closed, func(a, b ClosedLine) int { return strings.Compare(a.Reason, b.Reason) })
	find = strings.ToLower(find)
	for _, c := range s.Connections() {
		o.Figures.Pending += c.Pending
		line := connectionLine(&c, now)
		if !strings.Contains(strings.ToLower(strings.Join([]string{line.Name, line.User, line.Address, line.Client}, "\n")), find) {
			continue
		}
		if o.ConnectionsAll++; o.ConnectionsAll <= most {
			line.Subjects = subjectsOf(&c)
			o.Connections = append(o.Connections, line)
		}
	}
	return o
}

func connectionLine(c *bus.ConnInfo, now time.Time) ConnectionLine {
	line := ConnectionLine{
		ID: c.ID, Name: c.Name, User: c.User, Client: strings.TrimSpace(c.Lang + " " + c.Version),
		AgeMS: now.Sub(c.Start).Milliseconds(), RTTUS: c.RTT.Microseconds(), Pending: c.Pending,
		MessagesIn: c.InMsgs, MessagesOut: c.OutMsgs, BytesIn: c.InBytes, BytesOut: c.OutBytes,
		Dropped: c.Dropped, Stalls: c.Stalls, Subscriptions: c.Subscriptions,
	}
	if c.IP != "" {
		line.Address = net.JoinHostPort(c.IP, strconv.Itoa(c.Port))
	}
	return line
}

// subjectsOf returns the subjects of the first subscriptions of a connection.
func subjectsOf(c *bus.ConnInfo) []string {
	list := []string{}
	for _, s := range c.Subs() {
		if len(list) == shownSubjects {
			break
		}
		list = append(list, s.Subject)
	}
	return list
}
