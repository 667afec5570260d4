package rule_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine's database

	"paddock/fence/track/rule"
)

func schedule(t *testing.T, text string) *rule.Schedule {
	t.Helper()
	s, err := rule.ParseSchedule([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestScheduleHistories holds when schedules open and close: each row lists the changes after its
// first instant.
func TestScheduleHistories(t *testing.T) {
	for _, c := range []struct {
		name, schedule, from string
		open                 bool
		changes              []string // the first one is to the opposite of open
	}{
		{
			"a working day", `{"zone":"Europe/Berlin","week":{"mon-fri":["07:00-18:00"]}}`, "2026-03-13T12:00:00+01:00", true,
			[]string{"2026-03-13T18:00:00+01:00", "2026-03-16T07:00:00+01:00", "2026-03-16T18:00:00+01:00"},
		},
		{
			"over midnight, and over the end of the week", `{"week":{"fri":["22:00-06:00"],"sun":["23:00-01:00"]}}`, "2026-03-13T00:00:00Z", false,
			[]string{"2026-03-13T22:00:00Z", "2026-03-14T06:00:00Z", "2026-03-15T23:00:00Z", "2026-03-16T01:00:00Z", "2026-03-20T22:00:00Z"},
		},
		{
			"windows that touch are one", `{"week":{"mon":["08:00-24:00"],"tue":["00:00-07:00","07:00-09:00"]}}`, "2026-03-16T08:00:00Z", true,
			[]string{"2026-03-17T09:00:00Z", "2026-03-23T08:00:00Z"},
		},
		{
			"a range over the weekend", `{"week":{"sat-mon,wed":["10:00-11:00"]}}`, "2026-03-14T10:30:00Z", true,
			[]string{"2026-03-14T11:00:00Z", "2026-03-15T10:00:00Z", "2026-03-15T11:00:00Z", "2026-03-16T10:00:00Z", "2026-03-16T11:00:00Z", "2026-03-18T10:00:00Z"},
		},
		{
			"begins in the hour that does not exist", `{"zone":"America/New_York","week":{"sun":["02:30-04:00"]}}`, "2026-03-08T00:00:00-05:00", false,
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00", "2026-03-15T02:30:00-04:00"},
		},
		{
			"lies in the hour that does not exist", `{"zone":"America/New_York","week":{"sun":["02:15-02:45"]}}`, "2026-03-08T00:00:00-05:00", false,
			[]string{"2026-03-15T02:15:00-04:00"},
		},
		{
			"ends in the hour that does not exist", `{"zone":"America/New_York","week":{"sun":["01:00-02:30"]}}`, "2026-03-08T01:30:00-05:00", true,
			[]string{"2026-03-08T03:00:00-04:00"},
		},
		{
			"lies in the hour that comes twice", `{"zone":"America/New_York","week":{"sun":["01:15-01:45"]}}`, "2026-11-01T00:00:00-04:00", false,
			[]string{"2026-11-01T01:15:00-04:00", "2026-11-01T01:45:00-04:00", "2026-11-01T01:15:00-05:00", "2026-11-01T01:45:00-05:00", "2026-11-08T01:15:00-05:00"},
		},
		{
			"begins in the hour that comes twice", `{"zone":"America/New_York","week":{"sun":["01:30-03:00"]}}`, "2026-11-01T00:00:00-04:00", false,
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T03:00:00-05:00"},
		},
		{
			"ends in the hour that comes twice", `{"zone":"America/New_York","week":{"sun":["00:30-01:30"]}}`, "2026-11-01T00:30:00-04:00", true,
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-08T00:30:00-05:00"},
		},
		{
			"around the hour that comes twice", `{"zone":"America/New_York","week":{"sun":["00:30-02:30"]}}`, "2026-11-01T00:30:00-04:00", true,
			[]string{"2026-11-01T02:30:00-05:00", "2026-11-08T00:30:00-05:00"},
		},
		{
			"bounded inside windows", `{"week":{"mon-sun":["08:00-10:00"]},"valid_from":"2026-03-12T09:00:00.25Z","valid_until":"2026-03-13T09:00:00Z"}`, "2026-03-01T08:30:00Z", false,
			[]string{"2026-03-12T09:00:00.25Z", "2026-03-12T10:00:00Z", "2026-03-13T08:00:00Z", "2026-03-13T09:00:00Z"},
		},
		{
			"bounded outside windows", `{"week":{"thu":["08:00-10:00"]},"valid_from":"2026-03-11T09:00:00Z","valid_until":"2026-03-13T09:00:00Z"}`, "2026-03-01T08:30:00Z", false,
			[]string{"2026-03-12T08:00:00Z", "2026-03-12T10:00:00Z"},
		},
		{
			"bounded without windows", `{"valid_from":"2026-03-11T09:00:00Z","valid_until":"2026-03-13T09:00:00Z"}`, "2026-03-01T08:30:00Z", false,
			[]string{"2026-03-11T09:00:00Z", "2026-03-13T09:00:00Z"},
		},
		{"no window within the bounds", `{"week":{"thu":["08:00-10:00"]},"valid_until":"2026-03-12T08:00:00Z"}`, "2026-03-12T07:00:00Z", false, nil},
		{"always", `{}`, "2026-03-01T08:30:00Z", true, nil},
	} {
		s, at, open := schedule(t, c.schedule), instant(t, c.from), c.open
		if s.Open(at) != open {
			t.Errorf("%s: open is %v at first", c.name, !open)
		}
		for _, want := range c.changes {
			next, opens, ok := s.Next(at)
			if !ok || opens == open || !next.Equal(instant(t, want)) {
				t.Errorf("%s: after %v: %v, opens %v, %v; want %s", c.name, at, next, opens, ok, want)
				break
			}
			if s.Open(next) != opens || s.Open(next.Add(-time.Nanosecond)) == opens {
				t.Errorf("%s: Open does not change at %v", c.name, next)
			}
			at, open = next, opens
		}
		last := strings.Contains(c.schedule, "valid_until") || c.schedule == "{}"
		if next, _, ok := s.Next(at); ok == last {
			t.Errorf("%s: after %v: %v, %v", c.name, at, next, ok)
		}
	}
	var none *rule.Schedule
	if _, _, ok := none.Next(time.Now()); ok || !none.Open(time.Now()) {
		t.Error("no schedule is not open for good")
	}
}

// row is a line of a timetable, for the oracle.
type row struct{ day, from, to int } // minutes of the day; to may lie on the next day

// shows reports whether the row is open at this time of the clock on the wall.
func (r row) shows(day, minute int) bool {
	return day == r.day && r.from <= minute && minute < r.to || day == (r.day+1)%7 && minute < r.to-24*60
}

var days = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // as time.Weekday

// randomRows makes a timetable, of which half the windows lie near the hours of clock changes.
func randomRows(r *rand.Rand) (rows []row, text string) {
	week := map[string][]string{}
	for range 1 + r.IntN(6) {
		o := row{r.IntN(7), r.IntN(24 * 4), 0}
		if r.IntN(2) == 0 {
			o.day, o.from = 0, r.IntN(4*4)
		}
		o.to = o.from + 1 + r.IntN(24*4-1)
		if r.IntN(2) == 0 {
			o.to = o.from + 1 + r.IntN(8)
		}
		o.from, o.to = o.from*15, o.to*15
		rows = append(rows, o)
		clock := func(m int) string { return time.Unix(int64(m)*60, 0).UTC().Format("15:04") }
		week[days[o.day]] = append(week[days[o.day]], clock(o.from)+"-"+clock(o.to))
	}
	b, _ := json.Marshal(week)
	return rows, string(b)
}

// TestScheduleOracle compares a year in each zone with a walk over all its minutes.
func TestScheduleOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const minutes = 365 * 24 * 60
	for _, zone := range []string{
		"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago",
		"Asia/Kathmandu", "Africa/Casablanca", "Africa/Cairo",
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		shown := make([]uint16, minutes) // minute of the week
		for i := range shown {
			local := begin.Add(time.Duration(i) * time.Minute).In(location)
			shown[i] = uint16((int(local.Weekday())*24+local.Hour())*60 + local.Minute())
		}
		for range 6 {
			rows, text := randomRows(r)
			s := schedule(t, `{"zone":"`+zone+`","week":`+text+`}`)
			open := make([]bool, 7*24*60)
			for m := range open {
				open[m] = slices.ContainsFunc(rows, func(o row) bool { return o.shows(m/(24*60), m%(24*60)) })
			}
			compareYear(t, s, begin, shown, open, r)
		}
	}
}

func compareYear(t *testing.T, s *rule.Schedule, begin time.Time, shown []uint16, open []bool, r *rand.Rand) {
	t.Helper()
	text, _ := json.Marshal(s)
	at := func(minute int) time.Time { return begin.Add(time.Duration(minute) * time.Minute) }
	last := 0 // the last change
	for i := 1; i < len(shown); i++ {
		if open[shown[i]] == open[shown[i-1]] {
			continue
		}
		from := at(last).Add(time.Duration(r.Int64N(int64(at(i).Sub(at(last))))))
		for _, from := range []time.Time{at(last), from, at(i).Add(-time.Nanosecond)} {
			next, opens, ok := s.Next(from)
			if !ok || !next.Equal(at(i)) || opens != open[shown[i]] || s.Open(from) == opens {
				t.Fatalf("%s: after %v: %v, opens %v, %v; want %v", text, from, next, opens, ok, at(i))
			}
		}
		last = i
	}
}

func BenchmarkSchedule(b *testing.B) {
	s, err := rule.ParseSchedule([]byte(`{"zone":"America/New_York","week":{"mon-fri":["07:00-18:00"],"sat":["22:00-06:00"]}}`))
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s.Open(at)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			s.Next(at)
		}
	})
}

// TestScheduleText holds that schedules of the same hours have the same bytes.
func TestScheduleText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		rows, text := randomRows(r)
		s := schedule(t, `{"week":`+text+`}`)
		canonical, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(schedule(t, string(canonical)))
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%s, then %s, %v", canonical, again, err)
		}
		halves := map[string][]string{} // each window in two pieces
		for _, o := range rows {
			clock := func(m int) string { return time.Unix(int64(m)*60, 0).UTC().Format("15:04") }
			middle := (o.from + o.to) / 2
			halves[days[o.day]] = append(halves[days[o.day]], clock(o.from)+"-"+clock(middle))
			later := days[(o.day+middle/(24*60))%7]
			halves[later] = append(halves[later], clock(middle)+"-"+clock(o.to))
		}
		b, _ := json.Marshal(halves)
		if cut, err := json.Marshal(schedule(t, `{"week":`+string(b)+`}`)); err != nil || string(cut) != string(canonical) {
			t.Fatalf("%s of %s, %s of %s", canonical, text, cut, b)
		}
	}
}
