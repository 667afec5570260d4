package monitor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	"paddock/bus/monitor"
)

// site is a broker with its monitoring.
type site struct {
	*testing.T
	srv *bus.Server
	web http.Handler
}

func newSite(t *testing.T, cfg bus.Config, o monitor.Options) *site {
	t.Helper()
	cfg.Port = -1
	s, err := bus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return &site{t, s, monitor.Handler(s, o)}
}

func (s *site) ask(method, path string) *http.Response {
	s.Helper()
	rec := httptest.NewRecorder()
	s.web.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	return rec.Result()
}

// text is the body of a GET.
func (s *site) text(path string) string {
	s.Helper()
	b, err := io.ReadAll(s.ask("GET", path).Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// json decodes the answer of a GET.
func (s *site) json(path string) map[string]any {
	s.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s.text(path)), &v); err != nil {
		s.Fatalf("%s: %v", path, err)
	}
	return v
}

// peer is a client of the broker, on the level of bytes.
type peer struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (s *site) dial(lines string) *peer {
	s.Helper()
	conn, err := net.Dial("tcp", s.srv.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.Fatal(err)
	}
	p := &peer{conn, s.T, bufio.NewReader(conn)}
	p.sync(lines)
	return p
}

// sync sends lines and waits until they have been handled.
func (p *peer) sync(lines string) {
	p.t.Helper()
	if _, err := io.WriteString(p, lines+"PING\r\n"); err != nil {
		p.t.Fatal(err)
	}
	for {
		line, err := p.r.ReadString('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		if line == "PONG\r\n" {
			return
		}
	}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatal(err)
	}
}

// end reads until the broker closes.
func (p *peer) end() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, p.r); err != nil {
		p.t.Fatal(err)
	}
}

const quiet = "CONNECT {\"verbose\":false,\"pedantic\":false,\"name\":%q,\"lang\":\"go\",\"version\":\"1.2\"}\r\n"

func connect(name string) string { return fmt.Sprintf(quiet, name) }

