package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// show answers with the parts of a request that a tunnel may change.
func show(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded", "X-Request-Id",
		"Authorization", "Connection", "Keep-Alive", "Te", "X-Hop", "Proxy-Authorization", "True-Client-Ip", "X-Original-Url",
	} {
		if v, ok := r.Header[name]; ok {
			fmt.Fprintf(w, "%s: %s\n", name, strings.Join(v, " | "))
		}
	}
	fmt.Fprintf(w, "%s %s %s\n", r.Method, r.Host, r.RequestURI)
}

func TestForwarding(t *testing.T) {
	forged := http.Header{
		"X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil"}, "X-Forwarded-Proto": {"https"}, "X-Real-Ip": {"6.6.6.6"},
		"Forwarded": {"for=6.6.6.6"}, "X-Request-Id": {"mine-1"}, "Connection": {"keep-alive, x-hop"}, "X-Hop": {"1"},
		"Keep-Alive": {"timeout=5"}, "Te": {"trailers, gzip"}, "Proxy-Authorization": {"Basic x"}, "Authorization": {"Bearer y"},
		"True-Client-Ip": {"6.6.6.6"}, "X-Original-Url": {"/admin"},
	}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"stranger": {nil, "X-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: example.com\nX-Forwarded-Proto: http\nX-Real-Ip: 127.0.0.1\n" +
			"Forwarded: for=127.0.0.1;host=\"example.com\";proto=http\nX-Request-Id: mine-1\nAuthorization: Bearer y\nTe: trailers\nGET example.com /\n"},
		"proxy": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "X-Forwarded-For: 6.6.6.6, 127.0.0.1\nX-Forwarded-Host: evil\n" +
			"X-Forwarded-Proto: https\nX-Real-Ip: 6.6.6.6\nForwarded: for=6.6.6.6, for=127.0.0.1;host=\"example.com\";proto=http\n" +
			"X-Request-Id: mine-1\nAuthorization: Bearer y\nTe: trailers\nTrue-Client-Ip: 6.6.6.6\nX-Original-Url: /admin\nGET example.com /\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{TrustedProxies: c.trusted})
			p.web(http.HandlerFunc(show))
			r := p.Request(http.MethodGet, "example.com", "/", nil)
			r.Header = forged.Clone()
			if _, got := p.Do(r); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestBasicAuth(t *testing.T) {
	p := newPair(t, &Server{})
	l := tunneltest.Listen(t)
	server := &http.Server{Handler: http.HandlerFunc(show)}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String(), Auth: "me:a:b"}}})
	for _, c := range []struct {
		user, password string
		status         int
	}{{"", "", 401}, {"me", "a", 401}, {"me:a", "b", 200}, {"me", "a:b", 200}, {"ME", "a:b", 401}} {
		r := p.Request(http.MethodGet, "example.com", "/", nil)
		if c.user != "" {
			r.SetBasicAuth(c.user, c.password)
		}
		res, body := p.Do(r)
		if res.StatusCode != c.status || strings.Contains(body, "Authorization") || c.status == 401 && res.Header.Get("Www-Authenticate") == "" {
			t.Errorf("%s:%s: %d %q %v", c.user, c.password, res.StatusCode, body, res.Header)
		}
	}
}

