package tunneld

import (
	"strconv"
	"time"

	"paddock/internal/strictyaml"
	"paddock/tunnel"
)

// limitFields are the keys of limits in the entry serve: what a server may hold and how long
// it waits. Memory and leases have keys of their own.
func limitFields(l *tunnel.Limits) strictyaml.Fields {
	fields := strictyaml.Fields{}
	for key, n := range limitCounts(l) {
		fields[key] = strictyaml.Into(n, count)
	}
	for key, d := range limitSpans(l) {
		fields[key] = strictyaml.Into(d, span)
	}
	return fields
}

func limitCounts(l *tunnel.Limits) map[string]*int {
	return map[string]*int{
		"requests": &l.Requests, "streams": &l.Streams, "tunnel_requests": &l.TunnelRequests, "tunnel_streams": &l.TunnelStreams,
		"direct": &l.Direct, "queue": &l.Queue, "sessions": &l.Sessions, "visitors": &l.Visitors, "visitors_each": &l.VisitorsEach,
		"raw_visitors": &l.RawVisitors, "waiting": &l.Waiting,
	}
}

func limitSpans(l *tunnel.Limits) map[string]*time.Duration {
	return map[string]*time.Duration{
		"direct_wait": &l.DirectWait, "return": &l.Return, "head": &l.Head, "idle": &l.Idle, "stall": &l.Stall,
		"unsent": &l.Unsent, "linger": &l.Linger,
	}
}

// limitTexts are the limits that are set, by key, as the file says them.
func limitTexts(l tunnel.Limits) map[string]string {
	texts := map[string]string{}
	for key, n := range limitCounts(&l) {
		if *n != 0 {
			texts[key] = strconv.Itoa(*n)
		}
	}
	for key, d := range limitSpans(&l) {
		if *d != 0 {
			texts[key] = strconv.Quote(d.String())
		}
	}
	return texts
}

// directDescriptors is how many a visitor takes who is carried by a channel of his own.
const directDescriptors = 6

// inDescriptors are limits in which what nobody has set fits a process that may open so
// many files: half of them are for visitors of the fronts, an eighth for those of TCP
// tunnels, and three sixteenths for channels; the rest is for clients who come back, for
// the addresses that they bind, for operators. 0 is not known.
func inDescriptors(l tunnel.Limits, descriptors uint64) tunnel.Limits {
	for _, part := range []struct {
		limit *int
		most  uint64 // which is the tunnel's own default
		each  uint64 // one for so many descriptors
	}{{&l.Visitors, 4_096, 2}, {&l.RawVisitors, 4_096, 8}, {&l.Direct, 256, 32}} {
		if n := descriptors / part.each; *part.limit == 0 && descriptors != 0 && n < part.most {
			*part.limit = int(max(n, 1))
		}
	}
	return l
}

// overDescriptors says how many descriptors visitors may come to take by limits that leave
// less than an eighth to everything else; ok is that they leave more.
func overDescriptors(l tunnel.Limits, descriptors uint64) (wanted uint64, ok bool) {
	each := func(n, otherwise int) uint64 {
		if n == 0 {
			n = otherwise
		}
		return uint64(n)
	}
	wanted = each(l.Visitors, 4_096) + each(l.RawVisitors, 4_096) + directDescriptors*each(l.Direct, 256)
	return wanted, descriptors == 0 || wanted <= descriptors-descriptors/8
}

// waiters is how many connections of clients may wait for their turn, half the descriptors at
// most: they become those of clients. 0 is what wire takes by itself.
func waiters(descriptors uint64) int {
	const most = 16_384
	if descriptors == 0 || descriptors >= 2*most {
		return 0
	}
	return int(max(descriptors/2, 1))
}

// BudgetFor is how many bytes of memory a server wants for so many clients, 64 KiB for each:
// what an idle one takes, and as much again that need not be collected yet.
func BudgetFor(clients int) int64 { return int64(clients) * 64 << 10 }
