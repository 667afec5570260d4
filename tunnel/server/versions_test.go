package server

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// everyAnswer is a service that answers in all the ways in which answers end.
func everyAnswer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/echo":
		w.Header().Set("Trailer", "X-Sum")
		body, _ := io.ReadAll(r.Body)
		_ = http.NewResponseController(w).Flush() // else a short answer has a length, and then no trailers
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", strconv.Itoa(len(body))+r.Trailer.Get("X-Up"))
	case "/early":
		_ = http.NewResponseController(w).EnableFullDuplex() // else net/http reads on before it answers
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too much")
	case "/hints":
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "page")
	case "/status":
		status, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Etag", `"a"`)
		w.WriteHeader(status)
	case "/length":
		w.Header().Set("Content-Length", "42")
		if r.Method != http.MethodHead {
			_, _ = w.Write(bytes.Repeat([]byte{'x'}, 42))
		}
	}
}

// Whatever the versions of HTTP that a visitor and a service speak, the same passes
// between them.
func TestVersions(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(everyAnswer))
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(everyAnswer))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	trust := secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trust.ServerName = "example.com"

	p := newPair(t, &Server{})
	c, stop := p.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "HTTP/1.1", Protocol: tunnel.HTTP, Host: "h1.example.com", Target: plain.URL},
		{Name: "h2c", Protocol: tunnel.HTTP, Host: "h2c.example.com", Target: "h2c://" + tunneltest.H2Service(t, everyAnswer)},
		{Name: "h2", Protocol: tunnel.HTTP, Host: "h2.example.com", Target: secure.URL, TLS: trust},
	}})
	t.Cleanup(stop)
	for version, visitor := range map[string]*http.Client{"HTTP/1.1": p.HTTP, "HTTP/2": h2Visitor(t)} {
		for _, host := range []string{"h1.example.com", "h2c.example.com", "h2.example.com"} {
			t.Run(version+" to "+host, func(t *testing.T) {
				v := versions{pair: p, t: t, visitor: visitor, host: host}
				v.bodies()
				v.echo()
				v.early()
				v.hints()
			})
		}
	}
	p.Eventually("the client holds something", func() bool { return c.Stats().Inflight == 0 && c.Stats().Bytes == 0 })
	if n := c.Stats().Shared; n != 2 {
		t.Errorf("%d connections of HTTP/2", n)
	}
}

// versions is a visitor of one version, of a service of another.
type versions struct {
	*pair
	t       *testing.T
	visitor *http.Client
	host    string
}

// ask sends a request, and returns the answer with its body.
func (v *versions) ask(r *http.Request) (*http.Response, string) {
	v.t.Helper()
	res, err := v.visitor.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res, string(body)
}

// bodies asks for answers with and without one.
func (v *versions) bodies() {
	for _, is := range []struct {
		method, path string
		status       int
		length       int64 // from the head, -1: none
		body         int   // that comes
	}{
		{"GET", "/length", 200, 42, 42},
		{"HEAD", "/length", 200, 42, 0},
		{"GET", "/status?200", 200, 0, 0},
		{"HEAD", "/status?200", 200, -1, 0},
		{"GET", "/status?204", 204, 0, 0},
		{"GET", "/status?304", 304, 0, 0},
		{"HEAD", "/status?404", 404, -1, 0},
		{"DELETE", "/status?500", 500, 0, 0},
	} {
		res, body := v.ask(v.Request(is.method, v.host, is.path, nil))
		said := res.Header.Get("Content-Length")
		if res.StatusCode != is.status || len(body) != is.body || is.length > 0 && said != strconv.FormatInt(is.length, 10) ||
			is.length == 0 && said != "" && said != "0" || (is.status == 204 || is.status == 304) && said != "" {
			v.t.Errorf("%s %s: %s, length %q, %d bytes", is.method, is.path, res.Status, said, len(body))
		}
		if strings.HasPrefix(is.path, "/status") && res.Header.Get("Etag") != `"a"` {
			v.t.Errorf("%s %s: %v", is.method, is.path, res.Header)
		}
	}
}

// echo sends bodies of unknown length, with trailers.
func (v *versions) echo() {
	for _, size := range []int{0, 1, 4_000, 100_000} {
		sent := strings.Repeat("x", size)
		r := v.Request(http.MethodPost, v.host, "/echo", io.MultiReader(strings.NewReader(sent)))
		r.Trailer = http.Header{"X-Up": {"up"}}
		res, body := v.ask(r)
		if sum := res.Trailer.Get("X-Sum"); body != sent || sum != strconv.Itoa(size)+"up" {
			v.t.Errorf("%d bytes sent: %d came back, trailer %q", size, len(body), sum)
		}
	}
}

// early sends a body that does not end, and is answered all the same.
func (v *versions) early() {
	body, more := io.Pipe()
	defer more.Close()
	go func() { _, _ = more.Write(make([]byte, 10_000)) }() // ends with the pipe
	res, text := v.ask(v.Request(http.MethodPost, v.host, "/early", body))
	if res.StatusCode != http.StatusRequestEntityTooLarge || text != "too much" {
		v.t.Errorf("%s %q", res.Status, text)
	}
}

// hints asks for an answer with a head before it.
func (v *versions) hints() {
	link := ""
	r := v.Request(http.MethodGet, v.host, "/hints", nil)
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(status int, fields textproto.MIMEHeader) error {
			link = strconv.Itoa(status) + fields.Get("Link")
			return nil
		},
	}))
	if res, body := v.ask(r); res.StatusCode != 200 || body != "page" || link != "103</style.css>" {
		v.t.Errorf("%s %q, before it %q", res.Status, body, link)
	}
}
