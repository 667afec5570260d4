package bus

import (
	"fmt"
	"testing"
)

// The ring forgets the oldest entries: connections beyond its bound, and before that the
// subscriptions of the first.
func TestClosedRingIsBounded(t *testing.T) {
	r := closedRing{max: 200}
	for i := range 1000 {
		info := ConnInfo{ID: uint64(i)}
		if i >= 800 {
			info.subs = make([]SubInfo, closedSubs+5)
		}
		r.add(info)
		if i == 99 && cap(r.list) >= 200 {
			t.Errorf("room for %d when there are 100", cap(r.list))
		}
	}
	all := r.all()
	if len(all) != 200 || all[0].ID != 800 || all[199].ID != 999 {
		t.Fatalf("%d kept, from %d to %d", len(all), all[0].ID, all[len(all)-1].ID)
	}
	kept, with := 0, 0
	for i, info := range all {
		kept += len(info.Subs())
		if len(info.Subs()) > 0 {
			with++
		} else if with > 0 {
			t.Errorf("connection %d has lost its subscriptions before an older one", i)
		}
	}
	if kept != closedSubsAll || kept != r.subs {
		t.Errorf("%d subscriptions kept, counted %d", kept, r.subs)
	}
}

// The counts of the connections add up to those of the server.
func TestConnectionsAddUp(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := s.Local("within")
	defer l.Close()
	if _, err := l.Subscribe("a.>", "", func([]Msg) {}); err != nil {
		t.Fatal(err)
	}
	c, _ := idleClient(t, s)
	s.conns.mu.Lock()
	s.conns.clients[c] = struct{}{}
	s.conns.mu.Unlock()
	c.in.handle([]byte("CONNECT {\"verbose\":false,\"pedantic\":false,\"name\":\"n\",\"user\":\"u\"}\r\nSUB a.* 1\r\nUNSUB 1 3\r\n"))
	for range 4 {
		c.in.handle([]byte("PUB a.b 2\r\nhi\r\n"))
		if err := l.Publish("a.c", "", nil, []byte("you")); err != nil {
			t.Fatal(err)
		}
	}
	infos := s.Connections()
	if len(infos) != 2 || infos[0].Name != "within" || infos[1].Name != "n" || infos[1].User != "u" {
		t.Fatalf("%+v", infos)
	}
	st := s.Stats()
	if in := infos[0].InMsgs + infos[1].InMsgs; in != st.InMsgs || in != 8 {
		t.Errorf("in: %d, %d", in, st.InMsgs)
	}
	if out := infos[0].OutMsgs + infos[1].OutMsgs; out != st.OutMsgs || out != 8+3 {
		t.Errorf("out: %d, %d", out, st.OutMsgs)
	}
	if out := infos[0].OutBytes + infos[1].OutBytes; out != st.OutBytes {
		t.Errorf("out bytes: %d, %d", out, st.OutBytes)
	}
	if subs := infos[0].Subs(); len(subs) != 1 || subs[0].Delivered != 8 || subs[0].Conn != infos[0].ID {
		t.Errorf("%+v", subs)
	}
	if infos[1].RTT <= 0 {
		t.Error("no round trip after CONNECT")
	}
	x := s.IndexStats()
	if x.Subscriptions != 1 || x.Inserts != 2 || x.Removes != 1 || x.Lookups != 8 || x.MaxFanout != 2 {
		t.Errorf("%+v", x)
	}
}

// Every subscription is read once, page by page, or only the subscriptions that match a subject.
func TestSubscriptionsArePaged(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := idleClient(t, s)
	text := "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n"
	for i := range 300 {
		text += fmt.Sprintf("SUB a.%d %d\r\nSUB *.%d.> q %d\r\nSUB b%d.> x%d\r\n", i, 3*i, i, 3*i+1, i, i)
	}
	c.in.handle([]byte(text))
	seen := map[string]int{}
	for offset := 0; offset < 900; offset += 70 {
		list, total := s.Subscriptions("", offset, 70)
		if total != 900 || len(list) != min(70, 900-offset) {
			t.Fatalf("%d of %d", len(list), total)
		}
		for _, sub := range list {
			seen[sub.SID]++
		}
	}
	if len(seen) != 900 {
		t.Errorf("%d seen", len(seen))
	}
	if list, total := s.Subscriptions("a.7", 0, 10); total != 1 || list[0].Subject != "a.7" {
		t.Errorf("%d %+v", total, list)
	}
	if _, total := s.Subscriptions("b9.9.9", 0, 10); total != 2 {
		t.Errorf("%d", total)
	}
	if list, total := s.Subscriptions("", 2000, 10); total != 900 || len(list) != 0 {
		t.Errorf("%d of %d", len(list), total)
	}
}
