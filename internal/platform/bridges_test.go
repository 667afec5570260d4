package platform_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/internal/platform"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/doctor"
	"paddock/internal/process/config"
)

// otherServer returns the connection of a client of a NATS server, and its URL.
func otherServer(t *testing.T) (*nats.Conn, string) {
	t.Helper()
	return otherServerWith(t, bus.Config{Port: -1})
}

func otherServerWith(t *testing.T, c bus.Config) (*nats.Conn, string) {
	t.Helper()
	server, err := bus.New(c)
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	url := "nats://" + server.Addr().String()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, url
}

// Vehicles and applications at another server use a platform over a bridge: positions and look-ups
// as requests, events as messages. A reload changes what passes.
func TestPlatformBehindABridge(t *testing.T) {
	other, url := otherServer(t)
	s := newBusSite(t, "")
	section := func(imports string) string {
		return fmt.Sprintf("  paddock:\n    bridges:\n      - {name: hq, urls: %q, import: [%s], export: [fence.>]}\n", url, imports)
	}
	s.write(section("pos.*.*, paddock.search.*"))
	s.start()
	events, err := other.SubscribeSync("fence.>")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(subject, body, want string) {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); { // until the bridge is connected
			m, err := other.Request(subject, []byte(body), patience)
			if err == nil && strings.Contains(string(m.Data), want) {
				return
			}
			if err != nats.ErrNoResponders {
				t.Fatalf("%s: %v, %v", subject, m, err)
			}
		}
		t.Fatalf("%s: no responder", subject)
	}
	ask("pos.red.7", `{"lon":-1,"lat":0.5,"t":"2026-01-01T00:00:00Z"}`, `"accepted":1`)
	ask("pos.red.7", `{"lon":0.5,"lat":0.5,"t":"2026-01-01T00:00:01Z"}`, `"accepted":1`)
	ask("paddock.search.zone", `{"lon":0.5,"lat":0.5}`, `"id":"square"`)
	if m, err := events.NextMsg(patience); err != nil || !strings.HasSuffix(m.Subject, ".enter.red.7") {
		t.Errorf("%v, %v", m, err)
	}
	var o busapi.Overview
	s.overview("v1/bus", "Bus", &o)
	if len(o.Bridges) != 1 || o.Bridges[0].Name != "hq" || !o.Bridges[0].Connected || o.Bridges[0].URL != url || o.Bridges[0].MessagesIn < 3 {
		t.Errorf("%+v", o.Bridges)
	}

	s.write(section("pos.*"))
	s.reload()
	if _, err := other.Request("pos.red.7", nil, patience); err != nats.ErrNoResponders { // the bridge has unsubscribed
		t.Errorf("%v", err)
	}
	s.signal()
	s.awaitEnd()
}

// The doctor names the bridges that are not connected, and why.
func TestDoctorFindsABridge(t *testing.T) {
	s := newBusSite(t, "  paddock: {bridges: [{name: gone, urls: \"nats://127.0.0.1:1\", export: [a]}]}\n")
	s.start()
	for deadline := time.Now().Add(patience); ; {
		var report doctor.Report
		s.ask(&report, http.MethodGet, "v1/doctor?only=bridges", "", nil)
		found := report.Checks[0]
		if found.Status == doctor.Problem && len(found.Items) == 1 && strings.Contains(found.Items[0].Text, "refused") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", found)
		}
	}
	s.signal()
	s.awaitEnd()
}

func TestFaultsOfBridges(t *testing.T) {
	const begin = "  paddock:\n    bridges:\n      - name: hq\n        urls: nats://a\n"
	for section, want := range map[string]string{
		begin: "paddock.yaml:5:13: bridge hq needs import or export",
		begin + "        import: [fence.zone.>]\n":         `paddock.yaml:3:3: bus.paddock: bridge hq: import "fence.zone.>": only the server publishes on "fence.>"`,
		begin + "        export: [a..b]\n":                 `paddock.yaml:7:9: export: "a..b" is no pattern of subjects`,
		begin + "        export: [a]\n        creds: no\n": "no: no such file or directory",
	} {
		if _, _, err := newBusSite(t, section).load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", section, err, want)
		}
	}
}

// What the servers of a cluster refuse is in the log with the way out, in one line for many.
func TestRefusalsOfTheServersAreLogged(t *testing.T) {
	_, url := otherServerWith(t, bus.Config{Port: -1, Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Deny: []string{"pdk.>"}}}})
	lines := make(lineWriter, 100)
	conn, err := platform.ConnectCluster(t.Context(), &config.Cluster{URL: url, Name: "depot"}, slog.New(slog.NewTextHandler(lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 10 {
		if err := errors.Join(conn.Publish("pdk.depot.beat", nil), conn.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case line := <-lines:
		if !strings.Contains(line, "pdk.depot.beat") || !strings.Contains(line, "paddock cluster init --permissions") {
			t.Error(line)
		}
	case <-time.After(patience):
		t.Fatal("no refusal is in the log")
	}
	conn.Close()
	if len(lines) > 0 {
		t.Errorf("the same again: %s", <-lines)
	}
}

// lineWriter passes on the lines of a log.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}
