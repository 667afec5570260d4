package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"paddock/fence"
)

// The flags tell which kinds there are.
func TestFenceFlagListsTheKinds(t *testing.T) {
	flags := findCommand(model(t), "fence").Flags
	flag := flags[slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == "fence" })]
	for _, kind := range fence.Kinds() {
		if !slices.Contains(strings.Split(flag.Tag.Get("complete"), ","), string(kind)) || !slices.Contains(strings.FieldsFunc(flag.Help, func(r rune) bool { return r == ' ' || r == ',' }), string(kind)) {
			t.Errorf("--fence does not tell of %s", kind)
		}
	}
	if flag.Default != string(fence.DefaultKind) {
		t.Errorf("--fence is %s unless given, but the default kind is %s", flag.Default, fence.DefaultKind)
	}
}

// TestFenceProcess runs `paddock fence` as its users do: with a token, a
// reload on SIGHUP, one on a broken file, a file that is mended and noticed, and a
// SIGTERM during a request.
func TestFenceProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSet(t, dir, "first.json", square)
	p := startFence(t, dir)

	if status, _ := p.get(t, "/engarde", ""); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	p.expect(t, "/fence", `["first"]`)

	writeSet(t, dir, "second.json", square)
	p.signal(t, syscall.SIGHUP)
	p.waitFor(t, "fences loaded")
	p.expect(t, "/fence", `["first","second"]`)

	writeSet(t, dir, "second.json", "{")
	p.signal(t, syscall.SIGHUP)
	p.waitFor(t, "reload incomplete; what failed stays as it was")
	p.expect(t, "/fence", `["first","second"]`)
	p.expect(t, "/fence/second/search?lat=1&lon=1",
		`{"query":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}},"fences":[{"id":null}]}`)

	writeSet(t, dir, "second.json", strings.Replace(square, `"Feature"`, `"Feature","id":2`, 1))
	p.waitFor(t, "file mended")
	p.expect(t, "/fence/second/search?lat=1&lon=1",
		`{"query":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}},"fences":[{"id":2}]}`)

	body := `{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}}`
	conn := p.dial(t)
	fmt.Fprintf(conn, "POST /fence/first/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" { // it is being handled now
		t.Fatalf("%q, %v", line, err)
	}
	p.signal(t, syscall.SIGTERM)
	p.waitFor(t, "stopping; a second signal forces")
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadString('\n'); err != nil { // the empty line after 100
		t.Fatal(err)
	}
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("the request in flight: %v", err)
	}
	defer r.Body.Close()
	if answer, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || !strings.HasSuffix(string(answer), `"fences":[{"id":null}]}`) {
		t.Errorf("the request in flight: %s %s, %v", r.Status, answer, err)
	}
	p.drainLog()
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

const square = `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`

func writeSet(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func startFence(t *testing.T, dir string) *httpProcess {
	t.Helper()
	cmd := daemon(t, "fence", dir, "--port", "0", "--snapshots", "off", "--log-format", "json")
	cmd.Env = append(os.Environ(), "PADDOCK_TOKEN=secret")
	return startServing(t, cmd)
}

func (p *httpProcess) get(t *testing.T, path, token string) (status int, body string) {
	t.Helper()
	conn := p.dial(t)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, token)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func (p *httpProcess) expect(t *testing.T, path, body string) {
	t.Helper()
	if status, got := p.get(t, path, "secret"); status != http.StatusOK || got != body {
		t.Errorf("%s: %d %s, want %s", path, status, got, body)
	}
}
