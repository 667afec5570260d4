//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Runs of the same load are compared, by run and by part; another load is refused by the name of
// the member that differs. What a comparison says of two short runs depends on the machine.
func TestBenchDiff(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, args := range map[string][]string{
		"many": {"-c", "2", "-n", "300", "--repeat", "6"}, "one": {"-c", "2", "-n", "300"}, "other": {"-c", "3", "-n", "300"},
	} {
		if code, _, stderr := outcome(t, append([]string{s.URL, "-q", "--allow-red", "--out", at(name)}, args...)...); code != 0 {
			t.Fatal(code, stderr)
		}
	}
	diff := func(args ...string) (int, string, string) {
		return outcomeOf(t, append([]string{"bench", "diff", "--allow-red"}, args...)...)
	}
	code, stdout, stderr := diff(at("many"), at("many"), "--threshold", "1000%", "--json")
	var result struct {
		A, B struct{ Runs int }
		Rows []struct{ Metric, Outcome string }
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 || result.A.Runs != 6 || result.Rows[0].Outcome != "same" {
		t.Errorf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if code, stdout, stderr = diff(at("one"), filepath.Join(at("one"), "run.json")); code != 4 || !strings.Contains(stdout, "parts of") || !strings.Contains(stderr, "unknown: requests/s") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr = diff(at("one"), at("other")); code != 2 || !strings.Contains(stderr, "conns (2 and 3)") {
		t.Errorf("code %d: %s", code, stderr)
	}
	if code, stdout, _ = diff(at("one"), at("other"), "--anyway"); code != 4 || !strings.Contains(stdout, "outcome") {
		t.Errorf("code %d: %s", code, stdout)
	}
	if code, _, stderr = diff(at("one"), dir+"/none"); code != 2 || !strings.Contains(stderr, "none") {
		t.Errorf("code %d: %s", code, stderr)
	}
	slower := func(name string) { // the same runs, of a service that takes twice the time
		for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
			text, err := os.ReadFile(filepath.Join(at("many"), n, "run.json"))
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			totals := doc["totals"].(map[string]any)
			totals["per_second"] = totals["per_second"].(float64) / 2
			text, _ = json.Marshal(doc)
			if err := os.MkdirAll(filepath.Join(at(name), n), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at(name), n, "run.json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	slower("slower")
	if code, stdout, stderr = diff(at("many"), at("slower"), "--threshold", "5%"); code != 3 || !strings.Contains(stderr, "worse: requests/s") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
}
