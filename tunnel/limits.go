package tunnel

import "time"

// DefaultTunnelRequests and defaultTunnelStreams are what one tunnel may have under way.
const DefaultTunnelRequests, DefaultTunnelStreams = 256, 1_024

// Limits bound what a server holds and how long it waits. 0 stands for the default.
type Limits struct {
	Requests, Streams             int // under way in all, 4,096 and 16,384
	TunnelRequests, TunnelStreams int // of one tunnel, 256 and 1,024
	// Direct is how many visitors are carried by channels of their own, 256; each takes up to
	// six descriptors. The link carries more than these, and those for whom there is none
	// within DirectWait, 2 s.
	Direct     int
	DirectWait time.Duration
	// Queue is how many requests wait for one of these, for each tunnel, 64; for how
	// long, and what a slow target changes, is said in tunnel/internal/admission.
	Queue int
	// Bytes bounds what all that is under way or waits may hold, 96 MiB.
	Bytes    int64
	Sessions int // clients, 16,384
	// Visitors are connections to the fronts, 4,096, and VisitorsEach those from one
	// address that is not of a proxy, 256.
	Visitors, VisitorsEach int
	// RawVisitors are connections to the addresses of TCP tunnels, all together, 4,096.
	RawVisitors int

	// Lease is how long a name stays its client's without a connection, 30 s; Return
	// how long a visitor waits in that time, 2 s, and Waiting how many may, for each
	// tunnel, 64.
	Lease, Return time.Duration
	Waiting       int
	// Head is how long a visitor may take for the head of a request, 10 s; Idle how long
	// he may say nothing between requests, 75 s; Stall how long he may take nothing of an
	// answer, 30 s.
	Head, Idle, Stall time.Duration
	// Unsent is how long a client's link may take nothing, or its client say nothing though
	// it was asked, until further visitors are refused, 2 s; negative is for ever.
	Unsent time.Duration
	// Linger is how long one direction of a raw connection lives on without a byte
	// when the other one has ended, 60 s.
	Linger time.Duration
}

// firstWindow is what wire lets a stream have on its way before its reader has taken any.
const firstWindow = 64 << 10

// LinkBudget is what wire.Config.ConnBudget ought to be for connections of clients: room
// for the first windows of all streams of a tunnel, so that visitors who take nothing, or
// little, leave the others' answers theirs. What all clients together may hold so is
// bounded by Bytes: a stream counts as much as its first window.
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
