package platform_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform"
)

// Rules and policies of the API survive the process, and hold for the objects that it knew. What
// files hold comes and goes with them, and is changed there alone.
func TestRulesAreKept(t *testing.T) {
	data, sets := t.TempDir(), t.TempDir()
	writeOver(t, filepath.Join(sets, "yard.json"), squareOf("f", 1))
	cfg := func() *running {
		c := keeping(data)
		c.Sets.Dir, c.Sets.Watch = sets, false
		return start(t, c, nil)
	}
	r := cfg()
	change := func(method, path, body string, want int) string {
		t.Helper()
		status, answer, err := r.call(method, path, "application/json", []byte(body))
		if err != nil || status != want {
			t.Fatalf("%s %s: %d %s, %v, want %d", method, path, status, answer, err, want)
		}
		return string(answer)
	}
	move := func(seconds string, lon string) {
		t.Helper()
		change(http.MethodPost, "v1/positions", `{"id":"v","lon":`+lon+`,"lat":1,"t":"2026-01-01T00:00:`+seconds+`Z"}`, http.StatusOK)
	}
	change(http.MethodPut, "v1/rules/long", `{"set":"yard","detect":["dwell"],"dwell":{"after":"10s"}}`, http.StatusCreated)
	nc, err := nats.Connect("nats://" + r.BusAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := nc.RequestWithContext(t.Context(), "paddock.rules.put.idle", []byte(`{"set":"yard","detect":["condition"],"when":"speed < 1"}`))
	if nc.Close(); err != nil || m.Header.Get("ETag") == "" {
		t.Fatalf("%v, %+v", err, m)
	}
	change(http.MethodPut, "v1/sets/yard/policy", `{"fixes":2}`, http.StatusOK)
	move("00", "20")
	move("01", "1")
	r.stop()

	r = cfg()
	if got := r.text("v1/rules"); !strings.Contains(got, `"id":"long"`) || !strings.Contains(got, `"id":"idle"`) {
		t.Errorf("rules %s", got)
	}
	if got := r.text("v1/sets/yard/policy"); !strings.Contains(got, `"fixes":2`) {
		t.Errorf("policy %s", got)
	}
	if got := r.text("v1/objects/v"); !strings.Contains(got, `"pending":[{"set":"yard","fence":"f","event":"enter"`) {
		t.Errorf("object %s", got)
	}
	move("02", "1")
	move("15", "1")
	if got := r.text("v1/events?wait=0"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "paddock.fence.dwell") || !strings.Contains(got, `"rule":"long"`) {
		t.Errorf("events %s", got)
	}

	writeOver(t, filepath.Join(sets, "rules.yaml"), "rules:\n  - {id: long, set: yard, detect: [exit]}\n")
	writeOver(t, filepath.Join(sets, "yard.policy.yaml"), "preset: raw\n")
	r.reload <- syscall.SIGHUP
	r.reload <- syscall.SIGHUP // taken when the first has been done
	if got := r.text("v1/rules"); !strings.Contains(got, `"detect":["exit"]`) || !strings.Contains(got, `"files":{"long":"rules.yaml"}`) {
		t.Errorf("rules %s", got)
	}
	for _, c := range [][3]string{
		{http.MethodPut, "v1/rules/long", `{"set":"yard"}`},
		{http.MethodPatch, "v1/rules/long", `{}`},
		{http.MethodDelete, "v1/rules/long", ""},
		{http.MethodPut, "v1/sets/yard/policy", `"steady"`},
		{http.MethodDelete, "v1/sets/yard/policy", ""},
	} {
		if got := change(c[0], c[1], c[2], http.StatusConflict); !strings.Contains(got, ".yaml: change it there") {
			t.Errorf("%s %s: %s", c[0], c[1], got)
		}
	}
	r.text("v1/objects/v") // waits until the files hold
	move("16", "20")
	if got := r.text("v1/events?wait=0"); strings.Count(got, "\n") != 2 || !strings.Contains(got, "paddock.fence.exit") {
		t.Errorf("events %s", got)
	}
	if err := os.Remove(filepath.Join(sets, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = cfg()
	if got := r.text("v1/rules"); !strings.HasPrefix(got, `{"rules":[{"id":"idle"`) || strings.Contains(got, "long") {
		t.Errorf("rules %s", got)
	}
	r.stop()
	found, err := platform.Verify(data, slog.New(slog.DiscardHandler), nil)
	if err != nil || !found.Whole || found.Events != 2 {
		t.Errorf("the replay: %+v, %v", found, err)
	}
}
