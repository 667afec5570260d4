package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSendRetries holds that positions are sent again, after the wait that is asked for, while the
// platform has no room or its connection breaks, and that each is accepted once.
func TestSendRetries(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	to, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var requests atomic.Int32
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"detail":"no room"}`, http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"detail":"too many objects"}`, http.StatusTooManyRequests)
		case 3:
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(door.Close)
	file := filepath.Join(t.TempDir(), "day.ndjson")
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, `{"id":"v%d","lon":1,"lat":2,"t":%d}`+"\n", i%10, 1773314200000+i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := outcomeOf(t, "positions", "send", file, "--speed", "max", "--server", door.URL)
	if code != exitOK || stdout != "2500 positions sent: 2500 accepted, 0 late, 0 outliers; 0 rejected\n" {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	if n := requests.Load(); n != 6 {
		t.Errorf("%d requests", n)
	}
}

// TestSendLoop holds that a recording is sent again and again with later times, and that SIGINT
// ends it with its summary.
func TestSendLoop(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	p.dock(t)
	file := filepath.Join(t.TempDir(), "v.csv")
	table := "t,lon,lat\n2026-03-12T11:16:40Z,0.5,0.5\n2026-03-12T11:16:41Z,1.5,0.5\n"
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	events := tail(t, p, "--since", "1h")
	cmd := program(t, "positions", "send", file, "--speed", "20x", "--loop", "--shift-to-now", "--server", p.url)
	var out logText
	cmd.Stdout, cmd.Stderr = &out, &out
	startOf(t, cmd)
	for range 3 {
		events.has(t, " enter docks/dock default/v")
		events.has(t, " exit docks/dock default/v")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), " accepted, 0 late, 0 outliers; 0 rejected\n") {
		t.Errorf("%v: %s", err, &out)
	}
}
