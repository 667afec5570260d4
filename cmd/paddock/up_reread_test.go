package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangUp replaces the configuration file and sends SIGHUP. It returns when the log has all of what
// is wanted since then.
func (p *upProcess) hangUp(t *testing.T, file, text string, want ...string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := len(p.log.String())
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	has := func(log string) bool {
		for _, w := range want {
			if !strings.Contains(log, w) {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(upTestTimeout / 2); !has(p.log.String()[before:]); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not in the log:\n%s", want, &p.log)
		}
	}
}

// SIGHUP has the file read again: keys, webhooks, sinks and sources are those of the file. A file
// with a fault changes nothing. What takes a restart is named once. Keys of --public stay, as the
// file does not have them.
func TestUpRereadsItsFile(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "paddock.yaml")
	const head = "http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ntrack: {policy: raw, initial: enter}\n"
	if err := os.WriteFile(file, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startUp(t, "up", "-c", file, "--data", filepath.Join(dir, "data"))
	p.dock(t)
	sections := fmt.Sprintf("sources: [{lines: 'tcp://%s', format: sbs, fleet: air}]\nsinks: [{id: archive, file: {path: events.ndjson}}]\n"+
		"webhooks: {endpoints: [{id: ops, url: 'https://ops.invalid/'}]}\naccess: {keys: [{name: k, sha256: %s, verbs: [lookup]}]}\n", ln.Addr(), strings.Repeat("ab", 32))
	const done = `msg="configuration file read again"`
	p.hangUp(t, file, head+sections, done)
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line := func(lat string) {
		_, _ = fmt.Fprintf(conn, "MSG,3,5,211,4CA2D6,10057,2008/11/28,14:53:50.594,2008/11/28,14:58:51.153,,37000,,,%s,0.5,,,0,0,0,0\r\n", lat)
	}
	line("0.5")
	archive := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(upTestTimeout / 2); ; <-time.After(5 * time.Millisecond) {
			text, _ := os.ReadFile(filepath.Join(dir, "events.ndjson")) // there is none before the first event
			if strings.Count(string(text), "\n") == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the sink has %q; the log:\n%s", text, &p.log)
			}
		}
	}
	archive(1)
	for path, want := range map[string]string{"v1/webhooks": `"file":"paddock.yaml"`, "v1/keys": `"k"`, "v1/doors": `"name":"sbs","accepted":1`} {
		if answer := p.request(t, "GET", path, ""); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	p.hangUp(t, file, head+sections+"sorces: []\n", "paddock.yaml:9:1: unknown key sorces")
	if n := strings.Count(p.log.String(), "unknown key sorces"); n != 1 {
		t.Errorf("%d lines about one fault:\n%s", n, &p.log)
	}
	line("5")
	archive(2)

	restart := `msg="settings of the configuration file have changed that take a restart" settings="[http.listen tunnel]"`
	changed := strings.Replace(head, "127.0.0.1:0", "127.0.0.1:1", 1) + "tunnel: {serve: {http: '127.0.0.1:0'}}\n"
	p.hangUp(t, file, changed+sections, done, restart)
	p.hangUp(t, file, changed, done)
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the connection of a source that is gone: %d, %v", n, err)
	}
	for path, not := range map[string]string{"v1/webhooks": "ops", "v1/sinks": "archive", "v1/keys": `"k"`, "v1/doors": "sbs"} {
		if answer := p.request(t, "GET", path, ""); strings.Contains(answer, not) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	p.terminate(t)
	if n := strings.Count(p.log.String(), restart); n != 1 {
		t.Errorf("%d lines about a restart:\n%s", n, &p.log)
	}
}
