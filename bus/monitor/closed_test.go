package monitor_test

import (
	"strings"
	"testing"

	"paddock/bus"
	"paddock/bus/monitor"
)

// closed are the connections that have ended, as /connz has them.
func (s *site) closed(args string) []any {
	s.Helper()
	return s.json("/connz?state=closed" + args)["connections"].([]any)
}

// A closed connection is listed with its reason: at once after a protocol violation,
// shortly after when the client closes it.
func TestAClosedConnectionTellsWhy(t *testing.T) {
	s := newSite(t, bus.Config{MaxPayload: 10}, monitor.Options{})
	p := s.dial(connect("large") + "SUB a.* 7\r\n")
	p.send("PUB a.b 11\r\n")
	p.end()
	rows := s.closed("&subs=detail")
	if len(rows) != 1 {
		t.Fatalf("%d closed", len(rows))
	}
	row := rows[0].(map[string]any)
	if row["reason"] != "Maximum Message Payload Exceeded" || row["stop"] == nil || row["name"] != "large" || row["subscriptions"] != 1.0 {
		t.Errorf("%v", row)
	}
	if d := row["subscriptions_list_detail"].([]any)[0].(map[string]any); d["subject"] != "a.*" || d["sid"] != "7" || d["msgs"] != 0.0 || d["cid"] != row["cid"] {
		t.Errorf("%v", d)
	}
	if open := s.json("/connz"); open["num_connections"] != 0.0 || open["total"] != 0.0 {
		t.Errorf("open: %v", open)
	}
	if v := s.json("/varz"); v["connections"] != 0.0 || v["total_connections"] != 1.0 {
		t.Errorf("%v connections", v["connections"])
	}
	if text := s.text("/connz?state=any&sort=uptime"); !strings.Contains(text, "Maximum Message Payload Exceeded") {
		t.Error(text)
	}
}
