package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/internal/busd/bridge"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
)

// SoonEnds is how long before its end a certificate is warned of.
const SoonEnds = 14 * 24 * time.Hour

func (f *Facts) certificates() Result {
	if f.Certificates == nil {
		return Skip("no interface has a certificate of a file")
	}
	return JudgeCertificates(f.Certificates(), time.Now())
}

// JudgeCertificates returns the result about certificates at a time.
func JudgeCertificates(all []Certificate, now time.Time) Result {
	if len(all) == 0 {
		return Skip("no interface has a certificate of a file")
	}
	slices.SortFunc(all, func(a, b Certificate) int { return a.Ends.Compare(b.Ends) })
	var items []Item
	status := OK
	for _, c := range all {
		day, left := c.Ends.UTC().Format(time.DateOnly), c.Ends.Sub(now)
		again := ""
		if c.OnHangup {
			again = "; SIGHUP has the new one read"
		}
		switch {
		case left <= 0:
			status = Problem
			items = append(items, Item{ID: c.File, Text: fmt.Sprintf("%s has ended on %s%s", c.Of, day, again)})
		case left < SoonEnds:
			status = worse(status, Warning)
			items = append(items, Item{ID: c.File, Text: fmt.Sprintf("%s ends on %s, in %.0f days%s", c.Of, day, left.Hours()/24, again)})
		}
	}
	first := all[0]
	if status == OK {
		return ok("%s, the first one ends on %s", isAre(len(all), "certificate", "certificates"), first.Ends.UTC().Format(time.DateOnly))
	}
	return Judge(status, items[0].Text, "renew the certificate and put the new files in the place of the old ones: they are read again by themselves, but for those that take SIGHUP", items...)
}

// failingHooks returns the webhooks that wait after a failure, or were disabled by the platform.
func (f *Facts) failingHooks() (items []Item, worst Status) {
	worst = OK
	for after, more := "", true; more; more = after != "" {
		list := f.Hooks.List(after, hooks.MaxLimit)
		for _, w := range list.Webhooks {
			if text, status := failing(&w.State); text != "" {
				items, worst = append(items, Item{ID: w.ID, Text: w.ID + " " + text}), worse(worst, status)
			}
		}
		after = list.Next
	}
	return items, worst
}

// byRequest is the reason of a webhook or a sink that an operator has disabled.
const byRequest = "by request"

// someFailures is the number of failures in a row from which on they are a problem.
const someFailures = 3

// failing describes deliveries that fail, or returns "".
func failing(s *deliver.Report) (string, Status) {
	switch {
	case !s.At.IsZero() && s.Reason != byRequest:
		return fmt.Sprintf("is disabled: %s; %d events wait", s.Reason, s.Lag), Problem
	case s.Fails > 0:
		reason := ""
		if s.Last != nil {
			reason = ": " + cmp.Or(s.Last.Reason, fmt.Sprint("status ", s.Last.Status))
		}
		text := fmt.Sprintf("has failed %d times since %s%s; %d events wait", s.Fails, s.Since.UTC().Format(time.DateTime), reason, s.Lag)
		if s.Fails < someFailures {
			return text, Warning
		}
		return text, Problem
	}
	return "", OK
}

func (f *Facts) webhooks() Result {
	if f.Hooks == nil || f.Hooks.Stats().Webhooks == 0 {
		return Skip("there are no webhooks")
	}
	stats := f.Hooks.Stats()
	items, status := f.failingHooks()
	switch {
	case len(items) > 0:
		return Judge(status, fmt.Sprintf("%d of %d webhooks fail", len(items), stats.Webhooks),
			"let their endpoints answer 2xx within the timeout; paddock webhooks retry ID tries at once, and paddock webhooks enable ID goes on with one that was disabled", items...)
	case stats.Letters > 0:
		return warning(fmt.Sprintf("%d dead letters of %d webhooks are kept", stats.Letters, stats.Webhooks),
			"look why the endpoints refused them: GET /v1/webhooks/ID/deadletters; replay delivers them again")
	}
	return ok("%d webhooks, %d events delivered", stats.Webhooks, stats.Delivered)
}

func (f *Facts) failingSinks() (items []Item, worst Status) {
	worst = OK
	for _, s := range f.Sinks.List() {
		if text, status := failing(&s.State); text != "" {
			items, worst = append(items, Item{ID: s.ID, Text: s.ID + " " + text}), worse(worst, status)
		}
	}
	return items, worst
}

func (f *Facts) sinks() Result {
	var list []sinks.Shown
	if f.Sinks != nil {
		list = f.Sinks.List()
	}
	if len(list) == 0 {
		return Skip("there are no sinks")
	}
	if items, status := f.failingSinks(); len(items) > 0 {
		return Judge(status, fmt.Sprintf("%d of %d sinks fail", len(items), len(list)),
			"look at the broker or the disk that the reason names; POST /v1/sinks/ID/retry tries at once, and no event is lost while journal.keep lasts", items...)
	}
	return ok("%d sinks deliver", len(list))
}

