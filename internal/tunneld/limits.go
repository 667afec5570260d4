package tunneld

import (
	"strconv"
	"time"

	"paddock/internal/process/strictyaml"
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
