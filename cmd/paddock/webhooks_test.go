package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hookFile writes a configuration file that allows endpoints on this machine.
func hookFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "paddock.yaml")
	text := "http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ntrack: {policy: raw, initial: enter}\nwebhooks: {allow: [127.0.0.0/8]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// dock makes the square [0,1] a set of a platform.
func (p *upProcess) dock(t *testing.T) {
	t.Helper()
	p.request(t, http.MethodPut, "v1/sets/docks", `{"type":"FeatureCollection","features":[`+upSquare+`]}`)
}

// request makes a request that must succeed, and returns the answer.
func (p *upProcess) request(t *testing.T, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: upTestTimeout}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s, %v", method, path, res.Status, answer, err)
	}
	return string(answer)
}

// listener is `paddock webhooks listen`.
type listener struct {
	url  string
	out  *bufio.Reader
	stop func() // ends it, and checks how
}

func startListener(t *testing.T, args ...string) (l *listener, secret string) {
	t.Helper()
	cmd := daemon(t, append([]string{"webhooks", "listen", "--port", "0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	l = &listener{out: bufio.NewReader(out)}
	l.url = strings.TrimPrefix(l.line(t), "Listening: ")
	if allow := l.line(t); !strings.Contains(allow, "webhooks: {allow: [127.0.0.1]}") {
		t.Errorf("%q does not say how the platform allows the address", allow)
	}
	words := strings.Fields(l.line(t))
	l.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, l.out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("webhooks listen: %v", err)
		}
	}
	return l, words[len(words)-1]
}

func (l *listener) line(t *testing.T) string {
	t.Helper()
	line, err := l.out.ReadString('\n')
	if err != nil {
		t.Fatalf("webhooks listen: %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

// The commands add a webhook, show it, stop it, and deliver again what it had; listen prints and
// verifies what the platform sends.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	p := startUp(t, "up", "-c", hookFile(t), "--data", t.TempDir())
	p.dock(t)
	hooks := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := outcomeOf(t, append(append([]string{"webhooks"}, args...), "--server", p.url)...)
		if code != exitOK {
			t.Fatalf("webhooks %q: %d\n%s", args, code, stderr)
		}
		return stdout
	}
	good, secret := startListener(t)
	if out := hooks("add", "dev", good.url, "--secret", secret, "--sets", "docks", "--events", "enter,exit"); out != "" {
		t.Error(out)
	}
	other, _ := startListener(t, "--answer", "422")
	if out := hooks("add", "other", other.url); !strings.HasPrefix(out, "The secret of other, which is not shown again: whsec_") {
		t.Error(out)
	}
	p.request(t, http.MethodPost, "v1/positions", `{"id":"v","lon":0.5,"lat":0.5}`)
	if line := good.line(t); !strings.HasPrefix(line, `verified v/1 {"specversion":"1.0","id":"v/1","source":"/sets/docks","type":"paddock.fence.enter"`) {
		t.Error(line)
	}
	if line := other.line(t); !strings.HasPrefix(line, "NOT VERIFIED: no signature is of this secret and this body: v/1 {") {
		t.Error(line)
	}
	hooks("retry", "other")
	other.line(t)
	hooks("retry", "other")
	other.line(t)
	hooks("replay", "dev", "--from", "2020-01-01T00:00:00Z")
	if line := good.line(t); !strings.HasPrefix(line, "verified replay v/1 {") {
		t.Error(line)
	}
	hooks("disable", "dev")
	var list []struct {
		Webhook struct{ ID, URL string }
		State   struct {
			State, Reason string
			Letters       int `json:"dead_letters"`
		}
	}
	for len(list) != 2 || list[1].State.Letters != 1 { // the third refusal is recorded behind the answer
		if err := json.Unmarshal([]byte(hooks("ls", "--json")), &list); err != nil {
			t.Fatal(err)
		}
	}
	if list[0].Webhook.ID != "dev" || list[0].State.State != "disabled" || list[0].State.Reason != "by request" {
		t.Errorf("%+v", list)
	}
	table := hooks("ls")
	if !strings.Contains(table, "delivered 200 (by request)") || !strings.Contains(table, "refused 422") {
		t.Error(table)
	}
	if out := hooks("dead", "other"); !strings.Contains(out, " v/1 ") || !strings.Contains(out, "422 Unprocessable Entity") {
		t.Error(out)
	}
	if out := hooks("replay", "other", "--dead"); out != "1 dead letters are delivered again\n" {
		t.Error(out)
	}
	if line := other.line(t); !strings.Contains(line, "replay v/1") {
		t.Error(line)
	}
	hooks("enable", "dev")
	hooks("rm", "other")
	if out := hooks("ls"); strings.Contains(out, "other") {
		t.Error(out)
	}
	code, _, stderr := outcomeOf(t, "webhooks", "add", "dev", good.url, "--server", p.url)
	if code != exitFailure || !strings.Contains(stderr, "412 Precondition Failed: If-None-Match: it exists") {
		t.Errorf("%d: %s", code, stderr)
	}
	hooks("add", "dev", good.url, "--replace", "--secret", "none")
	p.request(t, http.MethodPost, "v1/positions", `{"id":"w","lon":0.5,"lat":0.5}`)
	if line := good.line(t); !strings.HasPrefix(line, "NOT VERIFIED: it is not signed") {
		t.Error(line)
	}
	p.terminate(t)
	good.stop()
	other.stop()
}

// hookKills is the number of kills of TestWebhookSurvivesKills.
const hookKills = 6

// A platform is killed between the answer of an endpoint and the record of it, again and again. The
// endpoint has every event, in order, and of each restart the last ones again at most.
func TestWebhookSurvivesKills(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), hookFile(t)
	requests, answers := make(chan string), make(chan bool)
	endpoint := newEndpoint(t, requests, answers)
	begin := func() *upProcess { return startUpAs(t, program(t, "up", "-c", file, "--data", data)) }
	p := begin()
	p.dock(t)
	p.request(t, http.MethodPut, "v1/webhooks/ops", `{"url":"`+endpoint+`"}`)
	var got []string
	sent := 0
	move := func(n int) {
		for range n {
			sent++
			p.request(t, http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":"v%d","lon":0.5,"lat":0.5}`, sent))
		}
	}
	next := func() {
		t.Helper()
		select {
		case id := <-requests:
			got = append(got, id)
		case <-time.After(upTestTimeout):
			t.Fatalf("no request behind %q", got)
		}
	}
	take := func(n int) {
		t.Helper()
		for range n {
			next()
			answers <- true
		}
	}
	for kill := range hookKills {
		move(4)
		take(3)
		next()
		if kill%2 == 0 { // it has the answer, or dies with the request
			answers <- true
		}
		_ = p.Process.Kill()
		_ = p.Wait() // it was killed
		if kill%2 == 1 {
			answers <- false
		}
		p = begin()
	}
	for len(got) == 0 || got[len(got)-1] != fmt.Sprintf("v%d/1", sent) {
		take(1)
	}
	p.terminate(t)
	first, repeats := 1, 0
	for i, id := range got {
		if id == fmt.Sprintf("v%d/1", first) {
			first++
			continue
		}
		repeats++
		if !slices.Contains(got[:i], id) {
			t.Fatalf("%s came before v%d/1: %q", id, first, got)
		}
	}
	if first != sent+1 || repeats > 4*hookKills {
		t.Errorf("%d of %d events, %d repeats: %q", first-1, sent, repeats, got)
	}
}

// newEndpoint starts an endpoint that passes on the webhook-id of each request, and answers once it
// is told to; or ends the connection, told false.
func newEndpoint(t *testing.T, requests chan<- string, answers <-chan bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := false
		select {
		case requests <- r.Header.Get("Webhook-Id"):
			select {
			case answer = <-answers:
			case <-t.Context().Done(): // the test has failed
			}
		case <-t.Context().Done():
		}
		if !answer {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
