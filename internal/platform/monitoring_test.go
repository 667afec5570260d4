package platform_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"paddock/internal/platform"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
	"paddock/internal/process/keyid"
	"paddock/internal/process/strictyaml"
	"paddock/internal/tunneld"
	"paddock/wire"
)

const (
	dashboardsDir = "../../packaging/grafana"
	alertsDir     = "../../packaging/prometheus"
	alertsPage    = "docs/guides/alerts.md"
)

// A dashboard is a file of Grafana, as far as the tests read it.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		Datasource               struct{ UID string }
		GridPos                  struct{ X, Y, W, H int }
		FieldConfig              struct{ Defaults struct{ Unit string } }
		Targets                  []struct{ Expr, LegendFormat string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboardsDir, "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%q, %v", files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// An alert is a rule of alerts.yaml.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	readYAML(t, filepath.Join(alertsDir, "alerts.yaml"), &file)
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) != 12 {
		t.Fatalf("%+v", file)
	}
	return file.Groups[0].Rules
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Each panel tells in words what it shows, has a unit, the data source of the dashboard, and a
// place that no other one has.
func TestDashboardsAreComplete(t *testing.T) {
	uids := map[string]bool{}
	for name, d := range dashboards(t) {
		if uids[d.UID] || d.UID == "" || len(d.Panels) == 0 || len(d.Panels) > 20 {
			t.Errorf("%s: uid %q, %d panels", name, d.UID, len(d.Panels))
		}
		uids[d.UID] = true
		if v := d.Templating.List; len(v) != 3 || v[0].Type != "datasource" || v[1].Name != "job" || v[2].Name != "instance" {
			t.Errorf("%s: variables %+v", name, v)
		}
		taken := map[[2]int]string{}
		for i, p := range d.Panels {
			if p.ID != i+1 || p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d, %q, lacks something", name, i+1, p.Title)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if at := [2]int{x, y}; taken[at] != "" || x >= 24 {
						t.Fatalf("%s: %q lies over %q at %d, or beyond the edge", name, p.Title, taken[at], at)
					} else {
						taken[at] = p.Title
					}
				}
			}
		}
	}
}

// Each metric and label that a dashboard or an alert names is one of a platform that runs, with
// each of the compared values.
func TestDashboardsAndAlertsNameMetrics(t *testing.T) {
	r := watched(t)
	r.Registry().MustRegister(cluster.NewCollector(sampleCluster))
	s := scrape(r.text("metrics"))
	for name, d := range dashboards(t) {
		for _, v := range d.Templating.List[1:] { // label_values(metric, label)
			metric, _, _ := strings.Cut(strings.TrimPrefix(v.Query, "label_values("), ",")
			s.check(t, name+": variable "+v.Name, metric, "")
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				s.check(t, name+": "+p.Title, target.Expr, target.LegendFormat)
			}
		}
	}
	for _, a := range alerts(t) {
		s.check(t, a.Alert, a.Expr, "")
	}
}

// sampleCluster is what a node of a cluster knows.
func sampleCluster(context.Context) *cluster.Status {
	return &cluster.Status{
		Node: "a", Connected: true, Leader: "a",
		Nodes:    []cluster.NodeStatus{{Name: "a", Role: cluster.Leader, Alive: true}},
		Log:      &streamlog.Info{Wanted: 3},
		Counters: cluster.Counters{AppendRetries: map[string]uint64{"timeout": 0}, Refused: map[string]uint64{"full": 0}},
	}
}

// The check of names finds what is wrong.
func TestTheCheckOfNamesFindsFaults(t *testing.T) {
	s := scrape("# HELP a x\npaddock_a_total{kind=\"good\"} 1\npaddock_b_seconds_bucket{le=\"+Inf\"} 0\npaddock_c 1\n")
	for expr, want := range map[string]string{
		`sum(rate(paddock_a_total{kind="good", job="$job"}[$__rate_interval]))`:       "",
		`sum by (job, kind) (paddock_a_total) > 0 and on () up == 1`:                  "",
		`histogram_quantile(0.9, sum by (le) (rate(paddock_b_seconds_bucket[5m])))`:   "",
		`sum(rate(paddock_d_total[5m]))`:                                              "paddock_d_total",
		`paddock_a_total{kin="good"}`:                                                 "kin",
		`paddock_a_total{kind="bad"}`:                                                 "bad",
		`paddock_a_total{kind=~"g.*", kind!~"go.*"}`:                                  "no series",
		`sum by (knd) (paddock_a_total)`:                                              "knd",
		`padock_c`:                                                                    "padock_c",
		`histogram_quantile(0.9, sum by (le) (rate(paddock_b_seconds{x="{y}"}[5m])))`: "paddock_b_seconds",
	} {
		faults := strings.Join(s.faults(expr, "{{job}}"), "; ")
		if want == "" && faults != "" || !strings.Contains(faults, want) {
			t.Errorf("%s: %q, want %q", expr, faults, want)
		}
	}
	if faults := s.faults(`sum by (kind) (paddock_a_total)`, "{{reason}}"); len(faults) != 1 {
		t.Errorf("a legend: %q", faults)
	}
}

