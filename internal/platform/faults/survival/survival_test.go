package survival

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Judge finds an event that is missing, that is there twice, and an enter without an exit before
// it.
func TestJudge(t *testing.T) {
	event := func(kind, seq string) string {
		return `{"type":"paddock.fence.` + kind + `","data":{"fence":{"id":"a"},"object":{"id":"v"},"seq":` + seq + `}}`
	}
	several := func(kind, number, visit string) string {
		return `{"type":"paddock.fence.count_` + kind + `","id":"count/r/a/` + number + `","source":"/sets/s","data":{"visit":"count/r/a/` + visit + `"}}`
	}
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"right":              {[]string{event("enter", "1"), event("exit", "2")}, ""},
		"missing":            {[]string{event("enter", "1"), event("exit", "3")}, "event 3 of v where 2"},
		"twice":              {[]string{event("enter", "1"), event("enter", "1")}, "event 1 of v where 2"},
		"again":              {[]string{event("enter", "1"), event("enter", "2")}, "enter again"},
		"a count":            {[]string{several("begin", "4", "4"), several("end", "7", "4"), several("begin", "9", "9")}, ""},
		"a count again":      {[]string{several("begin", "4", "4"), several("begin", "7", "7")}, "and again"},
		"the end of nothing": {[]string{several("end", "4", "3")}, "and not as told"},
		"no JSON":            {[]string{"{"}, "unexpected end"},
	} {
		s := New()
		s.times = map[string]int64{"http0": 1, "bus0": 1, "wire0": 1}
		s.events = c.events
		report, err := s.Judge()
		if c.want == "" && (err != nil || report.Events != len(c.events)) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v, want %q", name, report, err, c.want)
		}
	}
	if _, err := New().Judge(); err == nil || !strings.Contains(err.Error(), "no position was acknowledged by http") {
		t.Error(err)
	}
}
