package rule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock/fence/track/rule/internal/document"
)

// ParseSchedule reads the JSON of a schedule.
func ParseSchedule(text []byte) (*Schedule, error) {
	doc, err := document.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	faults := &Faults{}
	s := readSchedule(reader{doc, "", faults})
	return s, faults.err()
}

// UnmarshalJSON reads a schedule as ParseSchedule does.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	parsed, err := ParseSchedule(text)
	if err == nil {
		*s = *parsed
	}
	return err
}

// readSchedule reads a schedule. It returns nil if there are faults.
func readSchedule(v reader) *Schedule {
	s := &Schedule{}
	before := v.faults.count()
	v.fields(map[string]func(reader){
		"zone": into(&s.zone, loadZone), "week": s.readWeek,
		"valid_from": into(&s.from, parseInstant), "valid_until": into(&s.until, parseInstant),
	})
	if err := s.bound(); err != nil {
		v.fault("%w", err)
	}
	if v.faults.count() > before {
		return nil
	}
	return s
}

// parseInstant reads a time. Its year in UTC has four digits, so that RFC 3339 can write it.
func parseInstant(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	switch t = t.UTC(); {
	case err != nil:
		return t, fmt.Errorf("%.64q is no time: write 2026-03-12T08:00:00Z, or an offset such as +01:00 in place of Z", text)
	case t.Year() < 1 || t.IsZero():
		return t, errors.New("the time is before the year 1")
	case t.Year() > 9999:
		return t, errors.New("the time is after the year 9999")
	}
	return t, nil
}

func (s *Schedule) readWeek(v reader) {
	if !v.is(document.Object) {
		return
	}
	before := v.faults.count()
	var windows []window
	for _, m := range v.Members {
		key := reader{m.Value, join(v.path, m.Key), v.faults}
		days, err := parseDays(m.Key)
		if err != nil {
			key.fault("%w", err)
			continue
		}
		key.items(maxWindows, func(item reader) {
			var w window
			into(&w, parseWindow)(item)
			for _, d := range days {
				windows = append(windows, window{d*day + w.from, d*day + w.to})
			}
		})
	}
	s.week = newWeek(windows)
	if len(windows) == 0 && v.faults.count() == before {
		v.fault("no window is open: leave week out for all hours, or set enabled to false")
	}
}

// MarshalJSON returns the canonical JSON: schedules with the same zone and the same bounds that are
// open at the same times of the week have equal bytes.
func (s *Schedule) MarshalJSON() ([]byte, error) {
	o := &object{[]byte{'{'}}
	s.members(o)
	return append(o.text, '}'), nil
}

// write writes the schedule as a member, unless it is nil.
func (s *Schedule) write(o *object) {
	if s != nil {
		o.nest("active", func() { s.members(o) })
	}
}

func (s *Schedule) members(o *object) {
	if s.zone != nil && s.zone != time.UTC {
		o.string("zone", s.zone.String())
	}
	if s.week != nil {
		o.nest("week", func() { s.week.write(o) })
	}
	o.instant("valid_from", s.from)
	o.instant("valid_until", s.until)
}

func (o *object) instant(name string, t time.Time) {
	if !t.IsZero() {
		o.string(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// write writes the days in their order; days in a row with the same windows are one member.
func (w week) write(o *object) {
	days := w.byDay()
	for first := 0; first < len(days); {
		last := first
		for last+1 < len(days) && slices.Equal(days[last+1], days[first]) {
			last++
		}
		key := dayNames[first]
		if last > first {
			key += "-" + dayNames[last]
		}
		var windows []string
		for _, one := range days[first] {
			windows = append(windows, one.String())
		}
		o.list(key, windows)
		first = last + 1
	}
}
