package inspector

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a service, and a client whose connections to it are listened in on.
type stage struct {
	t       *testing.T
	i       *Inspector
	service *httptest.Server
	client  *http.Client
}

func newStage(t *testing.T, h http.HandlerFunc) *stage {
	t.Helper()
	s := &stage{t: t, i: New(), service: httptest.NewServer(h)}
	dial := s.i.Dial("web", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.service.Listener.Addr().String())
	})
	s.client = &http.Client{Transport: &http.Transport{
		DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}}
	t.Cleanup(func() { s.quiet(); s.service.Close() })
	return s
}

// quiet ends the connections, and waits until all that has passed has been read.
func (s *stage) quiet() {
	s.client.CloseIdleConnections()
	s.i.Wait()
}

// send makes a request, and reads its answer.
func (s *stage) send(method, path string, body io.Reader, fields ...string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://app.example"+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// ask is a request to the page.
func (s *stage) ask(method, path string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, nil)
	r.Host = "127.0.0.1:4040"
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Host" {
			r.Host = fields[i+1]
		}
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	s.i.Handler().ServeHTTP(w, r)
	return w
}

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Set-Cookie", "id=a-secret")
	if r.URL.Path == "/long" {
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 100_000)) // in chunks
		return
	}
	_, _ = io.Copy(w, r.Body)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Exchanges of every framing are kept as they were, over one connection after the other, and the
// visitor receives the same answers as without the inspector.
func TestExchangesAreKept(t *testing.T) {
	s := newStage(t, echo)
	if got := s.send("POST", "/a?b=c", strings.NewReader("hello"), "Authorization", "Bearer a-secret", "X-Api-Key", "a-secret", "X-Other", "shown"); got != "hello" {
		t.Fatalf("got %q", got)
	}
	if got := s.send("POST", "/chunks", io.MultiReader(strings.NewReader("in "), strings.NewReader("chunks"))); got != "in chunks" {
		t.Fatalf("got %q", got)
	}
	s.send("HEAD", "/long", nil)
	if got := s.send("GET", "/long", nil); len(got) != 100_000 {
		t.Fatalf("got %d bytes", len(got))
	}
	s.quiet()
	all := s.i.list()
	if len(all.Exchanges) != 4 || all.Dropped != 0 {
		t.Fatalf("%+v", all)
	}
	for n, want := range []summary{
		{Method: "GET", Target: "/long", Received: 100_000},
		{Method: "HEAD", Target: "/long"},
		{Method: "POST", Target: "/chunks", Sent: 9, Received: 9},
		{Method: "POST", Target: "/a?b=c", Sent: 5, Received: 5},
	} {
		x := all.Exchanges[n]
		if x.Method != want.Method || x.Target != want.Target || x.Sent != want.Sent || x.Received != want.Received ||
			x.Status != 200 || x.Fault != "" || x.Host != "app.example" || x.Tunnel != "web" {
			t.Errorf("%d: %+v", n, x)
		}
	}
	long, _ := s.i.detail(all.Exchanges[0].ID)
	if !long.Answer.Cut || long.Answer.Text != "" || len(long.Answer.Base64) < maxBody {
		t.Errorf("a long answer: %d bytes, cut %v", len(long.Answer.Base64), long.Answer.Cut)
	}
	text := s.ask("GET", "/v1/exchanges/1").Body.String()
	if strings.Contains(text, "a-secret") || !strings.Contains(text, "15 bytes, masked") || !strings.Contains(text, "shown") || !strings.Contains(text, "hello") {
		t.Error(text)
	}
}

// Exchanges beyond the bounds are dropped and counted, and the accounted size equals the size of
// the kept ones.
func TestBounds(t *testing.T) {
	i := New()
	for range maxExchanges + 5 {
		x := &exchange{request: message{head: make([]byte, 1000)}}
		i.begin(x)
		x.answer.keep(make([]byte, 2*maxBody))
		i.end(x, "")
	}
	if all := i.list(); len(all.Exchanges) != maxExchanges || all.Dropped != 5 || all.Bytes != maxExchanges*(overhead+1000+maxBody) {
		t.Errorf("%d, %d fell out, %d bytes", len(all.Exchanges), all.Dropped, all.Bytes)
	}
	var first *exchange
	for range maxBytes/underWay + 10 {
		x := &exchange{}
		if i.begin(x); first == nil {
			first = x
		}
		if i.bytes > maxBytes {
			t.Fatalf("%d bytes", i.bytes)
		}
	}
	i.note(first, func() { t.Error("one that fell out takes more in") })
}

