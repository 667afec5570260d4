package rule

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
)

// Schedule tells when a rule is active: in windows of the week, in a time zone, between two
// instants. As JSON:
//
//	{"zone":"America/New_York","week":{"mon-fri":["07:00-18:00"],"sat":["22:00-06:00"]},
//	 "valid_from":"2026-01-01T00:00:00-05:00","valid_until":"2027-01-01T00:00:00-05:00"}
//
// All members are optional. Without zone the zone is UTC, without week all hours are open, and the
// instants bound nothing if they are not given; valid_from is the first open instant, valid_until
// the first closed one. A key of week is a day (mon, tue, wed, thu, fri, sat, sun), a range of days
// (mon-fri, or fri-mon over the weekend) or a list of both (mon-wed,sat). A window begins at its
// first minute and ends before its last one. It belongs to the day on which it begins: a window
// whose end is not after its start ends on the next day. 24:00 is the end of the day.
//
// # Clock changes
//
// One rule decides all cases: the schedule is open at an instant if the clock on the wall of that
// zone shows a time in a window. It follows that:
//
//   - A window that begins in the hour that does not exist opens as the clock jumps. A window that
//     lies in that hour as a whole does not open on that day.
//   - The hour that comes twice counts twice. A window in it opens and closes twice. A window that
//     ends in it closes, opens again as the clock is set back, and closes at last. A window around
//     it is one hour longer.
//
// # Time zones
//
// Zones come from the time zone database of the machine, or of the program if it has its own. A
// program that runs on machines without a database imports time/tzdata; this package does not. Two
// databases may disagree, and then a replay of the same positions gives other events. So a program
// that keeps inputs for a replay notes the version of its database with them, such as in the header
// of each segment of a journal. The version is in the first line of the database's tzdata.zi, or is
// that of Go for time/tzdata.
//
// The zero Schedule is always open.
type Schedule struct {
	zone        *time.Location // nil: UTC
	week        week
	from, until time.Time // zero: not bounded
}

// resolution is that of positions; bounds are cut to it.
const resolution = time.Millisecond

// bound cuts the bounds to the resolution and checks their order.
func (s *Schedule) bound() error {
	s.from, s.until = s.from.Truncate(resolution), s.until.Truncate(resolution)
	if !s.from.IsZero() && !s.until.IsZero() && !s.from.Before(s.until) {
		return errors.New("valid_until is not after valid_from")
	}
	return nil
}

// in returns t in the zone of the schedule.
func (s *Schedule) in(t time.Time) time.Time {
	if s.zone == nil {
		return t.UTC()
	}
	return t.In(s.zone)
}

// Open reports whether the schedule is open at t. A nil schedule always is.
func (s *Schedule) Open(t time.Time) bool {
	switch {
	case s == nil:
		return true
	case t.Before(s.from), !s.until.IsZero() && !t.Before(s.until):
		return false
	}
	return s.week.open(secondOfWeek(s.in(t)))
}

// always reports whether the schedule is open at all times.
func (s *Schedule) always() bool { return s.week == nil && s.from.IsZero() && s.until.IsZero() }

// Next returns the first instant after t at which the schedule opens or closes, and whether it
// opens. changes is false if it does neither any more.
func (s *Schedule) Next(t time.Time) (at time.Time, opens, changes bool) {
	if s == nil || !s.until.IsZero() && !t.Before(s.until) {
		return time.Time{}, false, false
	}
	if t.Before(s.from) {
		if t = s.from; s.Open(t) {
			return t, true, true
		}
	}
	open := s.Open(t)
	at, changes = s.nextInWeek(t, open)
	if !s.until.IsZero() && (!changes || !at.Before(s.until)) {
		return s.until, false, open
	}
	return at, !open, changes
}

// nextInWeek returns the first instant after t at which the week is no longer open, or closed, as
// it is at t.
//
// Between two changes of the zone's offset the clock on the wall runs evenly, so the next change of
// the week is found by one search in each such period.
func (s *Schedule) nextInWeek(t time.Time, open bool) (at time.Time, changes bool) {
	if s.week.constant() {
		return time.Time{}, false
	}
	for {
		local := s.in(t)
		_, end := local.ZoneBounds()
		second := secondOfWeek(local)
		next := t.Truncate(time.Second).Add(time.Duration(s.week.until(second, open)) * time.Second)
		if end.IsZero() || next.Before(end) {
			return next, true
		}
		if t = end; s.week.open(secondOfWeek(s.in(end))) != open {
			return end, true
		}
	}
}

const (
	day         = 24 * 60 // minutes
	wholeWeek   = 7 * day
	weekSeconds = wholeWeek * 60
)

// secondOfWeek returns the time on the wall's clock, in seconds since the beginning of Monday.
func secondOfWeek(local time.Time) int {
	days := (int(local.Weekday()) + 6) % 7
	hour, minute, second := local.Clock()
	return ((days*24+hour)*60+minute)*60 + second
}

// zones holds the zones that were loaded, by name: rules by the thousand share a few. There are
// less than a thousand names.
var zones sync.Map

func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	switch strings.ToLower(name) {
	case "local", "localtime", "posixrules": // the last two are links of the database's directory
		return nil, fmt.Errorf("%q depends on the machine: name a zone, such as Europe/Berlin", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil || path.Clean(name) != name { // a file has endless paths
		return nil, fmt.Errorf("%.64q is no zone of the time zone database: name one such as Europe/Berlin", name)
	}
	zones.Store(name, z)
	return z, nil
}
