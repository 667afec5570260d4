package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyid"
)

// The commands that take names of this machine alone are reached through a tunnel by the flag
// that the client's log names, and the platform also by its token.
func TestOurServicesBehindATunnel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, site := t.TempDir(), t.TempDir()
	writeSet(t, site, "index.html", "front")
	clientKey := filepath.Join(dir, "client.key")
	key, err := keyid.Make(clientKey)
	if err != nil {
		t.Fatal(err)
	}
	server := startTunnel(ctx, t, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "off",
		"--key", filepath.Join(dir, "server.key"), "--allow", key.ID.String()+"=app.example")
	id, link, front := server.line("id:"), server.line("clients:"), server.line("visitors:")
	visit := func(path, token string) int {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, front+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host, r.Close = "app.example", true; token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	tunnelTo := func(service string, more ...string) *tunnelProcess {
		p := startTunnel(ctx, t, append([]string{"http", service, "--host", "app.example", "--server", link, "--server-id", id, "--key", clientKey}, more...)...)
		p.line("http://app.example")
		return p
	}
	remedy := regexp.MustCompile(`--host-header [a-z]+`)
	up := func(flags ...string) string {
		p := startUp(t, append([]string{"up", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"}, flags...)...)
		return strings.Trim(strings.TrimPrefix(p.url, "http://"), "/")
	}
	for _, c := range []struct {
		name, service, path, token string
	}{
		{"web", startServing(t, daemon(t, "web", "--port", "0", site, "--log-format", "json")).addr, "/", ""},
		{"up", up(), "/v1/sets", ""},
		{"up with a token", up("--token", "s3cret"), "/v1/sets", "s3cret"},
	} {
		client := tunnelTo(c.service)
		if c.token != "" {
			if got, strange := visit(c.path, c.token), visit(c.path, ""); got != http.StatusOK || strange != http.StatusUnauthorized {
				t.Errorf("%s: %d, without it %d", c.name, got, strange)
			}
			client.stop()
			continue
		}
		if got := visit(c.path, ""); got != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", c.name, got)
		}
		client.stop()
		flag := remedy.FindString(client.log.String())
		if flag == "" {
			t.Errorf("%s: nothing of the way out in the log: %s", c.name, client.log.String())
			continue
		}
		client = tunnelTo(c.service, strings.Fields(flag)...)
		if got := visit(c.path, ""); got != http.StatusOK {
			t.Errorf("%s with %s: %d", c.name, flag, got)
		}
		client.stop()
		if text := client.log.String(); strings.Contains(text, fmt.Sprint("answers ", http.StatusMisdirectedRequest)) {
			t.Errorf("%s with %s: logged %s", c.name, flag, text)
		}
	}
	server.stop()
}
