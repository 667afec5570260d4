package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"paddock/wire"
)

// Look-ups are forwarded to the platform, and fail at once without a connection.
func TestSearch(t *testing.T) {
	p := newPlatform(t)
	p.kill()
	p.mux = func(m *wire.Mux) {
		m.HandleRequest(kindSearch, func(_ context.Context, r *wire.Request) error {
			if strings.Contains(string(r.Body), "nowhere") {
				return &wire.Error{Code: wire.NotFound, Msg: "no such set"}
			}
			if strings.Contains(string(r.Body), "secret") {
				return &wire.Error{Code: wire.PermissionDenied, Msg: "the key may not do this"}
			}
			return r.Respond(r.Body)
		})
	}
	a := start(t, p.settings(t.TempDir(), "bus: {listen: \"127.0.0.1:0\"}\n"))
	status, answer := a.do("GET", "/v1/search?lon=1&lat=2", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "no connection to the platform") {
		t.Errorf("%d %s", status, answer)
	}
	nc := a.connectBus()
	m, err := nc.Request("paddock.search._", []byte("[1,2]"), patience)
	must(t, err)
	if m.Header.Get("Nats-Service-Error-Code") != "503" {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	p.start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, a.link().Ready(ctx))
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"GET", "/v1/search?lon=1.5&lat=2&set=depots", "", 200, `{"lat":2,"lon":1.5,"set":"depots"}`},
		{"POST", "/v1/search", `{"points":[[1,2]]}`, 200, `{"points":[[1,2]]}`},
		{"GET", "/v1/search?lon=x&lat=2", "", 400, "is no number"},
		{"GET", "/v1/search?long=1&lat=2", "", 400, "use lon, lat"},
		{"POST", "/v1/search?set=a", `[1,2]`, 400, "members of the body"},
		{"POST", "/v1/search", `{"set":"nowhere"}`, 404, "no such set"},
		{"POST", "/v1/search", `{"set":"secret"}`, 403, `"the key may not do this"`},
	} {
		if status, answer := a.do(c.method, c.path, c.body); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, answer)
		}
	}
	for _, c := range [][3]string{
		{"_", "[1,2]", "[1,2]"},
		{"depots", "[1,2]", `{"lat":2,"lon":1,"set":"depots"}`},
		{"depots", `{"points":[[1,2]]}`, `{"points":[[1,2]],"set":"depots"}`},
		{"depots", "\x01\x04abc", "\x01\x05\x06depotsabc"},
		{"depots", "nonsense", "neither a JSON object"},
		{"nowhere", "[1,2]", "no such set"},
	} {
		m, err := nc.Request("paddock.search."+c[0], []byte(c[1]), patience)
		must(t, err)
		if !strings.Contains(string(m.Data), c[2]) {
			t.Errorf("%q %q: %q", c[0], c[1], m.Data)
		}
	}
}

// event returns an event as the platform writes it.
func event(n int) string {
	return fmt.Sprintf(`{"specversion":"1.0","type":"paddock.fence.enter","id":"%d","data":{"set":"s","fence":{"id":"f 1"},"object":{"id":"v","fleet":"north"}}}`, n)
}

// The platform's events are published here, and the next agent continues after them.
func TestEvents(t *testing.T) {
	p := newPlatform(t)
	p.kill()
	asked := make(chan string, 10)
	gone, _ := cbor.Marshal("e-7")
	p.mux = func(m *wire.Mux) {
		m.HandleStream(kindEvents, func(ctx context.Context, s *wire.Stream) error {
			filter, err := s.ReadMsg(nil)
			if err != nil {
				return err
			}
			asked <- string(filter)
			switch {
			case strings.Contains(string(filter), `"cursor":""`):
				for _, m := range []string{`{"type":"paddock.cursor","cursor":"e-1"}`, event(2), event(3), `{"type":"paddock.gap","from":"e-4","to":"e-5","count":2,"reason":"slow"}`, event(6), `{"type":"paddock.cursor","cursor":"e-6"}`, event(7)} {
					if err := s.WriteMsg([]byte(m)); err != nil {
						return err
					}
				}
			case strings.Contains(string(filter), `"cursor":"e-6"`):
				return &wire.Error{Code: wire.OutOfRange, Msg: "gone", Details: gone}
			}
			<-ctx.Done()
			return nil
		})
	}
	dir := t.TempDir()
	const more = "fleet: north\nbus: {listen: \"127.0.0.1:0\"}\n"
	a := start(t, p.settings(dir, more))
	nc := a.connectBus()
	sub, err := nc.SubscribeSync("fence.>")
	must(t, err)
	must(t, nc.Flush())
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+a.HTTP().String()+"/v1/events", nil)
	must(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must(t, err)
	defer resp.Body.Close()

	p.start()
	if got := <-asked; got != `{"set":"","fence":"","event":"","fleet":"north","object":"","cursor":""}` {
		t.Errorf("asked %s", got)
	}
	for _, n := range []int{2, 3, 6} {
		m, err := sub.NextMsg(patience)
		must(t, err)
		if m.Subject != "fence.s.f%201.enter.north.v" || string(m.Data) != event(n) {
			t.Errorf("%s %s", m.Subject, m.Data)
		}
	}
	lines := bufio.NewReader(resp.Body)
	var kinds []string
	for len(kinds) < 5 { // the last one was behind the cursor
		line, err := lines.ReadString('\n')
		must(t, err)
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
	}
	want(t, "kinds", strings.Join(kinds, " "), "enter enter gap enter enter")
	a.stop()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}

	a = start(t, p.settings(dir, more))
	for _, cursor := range []string{`"cursor":"e-6"`, `"cursor":"e-7"`} {
		if got := <-asked; !strings.Contains(got, cursor) {
			t.Errorf("asked %s, want %s", got, cursor)
		}
	}
	if s := a.Status(); s.Gaps != 1 {
		t.Errorf("%+v", s)
	}
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
