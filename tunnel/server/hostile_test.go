package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
)

// visitorCase is a line of testdata/visitors.txt.
type visitorCase struct {
	name   string
	status int    // 0: it is taken
	seen   string // as the service receives it
	text   string
}

var repeated = regexp.MustCompile(`<(\d+) (.)>`)

func visitorCases(t testing.TB) (cases []visitorCase) {
	file, err := os.ReadFile("testdata/visitors.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		line = repeated.ReplaceAllStringFunc(line, func(s string) string {
			m := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[1])
			return strings.Repeat(m[2], n)
		})
		parts := strings.SplitN(line, " | ", 3)
		c := visitorCase{name: parts[0], seen: parts[1]}
		if c.status, err = strconv.Atoi(parts[1]); err != nil {
			c.status = 0
		}
		if c.text, err = strconv.Unquote(parts[2]); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// recorder is a service that returns each request as its answer, and records it.
type recorder struct {
	mu   sync.Mutex
	seen []string // whole requests only
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := fmt.Sprintf("%s %s %q", r.Method, r.RequestURI, b)
	s.mu.Lock()
	s.seen = append(s.seen, text)
	s.mu.Unlock()
	_, _ = io.WriteString(w, text)
}

// take returns the requests since the last call.
func (s *recorder) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// Every input of a visitor is refused, or reaches the service as exactly one request. Bytes behind
// it are the visitor's next request or are dropped, and other visitors get their own answers.
func TestHostileVisitors(t *testing.T) {
	cases := visitorCases(t)
	if len(cases) < 200 {
		t.Fatalf("%d cases", len(cases))
	}
	service := &recorder{}
	backend := httptest.NewUnstartedServer(service)
	backend.Config.DisableGeneralOptionsHandler = true
	backend.Start()
	t.Cleanup(backend.Close)
	p := newPair(t, &Server{})
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: backend.Listener.Addr().String()}}})
	at := p.Front.Addr().String()
	other := visitorAt(t, at)
	for i, c := range cases {
		v := visitorAt(t, at)
		v.send(c.text)
		if c.status == 0 {
			v.answered(c.name, 200, c.seen)
			v.send("GET /probe HTTP/1.1\r\nHost: example.com\r\n\r\n")
			v.answered(c.name+", and then", 200, `GET /probe ""`)
		} else {
			v.send("GET /smuggled HTTP/1.1\r\nHost: example.com\r\n\r\n")
			v.answered(c.name, c.status, "")
			if rest, err := io.ReadAll(v.in); len(rest) > 0 || err != nil && !os.IsTimeout(err) && len(rest) > 0 {
				t.Errorf("%s: behind the answer comes %q, %v", c.name, rest, err)
			}
		}
		_ = v.Close()
		own := fmt.Sprintf("/other-%d", i)
		other.send("GET " + own + " HTTP/1.1\r\nHost: example.com\r\n\r\n")
		other.answered(c.name+", beside", 200, fmt.Sprintf("GET %s %q", own, ""))
		want := []string{fmt.Sprintf("GET %s %q", own, "")}
		if c.status == 0 {
			want = append([]string{c.seen, `GET /probe ""`}, want...)
		}
		if seen := service.take(); strings.Join(seen, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: the service sees %q, want %q", c.name, seen, want)
		}
	}
}

// rawVisitor sends bytes and reads answers.
type rawVisitor struct {
	io.WriteCloser
	t  *testing.T
	in *bufio.Reader
}

func visitorAt(t *testing.T, address string) *rawVisitor {
	conn := dialTCP(t, address)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &rawVisitor{conn, t, bufio.NewReader(conn)}
}

func (v *rawVisitor) send(text string) { _, _ = io.WriteString(v, text) } // fails if the visitor was refused before

// answered reads the next answer.
func (v *rawVisitor) answered(name string, status int, body string) {
	v.t.Helper()
	method := http.MethodGet
	for {
		res, err := http.ReadResponse(v.in, &http.Request{Method: method})
		if err != nil {
			v.t.Errorf("%s: no answer: %v", name, err)
			return
		}
		b, err := io.ReadAll(res.Body)
		if res.StatusCode == http.StatusContinue {
			continue
		}
		if res.StatusCode != status || err != nil || body != "" && string(b) != body || status != 200 && !res.Close {
			v.t.Errorf("%s: %d %q, closes %v, %v; want %d %q", name, res.StatusCode, b, res.Close, err, status, body)
		}
		return
	}
}

// FuzzVisitor compares with net/http: a request that is taken net/http takes too, and
// reads as the same, with the same body, and the same bytes behind it.
func FuzzVisitor(f *testing.F) {
	for _, c := range visitorCases(f) {
		f.Add([]byte(c.text))
	}
	front := (&Server{Logger: silent}).testFront()
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newH1Conn(front, &textConn{text: text}, "", true)
		defer c.cancel()
		if !c.next() || c.readHead() != nil {
			return
		}
		h := &c.buffers.req.Head
		c.body.begin(h)
		body, err := io.ReadAll(c)
		c.unwatch()
		left := string(c.buffers.in[c.r:c.w]) + string(c.conn.(*textConn).text)
		in := bufio.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\r\n")))
		r, theirs := http.ReadRequest(in)
		if theirs != nil {
			t.Fatalf("%q: taken, but net/http says %v", text, theirs)
		}
		if h.Method == nil || r.Method != string(h.Method) || r.Host != string(h.Host) && r.URL.Host == "" || (r.ContentLength < 0) != h.Chunked {
			t.Fatalf("%q: %s at %s, net/http: %s at %s, %d bytes", text, h.Method, h.Host, r.Method, r.Host, r.ContentLength)
		}
		if h.Length >= 0 && r.ContentLength != h.Length || r.ProtoAtLeast(1, 1) == h.HTTP10 {
			t.Fatalf("%q: length %d, net/http: %d, %s", text, h.Length, r.ContentLength, r.Proto)
		}
		if err != nil {
			return // the service may accept input that the front refuses
		}
		whole, theirs := io.ReadAll(r.Body)
		if theirs != nil || string(whole) != string(body) {
			t.Fatalf("%q: body %q, net/http: %q, %v", text, body, whole, theirs)
		}
		if rest, _ := io.ReadAll(in); string(rest) != left {
			t.Fatalf("%q: %q is left, net/http: %q", text, left, rest)
		}
	})
}

// testFront returns a front without a listener.
func (s *Server) testFront() *front {
	s.init()
	return s.front(nil)
}
