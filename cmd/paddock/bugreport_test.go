package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// secretsFile is a configuration in which each secret is called planted-NAME.
const secretsFile = `
http: {token: planted-http-token}
access:
  keys:
    - {name: dispatcher, sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8, verbs: [events:read]}
bus: {token: planted-bus-token}
wire: {token: planted-wire-token}
webhooks:
  allow: [127.0.0.0/8]
  endpoints:
    - id: ops
      url: http://127.0.0.1:1/services/planted-path?key=planted-query
      headers: {X-Api-Key: planted-header}
      secrets: [whsec_cGxhbnRlZC13ZWJob29rLXNlY3JldC0zMmJ5dGVz]
sinks:
  - id: stream
    nats: {url: "nats://127.0.0.1:1", user: paddock, password: planted-sink-password}
sources:
  - mqtt: mqtt://reader:planted-source-password@127.0.0.1:1
    name: phones
    topics: [owntracks/+/+]
    format: owntracks
  - gtfs_rt: http://127.0.0.1:1/feed?api_key=planted-feed-key
    name: feed
    headers: {X-API-Key: planted-feed-header}
`

// TestABugReport has a platform fail in all ways that could put a secret into a text, and looks for
// the secrets, and for coordinates, in its bug report.
func TestABugReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "paddock.yaml")
	if err := os.WriteFile(file, []byte(secretsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	p := upKeeping(t, filepath.Join(dir, "data"), "-c", file, "--log-level", "debug")
	request := func(method, at, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, p.url+at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer planted-http-token")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	request(http.MethodPut, "v1/sets/s", squareFeature)
	request(http.MethodPost, "v1/keys", `{"name":"phone","verbs":["positions:write"]}`)
	request(http.MethodPost, "v1/positions", `{"id":"v","lon":1.2345678,"lat":1.3456789}`)
	request(http.MethodPost, "v1/positions", `{"id":"lost","lon":13.4567891,"lat":95.4567891,"props":{"token":"planted-props"}}`)
	request(http.MethodGet, "in/osmand/planted-device-key?id=phone&lat=95.5678912&lon=13.5678912", "")
	request(http.MethodGet, "in/osmand?key=planted-device-query&id=phone&lat=52.5678912&lon=13.5678912", "")

	secrets := []string{"planted-", "cGxhbnRlZC13ZWJob29r", "5e884898da28"}
	places := []string{"1.2345678", "1.3456789", "13.4567891", "95.4567891", "13.5678912", "95.5678912", "52.5678912"}
	for _, c := range []struct {
		flags string
		clean bool // of coordinates
		files []string
	}{
		{"", true, []string{"version.txt", "configuration.txt", "doctor.json", "metrics.txt", "log.txt", "doors.json", "sets.json", "rules.json", "deliveries.json", "goroutines.txt", "client.txt", "client-doctor.json"}},
		{"--positions", false, []string{"objects.json", "doors.json"}},
	} {
		archive := filepath.Join(dir, "report.tar.gz")
		args := append([]string{"bugreport", p.url, "-o", archive, "--token", "planted-http-token"}, strings.Fields(c.flags)...)
		code, stdout, stderr := outcomeOf(t, args...)
		if code != 0 {
			t.Fatalf("%d: %s%s", code, stdout, stderr)
		}
		files := unpacked(t, archive)
		for _, name := range c.files {
			if len(files[name]) < 3 || !strings.Contains(stdout, name) {
				t.Errorf("%s: %d bytes, and the output is\n%s", name, len(files[name]), stdout)
			}
		}
		for name, text := range files {
			for _, secret := range secrets {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s %s has a secret: %.200q", c.flags, name, text[max(0, i-60):])
				}
			}
			for _, place := range places {
				if strings.Contains(text, place) && c.clean {
					t.Errorf("%s has the coordinate %s", name, place)
				}
			}
		}
		if !c.clean && !strings.Contains(files["objects.json"], "1.2345678") {
			t.Errorf("no positions: %s", files["objects.json"])
		}
		for name, want := range map[string]string{
			"configuration.txt": "http.token: [hidden]", "log.txt": "the source has failed", "doors.json": `"object": "lost"`, "sets.json": `"name": "s"`,
			"metrics.txt": "paddock_door_rejected_total", "deliveries.json": `"id": "stream"`, "client-doctor.json": `"bus-port"`, "goroutines.txt": "goroutine profile",
		} {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s has no %q:\n%.2000s", name, want, files[name])
			}
		}
	}
	if code, _, stderr := outcomeOf(t, "bugreport", p.url, "-o", filepath.Join(dir, "none.tar.gz")); code != 1 || !strings.Contains(stderr, "401") {
		t.Errorf("without a key: %d %s", code, stderr)
	}
	p.terminate(t)
	if log := p.log.String(); !strings.Contains(log, "the source has failed") {
		t.Errorf("the log goes to stderr too:\n%s", log)
	}
}

// unpacked returns the files of an archive, by the last parts of their names.
func unpacked(t *testing.T, archive string) map[string]string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || h.Mode != 0o600 || !strings.HasPrefix(h.Name, "paddock-bugreport-") {
			t.Fatal(fmt.Sprint(h.Name, h.Mode, err))
		}
		files[path.Base(h.Name)] = string(text)
	}
}
