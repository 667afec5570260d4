package httptunnel_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"paddock/internal/lab/httptunnel"
	"paddock/load"
)

// Answers are told apart by thread and kind; each promise that is broken has its line.
func TestOverload(t *testing.T) {
	var a httptunnel.Answers
	for thread := range 2 {
		each := a.Each(thread)
		for range 450 {
			each(&load.Ended{Sent: 5, Done: 5 + int64(100*time.Millisecond), Class: load.ClassOK, Status: 200})
			each(&load.Ended{Sent: 5, Done: 5 + int64(time.Millisecond), Class: load.ClassStatus, Status: 503})
		}
	}
	r := &load.Result{Elapsed: time.Second, InTime: 900}
	r.Total.Failed[load.ClassDropped] = 180
	o := httptunnel.Overload{Capacity: 1000, Offered: 3000, DescriptorsBefore: 20, DescriptorsAfter: 21, Hinted: 3}
	o.Count(&a, r)
	if o.Served != 900 || o.Refused != 900 || o.Failed != 0 || o.Unsent != 180 || len(o.Missed()) != 0 {
		t.Errorf("%+v: %q", o, o.Missed())
	}
	var text bytes.Buffer
	if err := o.WriteText(&text); err != nil || !strings.Contains(text.String(), "Everything holds.") {
		t.Errorf("%v: %s", err, &text)
	}
	for want, spoil := range map[string]func(*httptunnel.Overload){
		"goodput":         func(o *httptunnel.Overload) { o.Goodput = 899 },
		"failed":          func(o *httptunnel.Overload) { o.Failed = 1 },
		"not sent":        func(o *httptunnel.Overload) { o.Unsent = 190 },
		"p99 of refusals": func(o *httptunnel.Overload) { o.RefusedP99 = 11 * time.Millisecond },
		"Retry-After":     func(o *httptunnel.Overload) { o.Unhinted = 1 },
		"the server had":  func(o *httptunnel.Overload) { o.ServerMemory = 257 << 20 },
		"the client had":  func(o *httptunnel.Overload) { o.ClientMemory = 129 << 20 },
		"descriptors":     func(o *httptunnel.Overload) { o.DescriptorsAfter = 22 },
	} {
		bad := o
		spoil(&bad)
		if missed := bad.Missed(); len(missed) != 1 || !strings.Contains(missed[0], want) {
			t.Errorf("%s: %q", want, missed)
		}
		text.Reset()
		if err := bad.WriteJSON(&text); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%s: %v in %s", want, err, &text)
		}
	}
}
