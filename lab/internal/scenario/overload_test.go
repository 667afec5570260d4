package scenario_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/scenario"
	"paddock/load"
)

// Answers are told apart by thread and kind; each promise that is broken has its line.
func TestOverload(t *testing.T) {
	var a scenario.Answers
	for thread := range 2 {
		each := a.Each(thread)
		for range 450 {
			each(&load.Outcome{Sent: 5, Done: 5 + int64(100*time.Millisecond), Class: load.ClassOK, Status: 200})
			each(&load.Outcome{Sent: 5, Done: 5 + int64(time.Millisecond), Class: load.ClassStatus, Status: 503})
		}
	}
	r := &load.Result{Elapsed: time.Second, InTime: 900}
	r.Total.Failed[load.ClassDropped] = 180
	o := scenario.Overload{Capacity: 1000, Offered: 3000, Hinted: 3, CalmP99: 60 * time.Millisecond, Beside: &scenario.Beside{Asked: 9, P99: time.Millisecond}}
	o.Levels = []scenario.Level{{Name: "descriptors", Before: 20, Peak: 90, After: 21, More: 0.05, Least: 1}}
	o.Count(&a, r)
	if o.Served != 900 || o.Refused != 900 || o.Failed != 0 || o.Unsent != 180 || len(o.Missed()) != 0 {
		t.Errorf("%+v: %q", o, o.Missed())
	}
	if o.Spent(900*time.Millisecond, 900, 990*time.Millisecond); o.ServedCPU != time.Millisecond || o.RefusedCPU != 100*time.Microsecond {
		t.Errorf("%v and %v", o.ServedCPU, o.RefusedCPU)
	}
	if o.Ceiling < 0.777 || o.Ceiling > 0.778 { // (1 - 3 * 0.1) / (1 - 0.1)
		t.Errorf("ceiling %v", o.Ceiling)
	}
	var text bytes.Buffer
	if err := o.WriteText(&text); err != nil || !strings.Contains(text.String(), "Everything holds.") {
		t.Errorf("%v: %s", err, &text)
	}
	for want, spoil := range map[string]func(*scenario.Overload){
		"goodput":         func(o *scenario.Overload) { o.Goodput = 899 },
		"failed":          func(o *scenario.Overload) { o.Failed = 1 },
		"not sent":        func(o *scenario.Overload) { o.Unsent = 190 },
		"p99 of refusals": func(o *scenario.Overload) { o.RefusedP99 = 11 * time.Millisecond },
		"Retry-After":     func(o *scenario.Overload) { o.Unhinted = 1 },
		"the server had":  func(o *scenario.Overload) { o.ServerMemory = 257 << 20 },
		"the client had":  func(o *scenario.Overload) { o.ClientMemory = 129 << 20 },
		"server grew":     func(o *scenario.Overload) { o.Duration, o.ServerGrowth = 5*time.Minute, 1.1*(1<<20) },
		"client grew":     func(o *scenario.Overload) { o.Duration, o.ClientGrowth = 5*time.Minute, 1.1*(1<<20) },
		"what is served":  func(o *scenario.Overload) { o.CalmP99 = 40 * time.Millisecond },
		"other tunnel f":  func(o *scenario.Overload) { o.Beside = &scenario.Beside{Asked: 9, Failed: 1} },
		"other tunnel is": func(o *scenario.Overload) { o.Beside = &scenario.Beside{Asked: 9, P99: time.Second} },
		"descriptors": func(o *scenario.Overload) {
			o.Levels = []scenario.Level{{Name: "descriptors", Before: 20, After: 22, More: 0.05, Least: 1}}
		},
	} {
		bad := o
		spoil(&bad)
		if missed := bad.Missed(); len(missed) != 1 || !strings.Contains(missed[0], want) {
			t.Errorf("%s: %q", want, missed)
		}
		if text, err := json.Marshal(&bad); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v in %s", want, err, text)
		}
	}
}
