package monitor_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"paddock/bus"
	"paddock/bus/monitor"
)

// Ten thousand connections with their subscriptions are read page by page, each
// once, while they are at work.
func TestTenThousandConnectionsArePaged(t *testing.T) {
	s := newSite(t, bus.Config{}, monitor.Options{})
	const n = 10_000
	for i := range n {
		if _, err := s.srv.Local(fmt.Sprint("c", i)).Subscribe(fmt.Sprintf("to.%d", i%100), "", func([]bus.Msg) {}); err != nil {
			t.Fatal(err)
		}
	}
	publisher := s.srv.Local("publisher")
	var working sync.WaitGroup
	stop := make(chan struct{})
	working.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := publisher.Publish(fmt.Sprintf("to.%d", i%100), "", nil, []byte("x")); err != nil {
				t.Error(err)
				return
			}
		}
	})
	seen := map[float64]bool{}
	for offset := 0; offset < n+1; offset += 3000 {
		z := s.json(fmt.Sprintf("/connz?subs=1&limit=3000&offset=%d&sort=cid", offset))
		rows := z["connections"].([]any)
		if z["total"] != float64(n+1) || z["num_connections"] != float64(len(rows)) || len(rows) != min(3000, n+1-offset) {
			t.Fatalf("%v of %v, %d rows", z["num_connections"], z["total"], len(rows))
		}
		for _, row := range rows {
			r := row.(map[string]any)
			if seen[r["cid"].(float64)] = true; r["name"] != "publisher" && len(r["subscriptions_list"].([]any)) != 1 {
				t.Fatalf("%v", r)
			}
		}
	}
	close(stop)
	working.Wait()
	if len(seen) != n+1 {
		t.Errorf("%d connections seen", len(seen))
	}
	if rows := s.json("/connz")["connections"].([]any); len(rows) != 1024 {
		t.Errorf("%d rows unless told", len(rows))
	}
}

// nothingPending waits until the server has counted all written bytes as gone: bytes that a client
// has read may still be pending.
func (s *site) nothingPending() {
	s.Helper()
	for range 10_000 {
		if s.srv.PendingBytes() == 0 {
			return
		}
		<-time.After(time.Millisecond)
	}
	s.Fatal("something stays pending")
}

func TestOrdersAndFilters(t *testing.T) {
	s := newSite(t, bus.Config{Username: "u", Password: "p"}, monitor.Options{})
	auth := "CONNECT {\"verbose\":false,\"pedantic\":false,\"user\":\"u\",\"pass\":\"p\",\"name\":%q}\r\n"
	first := s.dial(fmt.Sprintf(auth, "first") + "SUB x 1\r\nSUB y 2\r\n")
	second := s.dial(fmt.Sprintf(auth, "second"))
	third := s.dial(fmt.Sprintf(auth, "third") + "SUB z q 1\r\nUNSUB 1 9\r\n")
	first.sync("PUB z 4\r\nabcd\r\n")
	second.sync("PUB z 1\r\na\r\nPUB x 1\r\na\r\nPUB none 0\r\n\r\n")
	third.sync("")
	s.nothingPending()
	for args, want := range map[string]string{
		"":                        "[first second third]",
		"sort=cid":                "[first second third]",
		"sort=start":              "[first second third]",
		"sort=subs":               "[first third second]",
		"sort=msgs_to":            "[third first second]",
		"sort=bytes_to":           "[third first second]",
		"sort=msgs_from":          "[second first third]",
		"sort=bytes_from":         "[first second third]",
		"sort=pending":            "[first second third]",
		"sort=uptime":             "[third second first]",
		"sort=cid&limit=1":        "[first]",
		"sort=cid&offset=2":       "[third]",
		"sort=cid&offset=7":       "[]",
		"limit=-1&offset=-1":      "[first second third]",
		"user=u":                  "[first second third]",
		"user=v":                  "[]",
		"acc=$G":                  "[first second third]",
		"acc=other":               "[]",
		"mqtt_client=x":           "[]",
		"state=closed":            "[]",
		"state=any&sort=cid":      "[first second third]",
		"state=ALL&sort=cid":      "[first second third]",
		"cid=2":                   "[second]",
		"cid=99":                  "[]",
		"cid=2&state=closed":      "[]",
		"state=closed&sort=stop":  "[]",
		"state=open&sort=rtt&x=y": "3",
	} {
		rows := s.json("/connz?" + args)["connections"].([]any)
		names := []any{}
		for _, row := range rows {
			names = append(names, row.(map[string]any)["name"])
		}
		if got := fmt.Sprint(names); got != want && fmt.Sprint(len(rows)) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	row := s.json("/connz?cid=3&auth=1&subs=detail")["connections"].([]any)[0].(map[string]any)
	if row["authorized_user"] != "u" || fmt.Sprint(row["subscriptions_list_detail"]) != "[map[cid:3 max:9 msgs:2 qgroup:q sid:1 subject:z]]" {
		t.Errorf("%v", row)
	}
	if row := s.json("/connz?cid=3")["connections"].([]any)[0].(map[string]any); row["authorized_user"] != nil || row["subscriptions_list"] != nil {
		t.Errorf("unasked: %v", row)
	}
	z := s.json("/subsz?subs=1&test=z")
	if z["total"] != 1.0 || fmt.Sprint(z["subscriptions_list"]) != "[map[account:$G account_tag:$G cid:3 max:9 msgs:2 qgroup:q sid:1 subject:z]]" {
		t.Errorf("%v", z)
	}
	if z := s.json("/subsz?subs=1&acc=other"); z["total"] != 0.0 || z["num_subscriptions"] != 0.0 || z["subscriptions_list"] != nil {
		t.Errorf("%v", z)
	}
}
