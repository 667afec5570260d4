package webhook

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"paddock/bus/bustest"
)

func secretOf(t *testing.T, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed is a request as a receiver sees it.
type signed struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	good    bool
}

// requests returns good and bad requests, each with the secret of its receiver.
func requests(t *testing.T) (all []signed) {
	const body = `{"id":"v1/1","text":"Zürich \u2028"}`
	add := func(good bool, receiver string, secrets []string, at time.Time, change func(h http.Header, body string) string) {
		var keys []Secret
		for _, s := range secrets {
			keys = append(keys, secretOf(t, s))
		}
		h := http.Header{}
		Sign(h, "v1/1", at, []byte(body), keys)
		sent := body
		if change != nil {
			sent = change(h, body)
		}
		r := signed{receiver, map[string]string{}, sent, good}
		for name := range maps.Keys(h) {
			r.Headers[strings.ToLower(name)] = h.Get(name)
		}
		all = append(all, r)
	}
	now := time.Now()
	add(true, secretA, []string{secretA}, now, nil)
	add(true, secretA, []string{secretA, secretB}, now, nil) // while the secret changes, both receivers
	add(true, secretB, []string{secretA, secretB}, now, nil)
	add(true, secretA, []string{secretA}, now.Add(-4*time.Minute), nil)
	add(false, secretB, []string{secretA}, now, nil)
	add(false, secretA, nil, now, nil)
	add(false, secretA, []string{secretA}, now.Add(-10*time.Minute), nil)
	add(false, secretA, []string{secretA}, now.Add(10*time.Minute), nil)
	add(false, secretA, []string{secretA}, now, func(_ http.Header, body string) string { return body + " " })
	add(false, secretA, []string{secretA}, now, func(h http.Header, body string) string { h.Set(headerID, "v1/2"); return body })
	add(false, secretA, []string{secretA}, now, func(h http.Header, body string) string { h.Set(headerTime, "soon"); return body })
	return all
}

func (s *signed) header() http.Header {
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// The library of Standard Webhooks for Go and Verify judge each request in the same way.
func TestSignatureInGo(t *testing.T) {
	for i, r := range requests(t) {
		library, err := standardwebhooks.NewWebhook(r.Secret)
		if err != nil {
			t.Fatal(err)
		}
		theirs := library.Verify([]byte(r.Body), r.header())
		ours := Verify(r.header(), []byte(r.Body), secretOf(t, r.Secret), time.Now())
		if (theirs == nil) != r.good || (ours == nil) != r.good {
			t.Errorf("request %d: good is %v, the library says %v, Verify says %v", i, r.good, theirs, ours)
		}
	}
}

// So does the one for Python.
func TestSignatureInPython(t *testing.T) {
	python := bustest.PythonWith(t, "standardwebhooks")
	all := requests(t)
	var in bytes.Buffer
	for i := range all {
		if err := json.NewEncoder(&in).Encode(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/verify.py")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d answers to %d requests: %q", len(lines), len(all), lines)
	}
	for i, line := range lines {
		if (line == "ok") != all[i].good {
			t.Errorf("request %d: good is %v, the library says %s", i, all[i].good, line)
		}
	}
}

// A new secret is one that ParseSecret reads, and another one each time.
func TestNewSecret(t *testing.T) {
	a, b := NewSecret(), NewSecret()
	if a == b || len(secretOf(t, a)) != 32 {
		t.Errorf("%q, %q", a, b)
	}
}