func TestRoutes(t *testing.T) {
	p := newPair(t, &Server{})
	l := tunneltest.Listen(t)
	server := &http.Server{Handler: http.HandlerFunc(show)}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	to := "http://" + l.Addr().String()
	p.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "all", Protocol: tunnel.HTTP, Host: "example.com", Target: to + "/all?k=v"},
		{Name: "api", Protocol: tunnel.HTTP, Host: "example.com", Path: "/api", Target: to + "/api", HostHeader: "inside"},
		{Name: "v2", Protocol: tunnel.HTTP, Host: "example.com", Path: "/api/v2/", Target: to + "/two"},
		{Name: "any", Protocol: tunnel.HTTP, Host: "*.example.com", Target: to},
	}})
	for _, c := range []struct{ host, target, want string }{
		{"example.com", "/", "GET example.com /all/?k=v"},
		{"EXAMPLE.com.", "/x?y", "GET EXAMPLE.com. /all/x?k=v&y"},
		{"example.com", "/api", "GET inside /api/api"},
		{"example.com", "/api/x", "GET inside /api/api/x"},
		{"example.com", "/apix", "GET example.com /all/apix?k=v"},
		{"example.com", "/api/v2?q=1", "GET example.com /two/api/v2?q=1"},
		{"a.example.com:99", "/", "GET a.example.com:99 /"},
		{"a.b.example.com", "/", "404"},
		{"example.org", "/", "404"},
		{"example.com", "/api/../x", "400"},
		{"example.com", "/api/%2e%2E/x", "400"},
		{"example.com", "/api/..%2fx", "400"},
		{"example.com", "/../x", "502"}, // below the target's own path
		{"a.example.com", "/../x", "GET a.example.com /../x"},

		{"example.com", "/%61pi/x", "GET inside /api/%61pi/x"}, // the same path for every reader
		{"example.com", "/ap%69", "GET inside /api/ap%69"},
		{"example.com", "//api//v2?q=%61", "GET example.com /two//api//v2?q=%61"},
		{"example.com", "/./api/./x", "GET inside /api/./api/./x"},
		{"example.com", "/api;v=1/x", "GET inside /api/api;v=1/x"},
		{"example.com", "/api%2Fv2", "GET example.com /two/api%2Fv2"},
		{"example.com", "/x/../api", "400"},
		{"example.com", "/x%2f%2E./api/v2", "400"},
		{"example.com", "/%61pix", "GET example.com /all/%61pix?k=v"},
		{"example.com", "/x%2Fapi", "GET example.com /all/x%2Fapi?k=v"},
	} {
		got := p.rawGet(c.host, c.target)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s%s: %q, want %q", c.host, c.target, got, c.want)
		}
	}
}

// A path with a password asks for it in every spelling, also where the rest of the host leads to
// the same service.
func TestPasswordOfAPath(t *testing.T) {
	p := newPair(t, &Server{})
	l := tunneltest.Listen(t)
	server := &http.Server{Handler: http.HandlerFunc(show)}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	p.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "all", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String()},
		{Name: "admin", Protocol: tunnel.HTTP, Host: "example.com", Path: "/admin", Target: l.Addr().String(), Auth: "me:a"},
	}})
	for path, want := range map[string]string{
		"/": "200", "/other": "200", "/admin": "401", "/admin/x": "401", "/%61dmin/x": "401", "/admi%6E": "401", "//admin": "401", "/./admin": "401",
		"/;x/admin;y": "401", "/%2Fadmin": "401", `/\admin`: "401", "/x/../admin": "400", "/x/%2e%2e/admin": "400",
	} {
		if got := p.rawGet("example.com", path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// rawGet sends a target as it is and returns the status and the last line of the body.
func (p *pair) rawGet(host, target string) string {
	p.T.Helper()
	conn, err := net.Dial("tcp", p.Front.Addr().String())
	if err != nil {
		p.T.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Sprint(res.StatusCode, " ", lines[len(lines)-1])
}

// HTTP/2 in plain text, with prior knowledge: many requests over one connection, bodies
// and trailers both ways.
func TestHTTP2(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set(http.TrailerPrefix+"X-Sum", r.Trailer.Get("X-Up"))
		_, _ = w.Write(b)
	}))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	results := make(chan error, 20)
	for i := range 20 {
		go func() {
			results <- func() error {
				body := strings.Repeat("x", i*10_000)
				r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+p.Front.Addr().String(), io.MultiReader(strings.NewReader(body)))
				r.Host = "example.com"
				r.Trailer = http.Header{"X-Up": {fmt.Sprint(i)}}
				res, err := client.Do(r)
				if err != nil {
					return err
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil || string(b) != body || res.ProtoMajor != 2 || res.Trailer.Get("X-Sum") != fmt.Sprint(i) {
					return fmt.Errorf("%d: %d bytes, %v, %v", i, len(b), res.Trailer, err)
				}
				return nil
			}()
		}()
	}
	for range 20 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// A target that closes idle connections causes no visible errors: a repeatable request is repeated,
// and any other is not sent on a connection that has ended.
func TestTargetClosesIdleConnections(t *testing.T) {
	p := newPair(t, &Server{})
	p.raw(func(conn net.Conn, in *bufio.Reader) {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") // and the connection is closed without notice
	})
	for i := range 100 {
		method := []string{http.MethodGet, http.MethodPost}[i%2]
		if res, body := p.Do(p.Request(method, "example.com", "/", strings.NewReader("x"))); res.StatusCode != 200 || body != "ok" {
			if method == http.MethodPost && res.StatusCode == 502 {
				continue // the end had not come when it was looked for: honest, and never sent twice
			}
			t.Fatalf("%d: %s: %d %q", i, method, res.StatusCode, body)
		}
	}
}
