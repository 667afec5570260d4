package tunnel

import "time"

// DefaultTunnelRequests and defaultTunnelStreams bound the concurrent work of one tunnel.
const DefaultTunnelRequests, DefaultTunnelStreams = 256, 1_024

// Limits bound the memory, the connections and the waiting times of a server. 0 stands for the
// default.
type Limits struct {
	Requests, Streams             int // under way in all, 4,096 and 16,384
	TunnelRequests, TunnelStreams int // of one tunnel, 256 and 1,024
	// Direct bounds the visitors with direct channels, 256; each takes up to six descriptors.
	// Visitors beyond it, and those whose channel does not open within DirectWait, 2 s, are carried
	// by the link.
	Direct     int
	DirectWait time.Duration
	// Queue is the number of requests that wait for one of these, for each tunnel, 64. For how long
	// they wait, and the effect of a slow target, see tunnel/internal/admission.
	Queue int
	// Bytes bounds the memory of all current and waiting work, 96 MiB.
	Bytes    int64
	Sessions int // clients, 16,384
	// Visitors are connections to the fronts, 4,096, and VisitorsEach those from one
	// address that is not of a proxy, 256. For IPv6 a /64 counts as one address.
	Visitors, VisitorsEach int
	// RawVisitors are connections to the addresses of TCP tunnels, all together, 4,096.
	RawVisitors int

	// Lease is how long a name stays its client's without a connection, 30 s; Return
	// how long a visitor waits in that time, 2 s, and Waiting how many may, for each
	// tunnel, 64.
	Lease, Return time.Duration
	Waiting       int
	// Head is the time that a visitor has for the head of a request, 10 s; Idle the longest pause
	// between requests, 75 s; Stall the longest time for which it may take no bytes of an answer,
	// 30 s.
	Head, Idle, Stall time.Duration
	// Unsent is the time for which a client's link may be blocked, or its client may leave a ping
	// unanswered, until further visitors are refused, 2 s; negative is no limit.
	Unsent time.Duration
	// Linger is how long one direction of a raw connection lives on without a byte
	// when the other one has ended, 60 s.
	Linger time.Duration
}

// firstWindow is the number of bytes that wire sends on a stream before its reader has taken any.
const firstWindow = 64 << 10

// LinkBudget returns the wire.Config.ConnBudget for connections of clients: it suffices for the
// first windows of all streams of a tunnel, so that slow visitors do not delay the answers of
// others. The total over all clients is bounded by Bytes: a stream counts as much as its first
// window.
func (l Limits) LinkBudget() uint32 {
	const most, rest = 256 << 20, 16 << 20
	return uint32(min(rest+firstWindow*int64(l.WithDefaults().TunnelStreams), most))
}

// WithDefaults returns the limits with the defaults in place of 0.
func (l Limits) WithDefaults() Limits {
	number := func(n *int, otherwise int) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	span := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	number(&l.Requests, 4_096)
	number(&l.Streams, 16_384)
	number(&l.TunnelRequests, DefaultTunnelRequests)
	number(&l.TunnelStreams, DefaultTunnelStreams)
	number(&l.Direct, 256)
	number(&l.Queue, 64)
	number(&l.Sessions, 16_384)
	number(&l.Visitors, 4_096)
	number(&l.VisitorsEach, 256)
	number(&l.RawVisitors, 4_096)
	number(&l.Waiting, 64)
	if l.Bytes <= 0 {
		l.Bytes = 96 << 20
	}
	span(&l.Lease, 30*time.Second)
	span(&l.Return, 2*time.Second)
	span(&l.DirectWait, 2*time.Second)
	span(&l.Head, 10*time.Second)
	span(&l.Idle, 75*time.Second)
	span(&l.Stall, 30*time.Second)
	if l.Unsent == 0 {
		l.Unsent = 2 * time.Second
	}
	span(&l.Linger, time.Minute)
	return l
}
