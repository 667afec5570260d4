package traffic

import (
	"fmt"
	"testing"
)

func TestPrefixOf(t *testing.T) {
	for subject, want := range map[string]string{
		"a": "a", "a.b": "a", "a.b.c": "a.b", "a.b.c.d": "a.b", "_INBOX.x.y": "_INBOX", "_INBOX.x": "_INBOX", "": "", "a..b": "a.", ".a": "",
	} {
		if got := string(prefixOf([]byte(subject))); got != want {
			t.Errorf("%q: %q, want %q", subject, got, want)
		}
	}
}

// A label goes to the prefix that is busy now, and no counter ever falls.
func TestALabelChangesHands(t *testing.T) {
	tr := New(nil)
	for i := range MaxLabels {
		for range labelOffers {
			tr.Offer(fmt.Appendf(nil, "old%d.x", i), 1000/labelOffers)
		}
	}
	if n := len(tr.labels.Load().busy); n != MaxLabels {
		t.Fatalf("%d labels", n)
	}
	for range labelOffers {
		tr.Offer([]byte("new.x"), 1600/labelOffers)
	}
	if tr.labels.Load().busy["new"] != nil {
		t.Error("a label for one that is hardly busier")
	}
	if tr.Offer([]byte("new.x"), 1500); tr.labels.Load().busy["new"] == nil || len(tr.labels.Load().busy) != MaxLabels {
		t.Errorf("no label, or one too many: %d", len(tr.labels.Load().busy))
	}
	for range labelOffers {
		tr.Offer([]byte("bad\xff.x"), 1e6)
	}
	if len(tr.labels.Load().busy) != MaxLabels || tr.labels.Load().busy["bad\xff"] != nil {
		t.Error("a label that is no text")
	}
}

// The sketch holds each text with a larger share than one in the number of its slots, and its
// counts are between the bounds of the paper.
func TestSketchFindsWhatIsFrequent(t *testing.T) {
	var k sketch
	truth := map[string]uint64{}
	add := func(text string, n uint64) {
		truth[text] += n
		k.offer([]byte(text), n)
	}
	for i := range 20_000 {
		add(fmt.Sprint("rare", i), 1)
		add(fmt.Sprint("busy", i%10), 1)
	}
	top := k.top(10)
	for _, s := range top {
		want := truth[string(s.Text)]
		if string(s.Text[:4]) != "busy" || s.count < want || s.Sure() > want {
			t.Errorf("%s: between %d and %d, is %d", s.Text, s.Sure(), s.count, want)
		}
	}
	if k.offer(make([]byte, sketchText+1), 1) != nil {
		t.Error("a text that is too long")
	}
	k.offer([]byte("busy0"), sketchMemory)
	if k.total >= sketchMemory {
		t.Errorf("%d remembered", k.total)
	}
}
