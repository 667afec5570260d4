package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/internal/platform/doctor"
	"paddock/internal/process/keyring"
)

// examined gives a town an examination.
func examined(cfg *Config) {
	silent, err := bus.New(bus.Config{})
	if err != nil {
		panic(err)
	}
	facts := &doctor.Facts{
		Pipeline: cfg.Pipeline, Events: cfg.Log, Catalog: cfg.Catalog, Doors: cfg.Doors, Bus: silent,
		Policy: func(string) *track.Policy { return nil }, BusPending: func() int64 { return 1 << 20 },
		Trend: &doctor.Trend{}, Flaps: doctor.NewFlaps(), Syncs: &doctor.Syncs{}, Version: cfg.Version, Addresses: map[string]string{"bus": "nats://127.0.0.1:4222"},
	}
	cfg.Doctor = func() *doctor.Facts { return facts }
}

// TestTheExamination asks for all checks, for some, and for the summary alone.
func TestTheExamination(t *testing.T) {
	tw := newTown(t, options{config: examined})
	tw.post("/v1/positions", `[{"id":"a","lon":1,"lat":99},{"id":"b","lon":1,"lat":1}]`)
	all := decode[doctor.Report](tw, tw.get("/v1/doctor"))
	if len(all.Checks) < 15 || all.Status == doctor.OK || all.Summary.Rejected != 1 || all.Summary.Objects != 1 {
		t.Errorf("all: %+v", all)
	}
	some := decode[doctor.Report](tw, tw.get("/v1/doctor?only=lag,rejected"))
	if len(some.Checks) != 2 || some.Checks[0].Name != "rejected" || some.Checks[0].Advice == "" || some.Checks[0].Items[0].Object != "a" {
		t.Errorf("some: %+v", some)
	}
	if one := decode[doctor.Report](tw, tw.get("/v1/doctor?only=summary")); len(one.Checks) != 0 || one.Summary != all.Summary {
		t.Errorf("the summary: %+v", one)
	}
	for _, query := range []string{"only=lag,lags", "only=summary,lag", "check=lag", "only=lag&only=cpu"} {
		if r := tw.get("/v1/doctor?" + query); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	if r := newTown(t, options{}).get("/v1/doctor"); r.status != http.StatusNotFound {
		t.Errorf("without an examination: %d", r.status)
	}
	starting := newTown(t, options{config: func(c *Config) { c.Doctor = func() *doctor.Facts { return nil } }})
	if r := starting.get("/v1/doctor"); r.status != http.StatusServiceUnavailable {
		t.Errorf("while it starts: %d", r.status)
	}
}

// TestAnAdministratorExamines refuses other keys.
func TestAnAdministratorExamines(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	must(t, ring.SetFile([]keyring.Key{{Name: "dispatcher", SHA256: keyring.DigestOf("pdk_dispatcher"), Verbs: keyring.EventsRead.Names()}}))
	tw := newTown(t, options{config: func(c *Config) {
		examined(c)
		c.Keys, c.KeyRequired = ring, true
	}})
	if r := tw.get("/v1/doctor", "Authorization", "Bearer pdk_dispatcher"); r.status != http.StatusForbidden || !strings.Contains(string(r.body), "admin") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := tw.get("/v1/doctor"); r.status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", r.status)
	}
}

// TestStreamsAreListed begins a stream, and ends it with the log.
func TestStreamsAreListed(t *testing.T) {
	tw := newTown(t, options{config: examined})
	res, err := tw.client.Get(tw.url + "/v1/events")
	must(t, err)
	defer res.Body.Close()
	for deadline := time.Now().Add(patience); ; {
		if list, _ := tw.log.Subscribers(); len(list) == 1 {
			if list[0].Kind != "http" || list[0].Peer == "" {
				t.Errorf("%+v", list[0])
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the stream is not listed")
		}
		<-time.After(time.Millisecond)
	}
	tw.stop()
	if list, _ := tw.log.Subscribers(); len(list) != 0 {
		t.Errorf("after the end: %+v", list)
	}
}

// TestTheBugReport passes the archive on, with coordinates only if they are asked for.
func TestTheBugReport(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) {
		c.BugReport = func(_ context.Context, to io.Writer, positions bool) error {
			_, err := fmt.Fprint(to, positions)
			return err
		}
	}})
	for query, want := range map[string]string{"": "false", "?positions=0": "false", "?positions=1": "true"} {
		if r := tw.get("/v1/bugreport" + query); r.status != http.StatusOK || string(r.body) != want {
			t.Errorf("%q: %d %s", query, r.status, r.body)
		}
	}
	for _, query := range []string{"?positions=yes", "?secrets=1"} {
		if r := tw.get("/v1/bugreport" + query); r.status != http.StatusBadRequest {
			t.Errorf("%q: %d", query, r.status)
		}
	}
	if r := newTown(t, options{}).get("/v1/bugreport"); r.status != http.StatusNotFound {
		t.Error(r.status)
	}
}
