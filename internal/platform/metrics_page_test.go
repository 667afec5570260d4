package platform_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform"
	"paddock/internal/platform/cluster"
	"paddock/internal/process/config"
	"paddock/internal/tunneld"
)

const (
	metricsPage  = "../../docs/reference/metrics.md"
	metricsBegin = "<!-- from the registry: begin -->\n"
	metricsEnd   = "<!-- from the registry: end -->\n"
)

var updatePages = flag.Bool("update", false, "rewrite the page of metrics")

// A description of a metric is printed by the library in one form only.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(.*?)", (?:unit: ".*", )?constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

var labelValue = regexp.MustCompile(`="[^"]*"`)

// TestMetricsPage holds that the page of metrics has each metric of `paddock up` with its labels
// and its help text. With -update it rewrites the page.
func TestMetricsPage(t *testing.T) {
	text, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), metricsBegin)
	_, tail, also := strings.Cut(rest, metricsEnd)
	if !ok || !also {
		t.Fatalf("%s lacks its marks", metricsPage)
	}
	want := head + metricsBegin + metricsTable(t, ofCluster(everything(t).Registry())) + metricsEnd + tail
	if want == string(text) {
		return
	}
	if !*updatePages {
		t.Fatalf("%s is behind the registry: go test ./internal/platform -run TestMetricsPage -update", metricsPage)
	}
	if err := os.WriteFile(metricsPage, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// everything starts a platform with a journal, a directory of sets and a tunnel.
func everything(t *testing.T) *running {
	t.Helper()
	cfg := config.Default()
	cfg.Wire.Token = "s3cret"
	certify(t, cfg)
	cfg.Data.Dir = t.TempDir()
	cfg.Sets.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cfg.Sets.Dir, "none.geojson"), []byte(`{"type":"FeatureCollection","features":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := &tunneld.Settings{Serve: tunneld.Serve{HTTP: "127.0.0.1:0"}}
	return startWith(t, platform.Options{Config: cfg, Tunnel: &tunneld.ServerOptions{Settings: settings}})
}

// ofCluster adds the metrics of a node of a cluster, for their descriptions.
func ofCluster(r *prometheus.Registry) *prometheus.Registry {
	r.MustRegister(cluster.NewCollector(nil))
	return r
}

func metricsTable(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	var rows []string
	for d := range descriptions {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("the description of a metric has another form: %s", d)
		} else if strings.HasPrefix(m[1], "paddock_") {
			labels := strings.Trim(labelValue.ReplaceAllString(m[3], "")+","+m[4], ",")
			if labels != "" {
				labels = "`" + strings.ReplaceAll(labels, ",", "`, `") + "`"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], labels, strings.NewReplacer(`\"`, `"`, "|", `\|`, "<", "&lt;").Replace(m[2])))
		}
	}
	slices.Sort(rows)
	return "| metric | labels | |\n|---|---|---|\n" + strings.Join(slices.Compact(rows), "")
}
