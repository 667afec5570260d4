package monitor

import (
	"cmp"
	"time"

	"paddock/bus"
)

// connOrders are what the argument sort may say. Ids, starts, uptimes and reasons
// go up, everything else goes down.
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

// lived is how long a connection has existed, until its end or now.
func lived(i *bus.ConnInfo, now time.Time) time.Duration {
	if !i.Stop.IsZero() {
		now = i.Stop
	}
	return now.Sub(i.Start)
}
