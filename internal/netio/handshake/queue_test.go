package handshake

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// guest is a connection with a name.
type guest struct {
	from
	name         string
	silent, gone bool
}

func room() *AcceptQueue {
	return &AcceptQueue{Silence: 5 * time.Second, Limit: 30 * time.Second, Heard: func(c net.Conn) (spoken, gone bool) {
		g := c.(*guest)
		return !g.silent, g.gone
	}}
}

// leave returns the name of the connection that is placed next, and the names of the dropped ones,
// in order.
func (r *AcceptQueue) leave() (placed string, dropped []string) {
	r.Next(func(c net.Conn) bool {
		placed = c.(*guest).name
		return true
	}, func(c net.Conn, why error) {
		dropped = append(dropped, fmt.Sprint(c.(*guest).name, " ", why))
	})
	return placed, dropped
}

// Networks take turns. Within a network the order is that of arrival, among peers that have sent
// something.
func TestAcceptQueue(t *testing.T) {
	r := room()
	late := &guest{from: from{address: bad}, name: "late", silent: true}
	for _, g := range []*guest{
		late,
		{from: from{address: bad}, name: "first"},
		{from: from{address: bad}, name: "second"},
		{from: from{address: good}, name: "other"},
		{from: from{address: bad}, name: "left", gone: true},
		{from: from{address: good}, name: "other's second"},
	} {
		if in, out := r.Enter(g, 10); !in || out != nil {
			t.Fatalf("%s: %v, %v", g.name, in, out)
		}
	}
	if r.Next(func(net.Conn) bool { return false }, nil) || r.Len() != 6 {
		t.Errorf("somebody got a place where there was none, %d wait", r.Len())
	}
	var got []string
	for range 4 {
		placed, dropped := r.leave()
		got = append(append(got, dropped...), placed)
	}
	if want := "[other first other's second second]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	placed, dropped := r.leave()
	if placed != "" || fmt.Sprint(dropped) != "[left EOF]" || r.Len() != 1 {
		t.Errorf("%q, %v, %d", placed, dropped, r.Len())
	}
	late.silent = false
	if placed, _ := r.leave(); placed != "late" || r.Len() != 0 || len(r.lines)+len(r.turn) != 0 {
		t.Errorf("%q, %+v", placed, r)
	}
}

// A silent peer waits for Silence, others for Limit.
func TestAcceptQueuePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, why := room(), map[string]error{}
		none := func(net.Conn) bool { return false }
		dropped := func(c net.Conn, err error) { why[c.(*guest).name] = err }
		r.Enter(&guest{from: from{address: bad}, name: "silent", silent: true}, 10)
		r.Enter(&guest{from: from{address: good}, name: "patient"}, 10)
		time.Sleep(r.Silence - time.Millisecond)
		if r.Next(none, dropped); len(why) > 0 {
			t.Errorf("too early: %v", why)
		}
		time.Sleep(time.Millisecond)
		if r.Next(none, dropped); !errors.Is(why["silent"], os.ErrDeadlineExceeded) {
			t.Errorf("%v", why)
		}
		time.Sleep(r.Limit - r.Silence)
		if r.Next(none, dropped); !errors.Is(why["patient"], ErrQueueTimeout) || r.Len() != 0 {
			t.Errorf("%v, %d wait", why, r.Len())
		}
	})
}

// At the bound the last connection of the network with the longest line is removed.
func TestAcceptQueueIsBounded(t *testing.T) {
	r := room()
	for i := range 4 {
		r.Enter(&guest{from: from{address: bad}, name: fmt.Sprint("bad ", i)}, 4)
	}
	if in, out := r.Enter(&guest{from: from{address: bad}}, 4); in || out != nil {
		t.Error("more than there is room for")
	}
	for i := range 2 {
		in, out := r.Enter(&guest{from: from{address: good}}, 4)
		if g, _ := out.(*guest); !in || g == nil || g.name != fmt.Sprint("bad ", 3-i) {
			t.Errorf("%v, %v has to go", in, out)
		}
	}
	if in, _ := r.Enter(&guest{from: from{address: good}}, 4); in || r.Len() != 4 {
		t.Error("each has its half")
	}
	n := 0
	if r.Clear(func(net.Conn) { n++ }); n != 4 || r.Len() != 0 {
		t.Errorf("%d of 4 were there in the end", n)
	}
}