// Each alert has a severity, two sentences and a section of the runbook, and promtool's tests let
// it fire and not fire.
func TestAlertsAreComplete(t *testing.T) {
	page, err := os.ReadFile("../../" + alertsPage)
	if err != nil {
		t.Fatal(err)
	}
	type expectation struct {
		Alertname string           `yaml:"alertname"`
		Alerts    []map[string]any `yaml:"exp_alerts"`
	}
	var file struct {
		Tests []struct {
			Rules []expectation `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, filepath.Join(alertsDir, "alerts.test.yaml"), &file)
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, e := range test.Rules {
			fires[e.Alertname] = fires[e.Alertname] || len(e.Alerts) > 0
			rests[e.Alertname] = rests[e.Alertname] || len(e.Alerts) == 0
		}
	}
	for _, a := range alerts(t) {
		if s := a.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", a.Alert, s)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Annotations["runbook"] != alertsPage+"#"+strings.ToLower(a.Alert) {
			t.Errorf("%s has the annotations %q", a.Alert, a.Annotations)
		}
		_, section, ok := strings.Cut(string(page), "\n### "+a.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		for _, part := range []string{"**Means.**", "**Look.**", "**Way out.**"} {
			if !ok || !strings.Contains(section, part) {
				t.Errorf("%s: the section of %s lacks %s", alertsPage, a.Alert, part)
			}
		}
		if !fires[a.Alert] || !rests[a.Alert] {
			t.Errorf("alerts.test.yaml: %s fires %t, rests %t", a.Alert, fires[a.Alert], rests[a.Alert])
		}
	}
}

// promtool accepts the configuration and the alerts with their tests, and parses each expression of
// the dashboards.
func TestPromtoolAcceptsAll(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("PADDOCK_REQUIRE_PROMTOOL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for i, target := range p.Targets {
				expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
				rules = append(rules, rule{fmt.Sprintf("panel:%s:%d:%d", strings.ReplaceAll(d.UID, "-", "_"), p.ID, i), expr})
			}
		}
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboards.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", file},
		{"check", "rules", "alerts.yaml"},
		{"test", "rules", "alerts.test.yaml"},
		{"check", "config", "--syntax-only", "prometheus.yaml"},
	} {
		c := exec.CommandContext(t.Context(), tool, args...)
		c.Dir = alertsDir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// watched is a platform with a set of a file, a source, a webhook, a sink and a client of the
// tunnel, each of which has had something to do.
func watched(t *testing.T) *running {
	t.Helper()
	key, err := keyid.Make(filepath.Join(t.TempDir(), "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Data.Dir, cfg.Sets.Dir, cfg.Sets.Watch = t.TempDir(), t.TempDir(), false
	cfg.Wire.Token = "s3cret"
	trust := certify(t, cfg)
	writeOver(t, filepath.Join(cfg.Sets.Dir, "yard.json"), squareOf("f", 1))
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(feedOf(phoneDay()[0])) }))
	t.Cleanup(feed.Close)
	file, root := strictyaml.Parse("paddock.yaml", []byte("- {id: lake, file: {path: '"+filepath.Join(t.TempDir(), "events.ndjson")+"'}}\n"))
	ends := sinks.Read(root)
	if err := file.Err(); err != nil {
		t.Fatal(err)
	}
	settings := &tunneld.Settings{
		Serve:   tunneld.Serve{HTTP: "127.0.0.1:0"},
		Clients: []tunneld.Peer{{Name: "depot", ID: key.ID, Hosts: []string{"door.example"}}},
	}
	_, far := otherServer(t)
	_, bridged, err := newBusSite(t, "  paddock: {bridges: [{name: far, urls: '"+far+"', export: [fence.>]}]}\n").load()
	if err != nil {
		t.Fatal(err)
	}
	r := startWith(t, platform.Options{
		Bus: bridged, Config: cfg, Webhooks: loopbackHooks(), Sinks: ends, Sources: sourcesOf(t, "- gtfs_rt: "+feed.URL+"\n  every: 1h\n"),
		Tunnel: &tunneld.ServerOptions{Settings: settings},
	})
	endpoint := newInbox(t, nil)
	r.hook("ops", endpoint, "")
	r.take(1, "v1/positions", "application/json", []byte(`{"id":"v","lon":20,"lat":1}`))
	nextMillisecond()
	r.take(1, "v1/positions", "application/json", []byte(`{"id":"v","lon":1,"lat":1}`))
	if _, answer, err := r.call(http.MethodPost, "v1/positions", "application/json", []byte(`{"id":"v","lon":1,"lat":99}`)); err != nil || !strings.Contains(string(answer), "out of range") {
		t.Fatalf("%s, %v", answer, err)
	}
	endpoint.await("an event", func() bool { return len(endpoint.ids) > 0 })
	behind := &tunneled{r, &wire.Config{TLS: &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{key.Certificate}}}}
	if status, _, err := behind.visit(); err != nil || status == http.StatusOK {
		t.Fatalf("a visitor before the client is connected: %d, %v", status, err)
	}
	behind.offer(feed.URL)
	if status, _, err := behind.visit(); err != nil || status != http.StatusOK {
		t.Fatalf("a visitor: %d, %v", status, err)
	}
	return r
}