// A service that speaks another protocol, or sends less than it announced, is noted, and delays no
// connection.
func TestNoHTTP(t *testing.T) {
	i := New()
	for _, answer := range []string{"SSH-2.0-x\r\n" + strings.Repeat("y", 20_000), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", ""} {
		near, far := net.Pipe()
		conn := i.listenIn(near, "web", 0)
		go func() {
			_, _ = io.ReadFull(far, make([]byte, len("GET / HTTP/1.1\r\nHost: a\r\n\r\n")))
			_, _ = io.WriteString(far, answer)
			_ = far.Close()
		}()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != answer {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_ = conn.Close()
		i.Wait()
		if x := i.list().Exchanges[0]; x.Fault == "" {
			t.Errorf("%.20q: %+v", answer, x)
		}
	}
}

// A request that its connection's end has cut off is not taken for a whole one, which
// could be sent again.
func TestCutRequest(t *testing.T) {
	i := New()
	near, far := net.Pipe()
	conn := i.listenIn(near, "web", 0)
	go func() { _, _ = io.Copy(io.Discard, far) }() // ends with far
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nshort"); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = far.Close()
	i.Wait()
	if x, ok := i.detail(1); !ok || x.Replayable || x.Fault == "" || x.Sent != 5 {
		t.Errorf("%+v", x)
	}
}

// answering is a connection on which an answer comes, piece by piece, and then err.
type answering struct {
	net.Conn
	pieces []string
	err    error
}

func (a *answering) Read(p []byte) (int, error) {
	if len(a.pieces) == 0 {
		return 0, a.err
	}
	n := copy(p, a.pieces[0])
	a.pieces = a.pieces[1:]
	return n, nil
}

func (a *answering) Write(p []byte) (int, error) { return len(p), nil }

// An answer without a length is whole at the connection's proper end alone. A read that was
// interrupted is no end.
func TestCutAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		reads       int
		err         error
		text, fault string
	}{
		"whole":        {3, io.EOF, "hello", ""},
		"reset":        {3, syscall.ECONNRESET, "hello", "the answer was cut"},
		"closed by us": {2, nil, "hello", "the answer was cut"},
		"interrupted":  {3, os.ErrDeadlineExceeded, "hello, you", ""},
	} {
		near, far := net.Pipe()
		i := New()
		inner := &answering{near, []string{"HTTP/1.1 200 OK\r\n\r\n", "hello"}, tc.err}
		conn := i.listenIn(inner, "web", 0)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		for range tc.reads {
			_, _ = conn.Read(make([]byte, 100))
		}
		if inner.err == os.ErrDeadlineExceeded {
			inner.pieces, inner.err = []string{", you"}, io.EOF
			_, _ = io.Copy(io.Discard, conn)
		}
		_, _ = conn.Close(), far.Close()
		i.Wait()
		if x, _ := i.detail(1); x.Fault != tc.fault || x.Answer.Text != tc.text {
			t.Errorf("%s: %q, %+v", name, x.Fault, x.Answer)
		}
	}
}

// Secrets are masked whatever their case, and where a value goes on in the next line.
func TestMask(t *testing.T) {
	shown := fieldsOf([]byte("HTTP/1.1 200 OK\r\nX-API-KEY: s3cret\r\nApikey: s3cret\r\nset-cookie: a=\r\n id: s3cret\r\nX-Session-Token:s3cret\r\nAccept: all\r\n\r\n"))
	if len(shown) != 5 || shown[4] != (field{"Accept", "all"}) {
		t.Errorf("%q", shown)
	}
	for _, f := range shown {
		if strings.Contains(f.Value, "s3cret") {
			t.Errorf("%q", f)
		}
	}
}

// Bytes behind an upgrade are not looked at.
func TestUpgrade(t *testing.T) {
	i := New()
	near, far := net.Pipe()
	conn := i.listenIn(near, "web", 0)
	request := "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
	answer := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + strings.Repeat("z", 10_000)
	go func() {
		_, _ = io.ReadFull(far, make([]byte, len(request)))
		_, _ = io.WriteString(far, answer)
		_, _ = io.Copy(io.Discard, far)
	}()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.Repeat("z", 10_000)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = far.Close()
	i.Wait()
	if all := i.list().Exchanges; len(all) != 1 || all[0].Status != 101 || all[0].Fault != "" {
		t.Errorf("%+v", all)
	}
	again, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
	again.SetPathValue("id", "1")
	if i.serveReplay(w, again); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "upgraded") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A request is sent again as it was, secrets included, and only by authorized callers.
