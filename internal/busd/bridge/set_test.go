package bridge

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
)

// A reload keeps the bridges that are the same, ends the ones that are gone and starts new ones.
func TestApply(t *testing.T) {
	here, there := newSite(t), newSite(t)
	config := func(name, subject string) Config {
		return Config{Name: name, URLs: []string{there.url()}, Import: []string{subject}, Export: []string{subject + ".out"}, MaxPending: DefaultPending}
	}
	here.apply(config("kept", "a"), config("gone", "b"), config("changed", "c"))
	kept := here.set.list[0]
	for i := range 3 {
		here.awaitConnected(i)
	}
	here.apply(config("new", "e"), config("changed", "d"), config("kept", "a"))
	if here.set.list[2] != kept || len(here.set.States()) != 3 {
		t.Fatal("the bridge that is the same was not kept")
	}
	for i := range 3 {
		here.awaitConnected(i)
	}
	got := here.follow(">")
	for _, subject := range []string{"b", "c", "a", "d", "e"} {
		there.publish(&nats.Msg{Subject: subject})
	}
	seen := map[string]bool{}
	for _, m := range got.await(t, 3) {
		seen[m.Subject] = true
	}
	if len(seen) != 3 || !seen["a"] || !seen["d"] || !seen["e"] {
		t.Errorf("%v", seen)
	}
}

// What waits when a bridge ends goes to the other server, where it has unsubscribed then.
func TestCloseSendsWhatWaits(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in"}, []string{"out"})
	got := there.follow("out")
	const n = 3000
	here.publish(numbered("out", n)...)
	here.set.Close(t.Context())
	if _, left := there.server.Subscriptions("in", 0, 1); left != 0 {
		t.Errorf("%d subscriptions are left", left)
	}
	got.await(t, n)
}

// A nil set is one without bridges, and a set has metrics of each bridge.
func TestMetrics(t *testing.T) {
	var nothing *Set
	nothing.Close(t.Context())
	if nothing.States() != nil {
		t.Error("states of nothing")
	}
	here, there := newSite(t), newSite(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(here.set)
	here.bridge(there, nil, []string{"a"})
	families, err := registry.Gather()
	if err != nil || len(families) != 6 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a.>", "a", false},
		{"a.>", "a.b.c", true},
		{"a.*", "*.b", true},
		{"a.*.c", "a.b.*", true},
		{"a.*", "a.b.c", false},
		{">", "x", true},
		{"a.b", "a.b.c", false},
		{"*.x", "a.y", false},
		{"a.>", "*.b.>", true},
		{"a.>b", "a.x", false},
	} {
		if overlap(c.a, c.b) != c.want || overlap(c.b, c.a) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
	}
}

func TestDeniedBy(t *testing.T) {
	deny := []string{"fence.>", "one.*"}
	for pattern, want := range map[string]string{
		"fence.>": "fence.>", "fence.*.enter": "fence.>", "fence.a": "fence.>", "fence": "", ">": "", "*.a": "",
		"one.x": "one.*", "one.*": "one.*", "one.>": "", "two.x": "",
	} {
		if got := DeniedBy(pattern, deny); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