func (f *Facts) bridges() Result {
	var items []Item
	var all []bridge.State
	if f.Bridges != nil {
		all = f.Bridges()
	}
	for i := range all {
		if s := &all[i]; s.Fault != "" {
			items = append(items, Item{ID: s.Name, Text: fmt.Sprintf("%s: %s; %s wait", s.Name, s.Fault, size(s.Waiting))})
		}
	}
	switch {
	case len(all) == 0:
		return Skip("the bus has no bridges")
	case len(items) > 0:
		return problem(fmt.Sprintf("%d of %d bridges are not connected", len(items), len(all)),
			"look whether the other server runs and takes the credentials; the bridges are in bus.paddock.bridges of the file, and SIGHUP reads it again. Messages wait up to max_pending, and further ones are dropped", items...)
	}
	return ok("%d bridges are connected", len(all))
}

func (f *Facts) failingSources() (items []Item) {
	for name, s := range f.Sources.States() {
		if s.Error != "" && !s.Connected {
			items = append(items, Item{ID: name, Text: fmt.Sprintf("%s, at %s, has failed %d times: %s", name, s.Address, s.Failures, s.Error)})
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return items
}

func (f *Facts) sources() Result {
	all := 0
	if f.Sources != nil {
		all = len(f.Sources.States())
	}
	if all == 0 {
		return Skip("no sources are asked for positions")
	}
	if items := f.failingSources(); len(items) > 0 {
		return problem(fmt.Sprintf("%d of %d sources fail", len(items), all),
			"look whether the address is right and answers, and whether its credentials hold; the section sources of the file has them, and SIGHUP reads it again", items...)
	}
	return ok("%d sources are connected", all)
}

// fartherBehind is the number of events from which on a subscriber is slow.
const fartherBehind = 1000

func (f *Facts) subscribers() Result {
	var items []Item
	list, past := f.Events.Subscribers()
	for _, s := range list {
		if s.Lag < fartherBehind {
			break // the slowest is the first
		}
		items = append(items, Item{ID: s.Peer, Text: fmt.Sprintf("the %s stream of %s is %d events behind, and has missed %d", s.Kind, s.Peer, s.Lag, s.Missed)})
	}
	most := f.BusPending() / 2
	conns := f.Bus.Connections()
	for i := range conns {
		if c := &conns[i]; c.Pending > most {
			items = append(items, Item{ID: fmt.Sprintf("%s:%d", c.IP, c.Port), Text: fmt.Sprintf("the bus client %s of %s:%d has %s that it has not read", c.Name, c.IP, c.Port, size(c.Pending))})
		}
	}
	gone := f.Trend.Recent(f.now())
	if n := gone.SlowClients; n > 0 {
		items = append(items, Item{Text: fmt.Sprintf("%s closed by the bus in the last %s, as slow", were(n, "client"), minutes(Recently))})
	}
	if n := gone.Cut; n > 0 {
		items = append(items, Item{ID: past.LastPeer, Text: fmt.Sprintf("%s cut in the last %s, as a write did not end in time; the last one was %s of %s", were(n, "stream"), minutes(Recently), past.LastKind, past.LastPeer)})
	}
	if n := gone.FellBehind; n > 0 {
		items = append(items, Item{Text: fmt.Sprintf("%d gaps told in the last %s to streams that fell behind what is kept", n, minutes(Recently))})
	}
	if len(items) == 0 {
		return ok("%d streams of events, %d clients of the bus, none is slow", len(list), f.Bus.Stats().Connections)
	}
	return warning("subscribers read slower than events come: "+items[0].Text,
		"let the subscriber read in one goroutine and work in others, or select fewer events by set, fence or fleet; bus.max_pending and limits.events give it more time", items...)
}

const (
	slowEvents  = 2 * time.Second // p99 from the arrival of a position to its events
	manyWaiting = 64 << 10        // positions
	manyRecords = 10_000          // that the history has not read
)

func (f *Facts) lag() Result {
	p99 := f.Pipeline.Metrics.Totals().EventP99
	waiting, postponed := f.Pipeline.Waiting(), f.Pipeline.Postponed()
	building := 0
	for s := range f.Catalog.All() {
		if s.Building() {
			building++
		}
	}
	text := fmt.Sprintf("p99 of events %v, %d positions wait, %d of 64 partitions have postponed work, %d indexes are built", p99.Round(100*time.Microsecond), waiting, postponed, building)
	behind := uint64(0)
	if f.History != nil {
		behind = f.History.Stats().Lag
		text += fmt.Sprintf(", the history is %d records behind", behind)
	}
	if p99 > slowEvents || waiting > manyWaiting || behind > manyRecords {
		return warning(text, "look at the checks cpu, fsync and subscribers: the platform does not keep up with what comes; send fewer positions, or give it a faster disk or more processors")
	}
	return ok("%s", text)
}

func (f *Facts) tunnel() Result {
	if f.Tunnel == nil {
		return Skip("there is no tunnel")
	}
	t := f.Tunnel()
	text := fmt.Sprintf("%d of at most %d clients, %d away; %d of at most %d requests", t.Sessions, t.SessionsLimit, t.Away, t.Requests, t.RequestsLimit)
	if n := f.Trend.Recent(f.now()).Overloads; n > 0 {
		return warning(fmt.Sprintf("%s; %s for want of capacity in the last %s", text, were(n, "refusal"), minutes(Recently)), "raise the limits of the section tunnel, or the limit of open files; GET /v1/tunnel names the bound")
	}
	if t.Away > 0 {
		return warning(text, "clients that are away lost their connection: look at their logs; paddock tunnel list names them")
	}
	return ok("%s", text)
}