func TestReplay(t *testing.T) {
	var seen []string
	st := newStage(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.Host+r.RequestURI+" "+r.Header.Get("Authorization")+" "+string(body))
		w.WriteHeader(http.StatusAccepted)
	})
	st.send("PUT", "/x?y", io.MultiReader(strings.NewReader("in "), strings.NewReader("chunks")), "Authorization", "Bearer s")
	st.send("PUT", "/long", io.LimitReader(zeros{}, maxBody+1))
	st.quiet()
	if w := st.ask("POST", "/v1/exchanges/1/replay", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d", w.Code)
	}
	if w := st.ask("POST", "/v1/exchanges/1/replay", "Host", "evil.example"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("for another name: %d", w.Code)
	}
	if w := st.ask("POST", "/v1/exchanges/2/replay"); w.Code != http.StatusConflict {
		t.Errorf("a body that is not kept whole: %d", w.Code)
	}
	if w := st.ask("POST", "/v1/exchanges/99/replay"); w.Code != http.StatusNotFound {
		t.Errorf("one that is not there: %d", w.Code)
	}
	if w := st.ask("POST", "/v1/exchanges/1/replay"); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	st.quiet()
	st.service.Close()
	if want := "PUT app.example/x?y Bearer s in chunks"; len(seen) != 3 || seen[0] != want || seen[2] != want {
		t.Errorf("%.200q", seen)
	}
	if x := st.i.list().Exchanges[0]; x.ReplayOf != 1 || x.Status != http.StatusAccepted {
		t.Errorf("%+v", x)
	}
}

// The page is there, in JSON too.
func TestPage(t *testing.T) {
	s := newStage(t, echo)
	s.send("GET", "/<img src=x>", nil)
	s.quiet()
	for path, part := range map[string]string{"/": "<title>Paddock", "/page.js": "textContent", "/page.css": "color-scheme"} {
		if w := s.ask("GET", path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), part) || w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	var all list
	if err := json.Unmarshal(s.ask("GET", "/v1/exchanges").Body.Bytes(), &all); err != nil || len(all.Exchanges) != 1 || all.Max != maxExchanges {
		t.Errorf("%+v, %v", all, err)
	}
}

// An exchange for which the service took no connection is kept with the reason. One whose
// request is whole can be sent again once the service is there.
func TestFailedExchanges(t *testing.T) {
	s := newStage(t, echo)
	for _, request := range []string{
		"POST /a?b=c HTTP/1.1\r\nHost: app.example\r\nAuthorization: Bearer a-secret\r\nContent-Length: 5\r\n\r\nhello",
		"POST /stream HTTP/1.1\r\nHost: app.example\r\nTransfer-Encoding: chunked\r\n\r\n",
		"no HTTP at all",
	} {
		s.i.Failed("web", []byte(request), "connection refused")
	}
	var l list
	if err := json.Unmarshal(s.ask("GET", "/v1/exchanges").Body.Bytes(), &l); err != nil || len(l.Exchanges) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	for i, want := range []summary{{Method: "POST", Target: "/stream"}, {Method: "POST", Target: "/a?b=c", Sent: 5}} {
		x := l.Exchanges[i]
		if x.Tunnel != "web" || x.Method != want.Method || x.Host != "app.example" || x.Target != want.Target || x.Sent != want.Sent || x.Fault != "connection refused" || x.Status != 0 {
			t.Errorf("%+v", x)
		}
	}
	whole := s.ask("GET", "/v1/exchanges/1").Body.String()
	if !strings.Contains(whole, `"text":"hello"`) || strings.Contains(whole, "a-secret") || !strings.Contains(whole, `"replayable":true`) {
		t.Errorf("%s", whole)
	}
	if text := s.ask("GET", "/v1/exchanges/2").Body.String(); !strings.Contains(text, `"replayable":false`) {
		t.Errorf("%s", text)
	}
	if w := s.ask("POST", "/v1/exchanges/1/replay"); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.quiet()
	if text := s.ask("GET", "/v1/exchanges/3").Body.String(); !strings.Contains(text, `"replay_of":1`) || !strings.Contains(text, `"status":200`) {
		t.Errorf("%s", text)
	}
}
