package httpapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/platform/httpapi/runs"
	"paddock/internal/process/keyring"
)

// Administrators alone get the runs and their reports. A name with a slash is escaped in the path,
// and no name leads out of the directory.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o644))
	for name, text := range map[string]string{
		"a/run.json": `{"schema":"paddock.run/1","manifest":{"began":"2026-03-01T00:00:00Z"},"lamp":{"verdict":"green"}}`, "a/report.html": "<p>a",
		"b/1/run.json": "{", "b/1/report.html": "<p>b",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	lab, err := runs.Open(dir)
	must(t, err)
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	tw := newTown(t, options{config: func(c *Config) {
		must(t, ring.Add(keyring.Key{Name: "root", SHA256: keyring.DigestOf(operatorsKey), Verbs: []string{"admin"}}))
		must(t, ring.Add(keyring.Key{Name: "other", SHA256: keyring.DigestOf("pdk_other"), Verbs: []string{"events:read", "sets:write", "lookup"}}))
		c.Keys, c.KeyRequired, c.Runs = ring, true, lab
	}})
	root := []string{"Authorization", "Bearer " + operatorsKey}
	list := tw.get("/v1/runs", root...)
	if body := string(list.body); list.status != 200 || !strings.Contains(body, `"name":"a"`) || !strings.Contains(body, `"error":"run.json: byte 1: unexpected end of JSON input"`) {
		t.Errorf("%d %s", list.status, body)
	}
	tw.expect(tw.get("/v1/runs/a/report", root...), 200, "<p>a")
	report := tw.get("/v1/runs/b%2F1/report", root...)
	tw.expect(report, 200, "<p>b")
	if policy := report.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox allow-scripts; default-src 'none'; ") {
		t.Errorf("policy %q", policy)
	}
	for _, name := range []string{"none", "b", "..%2Fa", "%2E%2E%2Fa", "a%2F..", "%2Fetc", "a%00"} {
		if r := tw.get("/v1/runs/"+name+"/report", root...); r.status != 404 || !strings.Contains(string(r.body), "GET /v1/runs lists the runs") {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	for _, path := range []string{"/v1/runs", "/v1/runs/a/report", "/v1/runs/none/report"} {
		tw.problem(tw.get(path), 401, swapDetail)
		tw.problem(tw.get(path, "Authorization", "Bearer pdk_other"), 403, `the key "other" may not do this: it needs admin`)
	}
	must(t, os.RemoveAll(dir))
	if r := tw.get("/v1/runs", root...); r.status != 503 {
		t.Errorf("without the directory: %d %s", r.status, r.body)
	}
	bare := newTown(t, options{})
	bare.problem(bare.get("/v1/runs"), 404, "directory of runs: there is none: set dashboard.runs to that of paddock bench --out DIR/NAME")
	bare.problem(bare.get("/v1/runs/a/report"), 404, "directory of runs: there is none: set dashboard.runs to that of paddock bench --out DIR/NAME")
}
