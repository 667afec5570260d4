package main

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// A first start that fails behind the key, as another process has its port, prints the key all the
// same: it is stored by then, and the next start has no other one.
func TestKeyOfAFirstStartThatFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := t.TempDir()
	ports := []string{"--data", data, "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"}
	code, stdout, stderr := outcomeOf(t, append([]string{"up", "--listen", taken.Addr().String()}, ports...)...)
	key := regexp.MustCompile(`^Key: +(pdk_\S+) .*\n$`).FindStringSubmatch(stdout)
	if code != exitFailure || key == nil {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	p := startUp(t, append([]string{"up", "--listen", "127.0.0.1:0"}, ports...)...)
	if code, stdout, stderr := outcomeOf(t, "keys", "ls", "--server", p.url, "--token", key[1]); code != 0 || strings.Count(stdout, "administrator") != 1 {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	p.terminate(t)
}

// The first start prints an administrator's key once. Keys are made, listed, changed and revoked by
// the command line, and each change is in the audit.
func TestKeysCommands(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := upKeeping(t, data)
	run := func(code int, args ...string) string {
		t.Helper()
		got, stdout, stderr := outcomeOf(t, append(args, "--server", p.url)...)
		if got != code {
			t.Fatalf("%v: code %d: %s%s", args, got, stdout, stderr)
		}
		return stdout + stderr
	}
	secret := strings.TrimSpace(run(0, "keys", "add", "acme", "--verbs", "lookup,events:read", "--fleets", "acme", "--expires", "720h"))
	if !regexp.MustCompile(`^pdk_[A-Za-z0-9_-]{43}$`).MatchString(secret) {
		t.Fatalf("%q", secret)
	}
	list := run(0, "keys", "ls")
	for _, want := range []string{`(?m)^administrator +admin +all +all +- +API$`, `(?m)^acme +lookup,events:read +acme +all +20\d\d-`} {
		if !regexp.MustCompile(want).MatchString(list) {
			t.Errorf("%s is not in\n%s", want, list)
		}
	}
	run(0, "keys", "edit", "acme", "--fleets", "all", "--expires", "never")
	if list := run(0, "keys", "ls", "--json"); strings.Contains(list, "fleets") || strings.Contains(list, "expires") || strings.Contains(list, secret) {
		t.Error(list)
	}
	renewed := strings.TrimSpace(run(0, "keys", "renew", "acme"))
	if text := run(1, "keys", "ls", "--token", secret); !strings.Contains(text, "401") {
		t.Error(text)
	}
	if text := run(1, "keys", "ls", "--token", renewed); !strings.Contains(text, `the key "acme" may not do this: it needs admin`) {
		t.Error(text)
	}
	run(0, "keys", "rm", "acme")
	if text := run(1, "keys", "rm", "administrator"); !strings.Contains(text, "the last key with the verb admin") {
		t.Error(text)
	}
	audit := run(0, "keys", "audit", "--object", "acme")
	for _, action := range []string{"key.add", "key.edit", "key.secret", "key.delete"} {
		if !strings.Contains(audit, action) {
			t.Errorf("%s is not in\n%s", action, audit)
		}
	}
	if status, body := p.send(t, http.MethodGet, "v1/keys", ""); status != http.StatusOK || strings.Contains(body, "sha256") {
		t.Error(status, body)
	}
	p.terminate(t)

	hash := regexp.MustCompile(`^secret: (pdk_\S+)\nsha256: ([0-9a-f]{64})\n$`)
	_, stdout, _ := outcomeOf(t, "keys", "hash")
	if !hash.MatchString(stdout) {
		t.Error(stdout)
	}
	if code, _, stderr := outcomeOf(t, "keys", "hash", "visible"); code != 2 || !strings.Contains(stderr, "use -, and standard input") {
		t.Error(code, stderr)
	}
}
