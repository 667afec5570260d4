package bus

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"paddock/bus/internal/traffic"
)

// traffic returns the labels and their counts.
func (s *Server) trafficByLabel() map[string]PrefixTraffic {
	all := map[string]PrefixTraffic{}
	for _, p := range s.PrefixTraffic() {
		all[p.Prefix] = p
	}
	return all
}

// Subjects that repeat are counted to the message, under the longest configured
// prefix, whole tokens of it.
func TestConfiguredPrefixesCountExactly(t *testing.T) {
	s, err := New(Config{Prefixes: []string{"pos", "pos.berlin", "po"}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := idleClient(t, s)
	c.in.handle([]byte("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB pos.> 1\r\nSUB pos.berlin.* 2\r\n"))
	for range 100 {
		c.in.handle([]byte("PUB pos.berlin.7 1\r\nx\r\nPUB pos.x 1\r\nx\r\nPUB pos 1\r\nx\r\nPUB posh 1\r\nx\r\nPUB po.x 1\r\nx\r\nPUB pos.berlin.7 1\r\nx\r\n"))
	}
	got := s.trafficByLabel()
	for prefix, want := range map[string]PrefixTraffic{
		"pos.berlin": {In: 200, Out: 400}, "pos": {In: 200, Out: 100}, "po": {In: 100},
	} {
		if want.Prefix = prefix; got[prefix] != want {
			t.Errorf("%s: %+v, want %+v", prefix, got[prefix], want)
		}
	}
	in := uint64(0)
	for _, p := range got {
		in += p.In
	}
	if in != 600 || got["posh"].In+got[OtherPrefixes].In != 100 {
		t.Errorf("all: %v", got)
	}
}

// A fan-out that goes to each client in one piece counts as one message for each.
func TestRunsCountForTheirPrefix(t *testing.T) {
	s, err := New(Config{Prefixes: []string{"fan"}})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := idleClient(t, s)
	b, _ := idleClient(t, s)
	for _, c := range []*client{a, b} {
		c.in.handle([]byte("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB fan.out 1\r\n"))
	}
	a.in.handle(append(bytes.Repeat([]byte("PUB fan.out 2\r\nhi\r\n"), 50), "PING\r\n"...))
	if got := s.trafficByLabel()["fan"]; got.In != 50 || got.Out != 100 {
		t.Errorf("%+v", got)
	}
	if i := a.info(); i.InMsgs != 50 || i.InBytes != 100 || i.OutMsgs != 50 || i.OutBytes != 100 {
		t.Errorf("the publisher: %+v", i)
	}
	if i := b.info(); i.InMsgs != 0 || i.OutMsgs != 50 || i.OutBytes != 100 {
		t.Errorf("the other: %+v", i)
	}
}

// The broker's own answer to a request counts as no message, neither for its receiver nor in all.
func TestNoRespondersIsNotCounted(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, far := idleClient(t, s)
	c.in.handle([]byte("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB inbox 1\r\nPUB none inbox 0\r\n\r\n"))
	l := s.Local("requester")
	answered := make(chan int, 1)
	if _, err := l.Subscribe("local", "", func(all []Msg) { answered <- len(all) }); err != nil {
		t.Fatal(err)
	}
	if err := l.Publish("none", "local", nil, nil); err != nil || <-answered != 1 {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(far).ReadString('\n'); !strings.HasPrefix(line, "HMSG inbox 1 ") {
		t.Errorf("%q, %v", line, err)
	}
	for name, i := range map[string]ConnInfo{"network": c.info(), "local": l.info()} {
		if i.InMsgs != 1 || i.OutMsgs != 0 || i.OutBytes != 0 {
			t.Errorf("%s: %+v", name, i)
		}
	}
	if st := s.Stats(); st.InMsgs != 2 || st.OutMsgs != 0 {
		t.Errorf("%+v", st)
	}
}

// What is only traced counts for the prefix of its own subject.
func TestTraceOnlyCountsForItsPrefix(t *testing.T) {
	s, err := New(Config{Prefixes: []string{"real", "traced"}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := idleClient(t, s)
	c.in.handle([]byte("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB real 1\r\n"))
	header := "NATS/1.0\r\nNats-Trace-Dest: t\r\nNats-Trace-Only: true\r\n\r\n"
	traced := fmt.Sprintf("HPUB traced %d %[1]d\r\n%s\r\n", len(header), header)
	for range 100 {
		c.in.handle([]byte("PUB real 1\r\nx\r\n" + traced + traced))
	}
	got := s.trafficByLabel()
	for prefix, want := range map[string]PrefixTraffic{"real": {In: 100, Out: 100}, "traced": {In: 200}} {
		if want.Prefix = prefix; got[prefix] != want {
			t.Errorf("%s: %+v, want %+v", prefix, got[prefix], want)
		}
	}
}

// A million subjects, each of which comes once, and two thousand prefixes that come seldom, make no
// labels; prefixes that are busy get theirs, and the counts of subjects that come once are near the
// truth.
func TestLabelsDoNotGrowWithTraffic(t *testing.T) {
	s, err := New(Config{Prefixes: []string{"set"}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := idleClient(t, s)
	c.in.handle([]byte("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n"))
	const rounds = 2000
	var batch bytes.Buffer
	for i := range rounds {
		batch.Reset()
		for k := range 50 {
			fmt.Fprintf(&batch, "PUB set.%d.%d 0\r\n\r\nPUB busy.fleet.%d.%d 0\r\n\r\nPUB seldom.%d.x 0\r\n\r\n", i, k, i, k, i*50+k)
			fmt.Fprintf(&batch, "PUB many.%d.x 0\r\n\r\n", k)
		}
		c.in.handle(batch.Bytes())
	}
	got := s.trafficByLabel()
	if n := len(got); n > traffic.MaxLabels+2 || n < traffic.MaxLabels {
		t.Errorf("%d labels", n)
	}
	for _, prefix := range []string{"set", "busy.fleet"} {
		if share := float64(got[prefix].In) / (50 * rounds); math.Abs(share-1) > 0.25 { // five standard deviations
			t.Errorf("%s: %.3f of its messages", prefix, share)
		}
	}
	for prefix := range got {
		if len(prefix) > 7 && prefix[:7] == "seldom." {
			t.Errorf("a label for %s", prefix)
		}
	}
}

func TestHistogramBins(t *testing.T) {
	var h histogram
	for _, n := range []int{0, 1, 64, 65, 256, 257, 1 << 20, 1<<20 + 1} {
		h.observe(n)
	}
	r := h.reading()
	if fmt.Sprint(r.Counts) != "[2 2 1 0 0 0 0 1 1]" || r.Bounds[0] != 64 || r.Bounds[7] != 1<<20 {
		t.Errorf("%+v", r)
	}
}
