package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/journal/streamlog"
)

// The tunnel's state is returned; without a tunnel the answer explains that.
func TestTunnel(t *testing.T) {
	example := described().Paths["/v1/tunnel"]["get"].Responses["200"].Content["application/json"].Example
	var asked []any
	tw := newTown(t, options{config: func(c *Config) {
		c.Tunnel = func(find string, most int) any {
			asked = []any{find, most}
			return json.RawMessage(example)
		}
	}})
	for path, want := range map[string][]any{
		"/v1/tunnel":                     {"", 100},
		"/v1/tunnel?find=Bus%3C&limit=7": {"Bus<", 7},
	} {
		r := tw.get(path)
		if r.status != http.StatusOK || r.header.Get("Cache-Control") != "no-store" || asked[0] != want[0] || asked[1] != want[1] {
			t.Errorf("%s: %d, asked for %v", path, r.status, asked)
		}
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=x", "find=" + strings.Repeat("a", 257)} {
		if r := tw.get("/v1/tunnel?" + query); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, r.status)
		}
	}
	if r := newTown(t, options{}).get("/v1/tunnel"); r.status != http.StatusNotFound || !strings.Contains(string(r.body), "section tunnel") {
		t.Errorf("without a tunnel: %d %s", r.status, r.body)
	}
}

// Without a bus or a wire door there is nothing to tell of it.
func TestNoOverviews(t *testing.T) {
	tw := newTown(t, options{})
	tw.problem(tw.get("/v1/bus"), 404, "there is no bus here")
	tw.problem(tw.get("/v1/wire"), 404, "there is no wire door here")
}

// A node tells of its cluster, and a platform on its own says that there is none. Only an
// administrator is told.
func TestCluster(t *testing.T) {
	tw := newTown(t, options{})
	tw.problem(tw.get("/v1/cluster"), 404, "there is no cluster here: this platform is on its own, without cluster.url or --bus")
	at := time.Date(2026, 3, 12, 11, 16, 45, 0, time.UTC)
	status := &cluster.Status{
		At: at, Name: "paddock", Node: "n2", Connected: true, Leader: "n1", Term: 4,
		Nodes: []cluster.NodeStatus{{Name: "n1", Process: "x", Role: cluster.Leader, Alive: true, Since: at, Seen: at}},
		Log:   &streamlog.Info{Stream: "S", Wanted: 1, Replicas: []streamlog.Replica{{Name: "s", State: streamlog.ReplicaLeader}}},
		Counters: cluster.Counters{
			AppendRetries: map[string]uint64{"timeout": 1}, Refused: map[string]uint64{"full": 0},
		},
	}
	tw = newTown(t, options{config: func(c *Config) {
		c.Cluster = func(context.Context) *cluster.Status { return status }
	}})
	r := tw.get("/v1/cluster")
	var got cluster.Status
	must(t, json.Unmarshal(r.body, &got))
	if r.status != 200 || got.Leader != "n1" || len(got.Nodes) != 1 || got.Log.Replicas[0].State != "leader" {
		t.Errorf("%d: %s", r.status, r.body)
	}
	if r := tw.get("/v1/cluster?x=1"); r.status != http.StatusBadRequest {
		t.Errorf("a strange parameter: %d", r.status)
	}
}

// The leader gives its role away when it is asked to, and says why it does not.
func TestDrainLeader(t *testing.T) {
	tw := newTown(t, options{})
	tw.problem(tw.post("/v1/cluster/drain", `{}`), 404, noCluster)
	var asked []string
	log, err := audit.Open(journal.NewMemory())
	must(t, err)
	tw = newTown(t, options{config: func(c *Config) {
		c.Audit = log
		c.DrainLeader = func(node string, note func(string) error) error {
			if asked = append(asked, node); node == "n9" {
				return errors.New("it does not lead")
			}
			return note("n1")
		}
	}})
	for body, status := range map[string]int{``: 202, `{"node":"n1"}`: 202, `{"node":7}`: 400, `{"nod":"n1"}`: 400} {
		if r := tw.post("/v1/cluster/drain", body); r.status != status {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	tw.problem(tw.post("/v1/cluster/drain", `{"node":"n9"}`), 409, "it does not lead")
	if len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}
	if n := strings.Count(string(tw.get("/v1/audit").body), `"action":"cluster.drain","object":"n1"`); n != 2 {
		t.Errorf("the audit has %d of the two drains: %s", n, tw.get("/v1/audit").body)
	}
}

// A QR code has three finders in its corners, and a text that is in the body alone. A text that no
// code can hold is refused.
func TestQR(t *testing.T) {
	tw := newTown(t, options{})
	r := tw.post("/v1/qr", `{"text":"https://paddock.example/in/osmand/KEY"}`)
	var code struct{ Rows []string }
	must(t, json.Unmarshal(r.body, &code))
	finder := []string{"1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"}
	size := len(code.Rows)
	if r.status != 200 || size < 21 {
		t.Fatalf("%d: %s", r.status, r.body)
	}
	for i, want := range finder {
		for _, got := range []string{code.Rows[i][:7], code.Rows[i][size-7:], code.Rows[size-7+i][:7]} {
			if got != want {
				t.Errorf("line %d of a finder is %s, not %s", i, got, want)
			}
		}
	}
	tw.problem(tw.post("/v1/qr", `{"text":""}`), 400, "body: text: want 1 to 1024 bytes, not 0")
	tw.problem(tw.post("/v1/qr", `{"text":"`+strings.Repeat("x", 1025)+`"}`), 400, "body: text: want 1 to 1024 bytes, not 1025")
	tw.problem(tw.post("/v1/qr", `{"url":"x"}`), 400, `body: json: unknown field "url"`)
	tw.problem(tw.post("/v1/qr", `{"text":"x"} {"text":"y"}`), 400, "body: something follows the JSON")
}