func TestAnswersToBadArguments(t *testing.T) {
	s := newSite(t, bus.Config{}, monitor.Options{})
	for path, want := range map[string]string{
		"/connz?auth=x":               `Error decoding boolean for 'auth': strconv.ParseBool: parsing "x": invalid syntax`,
		"/connz?subs=x":               `Error decoding boolean for 'subs': strconv.ParseBool: parsing "x": invalid syntax`,
		"/connz?limit=x":              `Error decoding int for 'limit': strconv.Atoi: parsing "x": invalid syntax`,
		"/connz?offset=x":             `Error decoding int for 'offset': strconv.Atoi: parsing "x": invalid syntax`,
		"/connz?cid=-1":               `Error decoding uint64 for 'cid': strconv.ParseUint: parsing "-1": invalid syntax`,
		"/connz?state=x":              `Error decoding state for x`,
		"/connz?sort=x":               `invalid sorting option: x`,
		"/connz?sort=stop":            `sort by stop only valid on closed connections`,
		"/connz?sort=reason":          `sort by reason only valid on closed connections`,
		"/connz?sort=stop&state=any":  `sort by stop only valid on closed connections`,
		"/subsz?subs=detail":          `Error decoding boolean for 'subs': strconv.ParseBool: parsing "detail": invalid syntax`,
		"/subscriptionsz?limit=x":     `Error decoding int for 'limit': strconv.Atoi: parsing "x": invalid syntax`,
		"/subsz?test=a.*":             `invalid test subject, must be valid publish subject: a.*`,
		"/subsz?subs=1&test=a..b":     `invalid test subject, must be valid publish subject: a..b`,
		"/routez?subs=x":              `Error decoding boolean for 'subs': strconv.ParseBool: parsing "x": invalid syntax`,
		"/gatewayz?accs=x":            `Error decoding boolean for 'accs': strconv.ParseBool: parsing "x": invalid syntax`,
		"/leafz?subs=x":               `Error decoding boolean for 'subs': strconv.ParseBool: parsing "x": invalid syntax`,
		"/accstatz?unused=x":          `Error decoding boolean for 'unused': strconv.ParseBool: parsing "x": invalid syntax`,
		"/accountz?acc=x":             `Account x does not exist`,
		"/jsz?raft=x":                 `Error decoding boolean for 'raft': strconv.ParseBool: parsing "x": invalid syntax`,
		"/healthz?js-enabled-only=x":  `Error decoding boolean for 'js-enabled-only': strconv.ParseBool: parsing "x": invalid syntax`,
		"/healthz?details=x":          `Error decoding boolean for 'details': strconv.ParseBool: parsing "x": invalid syntax`,
		"/ipqueuesz?all=x":            `Error decoding boolean for 'all': strconv.ParseBool: parsing "x": invalid syntax`,
		"/connz?auth=x&limit=x&sort=": `Error decoding boolean for 'auth': strconv.ParseBool: parsing "x": invalid syntax`,
	} {
		res := s.ask("GET", path)
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusBadRequest || string(body) != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	s := newSite(t, bus.Config{}, monitor.Options{BasePath: "/bus"})
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/bus/", 200},
		{"GET", "/", 404},
		{"GET", "/varz", 404},
		{"GET", "/bus/nothing", 404},
		{"GET", "/bus/varz/", 404},
		{"GET", "/bus/varz", 200},
		{"HEAD", "/bus/varz", 200},
		{"POST", "/bus/varz", 200},
		{"GET", "/bus/connz", 200},
		{"GET", "/bus/subsz", 200},
		{"GET", "/bus/subscriptionsz", 200},
		{"GET", "/bus/routez", 200},
		{"GET", "/bus/gatewayz", 200},
		{"GET", "/bus/leafz", 200},
		{"GET", "/bus/accountz", 200},
		{"GET", "/bus/accstatz", 200},
		{"GET", "/bus/jsz", 200},
		{"GET", "/bus/healthz", 200},
		{"GET", "/bus/ipqueuesz", 200},
		{"GET", "/bus/debug/vars", 200},
		{"GET", "/bus/raftz", 404},
		{"GET", "/bus/stacksz", 404},
	} {
		res := s.ask(c.method, c.path)
		if res.StatusCode != c.code {
			t.Errorf("%s %s: %d", c.method, c.path, res.StatusCode)
		}
		json := c.code == 200 && c.path != "/bus/" && c.path != "/bus/debug/vars"
		if json && (res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Access-Control-Allow-Origin") != "*") {
			t.Errorf("%s: headers %v", c.path, res.Header)
		}
	}
	if got := s.json("/bus/varz")["http_req_stats"].(map[string]any); got["/varz"] != 4.0 || got["/subsz"] != 2.0 || got["/"] != 1.0 {
		t.Errorf("requests: %v", got)
	}
	if text := s.text("/bus/debug/vars"); strings.Contains(text, "-test.") {
		t.Errorf("arguments are shown: %s", text)
	}
	profiled := newSite(t, bus.Config{}, monitor.Options{Profile: true})
	if text := profiled.text("/stacksz"); !strings.Contains(text, "goroutine ") {
		t.Errorf("stacks: %s", text)
	}
}

// The messages that a client has flushed are in the next answer.
func TestCountersFollowTheFlush(t *testing.T) {
	s := newSite(t, bus.Config{}, monitor.Options{})
	p := s.dial(connect("counting") + "SUB a.> 1\r\n")
	for i := range 5 {
		p.sync("PUB a.b 5\r\nhello\r\nPUB nowhere 1\r\nx\r\n")
		n := float64(i + 1)
		v := s.json("/varz")
		if v["in_msgs"] != 2*n || v["in_bytes"] != 6*n || v["out_msgs"] != n || v["out_bytes"] != 5*n || v["subscriptions"] != 1.0 {
			t.Fatalf("after %v: %v", n, v)
		}
		c := s.json("/connz")["connections"].([]any)[0].(map[string]any)
		if c["in_msgs"] != 2*n || c["in_bytes"] != 6*n || c["out_msgs"] != n || c["out_bytes"] != 5*n || c["name"] != "counting" {
			t.Fatalf("after %v: %v", n, c)
		}
	}
}
