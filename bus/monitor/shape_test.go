package monitor_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"paddock/bus"
	"paddock/bus/monitor"
)

// volatile lists the texts that differ from run to run, and their substitutes.
var volatile = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`"N[A-Z2-7]{55}"`), `"<id>"`},
	{regexp.MustCompile(`"20\d\d-[^"]*Z"`), `"<time>"`},
	{regexp.MustCompile(`"(go)": "[^"]*"`), `"$1": "<go>"`},
	{regexp.MustCompile(`"(rtt|uptime|idle)": "[^"]*"`), `"$1": "<duration>"`},
	{regexp.MustCompile(`"(port|mem|cores|gomaxprocs|cpu)": [\d.]+`), `"$1": <number>`},
}

// The answers are these to the letter: fields, their order, their types, the fields that are left
// out.
func TestShapes(t *testing.T) {
	loaded := monitor.Loaded{Time: time.Unix(1, 0), Digest: "sha256:0", Tags: []string{"a"}, Metadata: map[string]string{"k": "v"}}
	s := newSite(t, bus.Config{ServerName: "shape", Prefixes: []string{"a"}}, monitor.Options{
		Host: "127.0.0.1", Port: 8222, Config: func() monitor.Loaded { return loaded },
	})
	p := s.dial(connect("one") + "SUB a.* 1\r\n")
	gone := s.dial(connect("two") + "SUB b.> q 7\r\nPUB a.b 2\r\nhi\r\n")
	gone.send("nonsense\r\n")
	gone.end()
	p.sync("")
	s.nothingPending()
	for _, c := range []struct{ name, path string }{
		{"varz", "/varz"},
		{"connz", "/connz?subs=1"},
		{"connz_closed", "/connz?state=closed&subs=detail"},
		{"subsz", "/subsz?subs=1"},
		{"routez", "/routez"},
		{"gatewayz", "/gatewayz"},
		{"leafz", "/leafz"},
		{"jsz", "/jsz"},
		{"accountz", "/accountz"},
		{"account", "/accountz?acc=$G"},
		{"accstatz", "/accstatz?unused=1"},
		{"healthz", "/healthz"},
		{"topz", "/topz"},
		{"ipqueuesz", "/ipqueuesz"},
	} {
		got := s.text(c.path)
		for _, v := range volatile {
			got = v.re.ReplaceAllString(got, v.by)
		}
		file := filepath.Join("testdata", c.name+".json")
		if os.Getenv("PADDOCK_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got+"\n" != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.path, got, want)
		}
	}
}

// The page for Prometheus is well formed, named by the rules, and has the right numbers.
func TestMetricsPage(t *testing.T) {
	s := newSite(t, bus.Config{MaxPayload: 10, Prefixes: []string{"pos"}}, monitor.Options{})
	p := s.dial(connect("one") + "SUB pos.> 1\r\n")
	p.sync("PUB pos.a 3\r\nabc\r\nPUB elsewhere.a 3\r\nabc\r\n")
	gone := s.dial(connect("two"))
	gone.send("PUB pos.a 11\r\n")
	gone.end()
	s.nothingPending()
	page := s.text("/metrics")
	for _, want := range []string{
		`paddock_bus_messages_total{direction="in"} 2`, `paddock_bus_messages_total{direction="out"} 1`,
		`paddock_bus_bytes_total{direction="in"} 6`, `paddock_bus_bytes_total{direction="out"} 3`,
		`paddock_bus_connections 1`, `paddock_bus_connections_opened_total 2`, `paddock_bus_subscriptions 1`, `paddock_bus_pending_bytes 0`,
		`paddock_bus_closed_total{reason="Maximum Message Payload Exceeded"} 1`, `paddock_bus_closed_total{reason="Stale Connection"} 0`,
		`paddock_bus_dropped_total{policy="drop-new"} 0`, `paddock_bus_dropped_total{policy="local"} 0`,
		`paddock_bus_prefix_messages_total{direction="in",prefix="pos"} 1`, `paddock_bus_prefix_messages_total{direction="out",prefix="pos"} 1`,
		`paddock_bus_prefix_messages_total{direction="in",prefix="other"} 1`, `paddock_bus_flush_bytes_bucket{le="64"} `,
	} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// Counters do not fall when messages that were counted as delivered are dropped.
func TestCountersDoNotFall(t *testing.T) {
	s := newSite(t, bus.Config{MaxPayload: 32 << 10, MaxPending: 64 << 10, SlowConsumers: bus.SlowDropOld}, monitor.Options{})
	conn, err := s.srv.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{conn, t, bufio.NewReader(conn)}
	defer p.Close()
	if _, err := p.r.ReadString('\n'); err != nil { // INFO
		t.Fatal(err)
	}
	p.sync(connect("slow") + "SUB a 1\r\n") // and never reads again
	l := s.srv.Local("publisher")
	publish := func(size int) {
		if err := l.Publish("a", "", nil, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 {
		publish(1)
	}
	before := s.outCounters()
	publish(32 << 10)
	after := s.outCounters()
	if after[0] < before[0] || after[1] < before[1] {
		t.Errorf("messages and bytes out were %v, are %v", before, after)
	}
	if st := s.srv.Stats(); st.DroppedOld == 0 || st.OutMsgs+st.DroppedOld != 3001 {
		t.Errorf("%+v", st)
	}
}

// outCounters reads the counters of messages and bytes that went out.
func (s *site) outCounters() (values [2]int) {
	page := s.text("/metrics")
	for i, name := range []string{"messages", "bytes"} {
		_, rest, _ := strings.Cut(page, "\npaddock_bus_"+name+"_total{direction=\"out\"} ")
		if _, err := fmt.Sscan(rest, &values[i]); err != nil {
			s.Fatal(err)
		}
	}
	return values
}

// Health reports whether connections are taken.
func TestHealth(t *testing.T) {
	s := newSite(t, bus.Config{}, monitor.Options{})
	if got := s.text("/healthz"); got != `{"status":"ok"}` {
		t.Error(got)
	}
	if err := s.srv.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := s.ask("GET", "/healthz"); res.StatusCode != 503 || !strings.Contains(s.text("/healthz"), `"error":`) {
		t.Errorf("%d %s", res.StatusCode, s.text("/healthz"))
	}
}
