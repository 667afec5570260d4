package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// Servers that lack what a log needs are refused, with the version that has it.
func TestVersionsOfServers(t *testing.T) {
	for text, want := range map[string]string{
		"2.11.0": "", "2.15.2": "", "3.0.0-beta": "", "2.10.9": "2.11 or later", "1.4.1": "2.11 or later", "": "not known", "x.y": "not known",
	} {
		err := checkVersion(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The monitoring of a server tells whether it syncs each message; without an answer that is told.
func TestSyncOfServers(t *testing.T) {
	answer := ""
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jsz" {
			_, _ = w.Write([]byte(answer))
		}
	}))
	defer monitor.Close()
	for text, want := range map[string]string{
		`{"config":{"sync_always":true}}`: "", `{"config":{"sync_interval":1}}`: "does not sync each message", `{"disabled":true}`: "no state of JetStream", `x`: "no state",
	} {
		answer = text
		s := &Servers{}
		s.sync(t.Context(), monitor.URL+"/")
		if got := strings.Join(s.Warnings, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The printed permissions are those of the composition, which a test runs.
func TestPermissions(t *testing.T) {
	text, err := os.ReadFile("../../../packaging/docker/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(Permissions("pdk.paddock", "")) {
		if !strings.Contains(string(text), line) {
			t.Errorf("nats.conf lacks %q", line)
		}
	}
	if other := Permissions("pdk.fleet", "geo"); !strings.Contains(other, `publish: ["pdk.fleet.>"`) || !strings.Contains(other, "user: geo,") {
		t.Error(other)
	}
}
