package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/agent/spool"
	"paddock/wire"
)

// Positions reach the platform in order, however often the link is cut.
func TestDelivery(t *testing.T) {
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), ""))
	const n, each = 1000, 50
	for i := 0; i < n; i += each {
		a.post(i, i+each)
		if i%(4*each) == 0 {
			p.cut()
		}
	}
	p.await(n)
	a.stop()
	sequence(t, p.await(n), n)
	if st := a.spool.Stats(); st.Records != 0 {
		t.Errorf("%d positions are left", st.Records)
	}
}

// Positions accepted while the platform was down are delivered when it is back, also by another
// process.
func TestPlatformIsAway(t *testing.T) {
	p := newPlatform(t)
	dir := t.TempDir()
	s := p.settings(dir, "")
	p.kill()
	a := start(t, s)
	a.post(0, 300)
	a.stop()
	a = start(t, s)
	a.post(300, 500)
	p.start()
	p.await(500)
	a.post(500, 600)
	p.await(600)
	a.stop()
	sequence(t, p.await(600), 600)
}

// A server that speaks wire but has no kind for positions does not acknowledge them, so they wait
// for the platform.
func TestWrongDoor(t *testing.T) {
	p := newPlatform(t)
	s := p.settings(t.TempDir(), "")
	p.kill()
	l, err := net.Listen("tcp", p.addr)
	must(t, err)
	calls := make(chan struct{}, 2)
	wrong := &wire.Server{Config: &wire.Config{Mux: wire.NewMux(), Logger: slog.New(slog.DiscardHandler), Verify: func(*wire.Conn, *wire.Hello) error {
		select {
		case calls <- struct{}{}:
		default:
		}
		return nil
	}}}
	var serving sync.WaitGroup
	serving.Go(func() { _ = wrong.Serve(l) })
	a := start(t, s)
	a.post(0, 100)
	for range cap(calls) { // the first connection has ended, so the agent dials again
		<-calls
	}
	must(t, wrong.Close())
	serving.Wait()
	p.start()
	sequence(t, p.await(100), 100)
	a.stop()
}

// An attempt that the platform refuses does not count as a connection.
func TestRefusedAttemptsAreNotConnections(t *testing.T) {
	p := newPlatform(t)
	s := p.settings(t.TempDir(), "")
	p.kill()
	l, err := net.Listen("tcp", p.addr)
	must(t, err)
	calls := make(chan struct{}, 3)
	var serving sync.WaitGroup
	closed := &wire.Server{Config: &wire.Config{Logger: slog.New(slog.DiscardHandler), Verify: func(*wire.Conn, *wire.Hello) error {
		select {
		case calls <- struct{}{}:
		default:
		}
		return &wire.Error{Code: wire.Unauthenticated, Msg: "who are you?"}
	}}}
	serving.Go(func() { _ = closed.Serve(l) })
	a := start(t, s)
	for range cap(calls) {
		<-calls
	}
	if s := a.Status().Link; s.Connects != 0 || s.Up || s.Connected != nil {
		t.Errorf("while nobody is let in: %+v", s)
	}
	must(t, closed.Close())
	serving.Wait()
	p.start()
	for a.Status().Link.Connects == 0 {
		<-time.After(time.Millisecond)
	}
	if s := a.Status().Link; s.Connects != 1 || !s.Up || s.Connected == nil {
		t.Errorf("once it is: %+v", s)
	}
	a.stop()
}

// The agent is killed after the platform has applied positions, and before the agent has recorded
// that. The next process finds them in its buffer, and they are not applied again.
func TestKilledBeforeTheAcknowledgement(t *testing.T) {
	p := newPlatform(t)
	p.stall = make(chan struct{})
	first := t.TempDir()
	a := start(t, p.settings(first, ""))
	a.post(0, 100)
	p.await(1)
	second := t.TempDir() // the disk at this moment
	must(t, os.CopyFS(second, os.DirFS(first)))
	close(p.stall)
	p.mu.Lock()
	p.stall = nil
	p.mu.Unlock()
	a.stop()

	a = start(t, p.settings(second, ""))
	if a.config.Config.Session.Base != 0 {
		t.Fatal("the acknowledgement was noted before it came")
	}
	a.post(100, 200)
	p.await(200)
	a.stop()
	sequence(t, p.await(200), 200)
}

// The platform is killed after it has applied positions, and before it has acknowledged them. Its
// memory is lost. The next process receives all unacknowledged positions, in order.
func TestPlatformIsKilled(t *testing.T) {
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), ""))
	a.post(0, 100)
	p.await(100)
	must(t, a.link().WaitAcked(t.Context(), 100))
	p.mu.Lock()
	p.stall = make(chan struct{})
	p.mu.Unlock()
	a.post(100, 200)
	p.await(101)
	p.kill()
	p.mu.Lock()
	p.stall, p.got = nil, p.got[:100]
	p.mu.Unlock()
	p.start()
	a.post(200, 300)
	p.await(300)
	a.stop()
	sequence(t, p.await(300), 300)
}

// delivered returns a platform that has the 50 records of an agent's buffer.
func delivered(t *testing.T) (p *platform, a *running, dir string) {
	t.Helper()
	p, dir = newPlatform(t), t.TempDir()
	a = start(t, p.settings(dir, ""))
	a.post(0, 50)
	p.await(50)
	must(t, a.link().WaitAcked(t.Context(), 50))
	return p, a, dir
}

// Two agents with copies of one buffer share a session, so the platform mistakes positions of each
// for the other's. Both agents notice, and no position is lost.
func TestACopiedBufferLosesNothing(t *testing.T) {
	p, a, first := delivered(t)
	second := t.TempDir()
	must(t, os.CopyFS(second, os.DirFS(first)))
	must(t, os.Remove(filepath.Join(second, "lock")))
	a.post(50, 150)
	p.await(150)
	b := start(t, p.settings(second, ""))
	const later = 10_000 // of b's positions
	for i := range 10 {
		a.post(150+20*i, 150+20*i+20)
		b.post(later+30*i, later+30*i+30)
	}
	seen := map[string]bool{}
	for n := 650; len(seen) < 650; {
		got := p.await(n)
		n = len(got) + 1
		for _, at := range got {
			seen[at] = true
		}
	}
	for _, r := range []struct{ from, to int }{{0, 350}, {later, later + 300}} {
		for at := r.from; at < r.to; at++ {
			if !seen[fmt.Sprintf("v@%d", firstTime+at)] {
				t.Fatalf("position %d never came", at)
			}
		}
	}
	if n := a.renewed.Load() + b.renewed.Load(); n == 0 {
		t.Error("neither agent has noticed")
	}
	a.stop()
	b.stop()
}

// An agent that ends between the renewal of its id and the end of what it sends again goes on with
// that after its next start.
func TestResendSurvivesARestart(t *testing.T) {
	p, a, dir := delivered(t)
	a.stop()
	buffer, err := spool.Open(spool.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, buffer.Renew())
	must(t, buffer.Close())
	a = start(t, p.settings(dir, ""))
	got := p.await(100)
	a.stop()
	sequence(t, got[50:], 50)
}

// An acknowledgement of the session before counts no more once the buffer gets another id.
func TestNoteAfterTheEnd(t *testing.T) {
	buffer, err := spool.Open(spool.Options{Dir: t.TempDir()})
	must(t, err)
	defer buffer.Close()
	_, err = buffer.Append([]byte("a"), []byte("b"))
	must(t, err)
	d := &delivery{spool: buffer}
	must(t, d.note(1))
	d.end()
	must(t, d.note(2))
	if n := buffer.Acked(); n != 1 {
		t.Errorf("%d acknowledged", n)
	}
}

// Dropped positions are posted as skips, and the later ones keep their order.
func TestOldestAreDropped(t *testing.T) {
	p := newPlatform(t)
	s := p.settings(t.TempDir(), "")
	s.Buffer.MaxBytes = spool.MinBytes
	p.kill()
	a := start(t, s)
	const n, each = 200, 40
	for i := 0; i < n; i += each {
		a.postWith(i, i+each, `,"props":{"x":"`+strings.Repeat("x", 8000)+`"}`)
	}
	dropped := int(a.spool.Stats().Dropped)
	if dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	p.start()
	got := p.await(n - dropped)
	a.stop()
	if p.skipped != dropped || len(got) != n-dropped || !strings.HasSuffix(got[len(got)-1], fmt.Sprint(firstTime+n-1)) {
		t.Errorf("%d dropped, %d skipped, %d came, the last one %s", dropped, p.skipped, len(got), got[len(got)-1])
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Fatalf("%s came behind %s", got[i], got[i-1])
		}
	}
}

// With full: refuse, positions beyond the bound are refused, and the sender gets an error.
func TestNewestAreRefused(t *testing.T) {
	p := newPlatform(t)
	s := p.settings(t.TempDir(), "")
	s.Buffer.MaxBytes, s.Buffer.Refuse = spool.MinBytes, true
	p.kill()
	a := start(t, s)
	body := strings.Repeat(`{"id":"v","lon":1,"lat":2,"t":1700000000000,"props":{"x":"`+strings.Repeat("x", 10_000)+`"}}`+"\n", 20)
	for range 4 {
		_, _ = a.do("POST", "/v1/positions", body)
	}
	a.post(0, 1)
	status, answer := a.do("POST", "/v1/positions", strings.Repeat(body, 4))
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "the buffer is full") {
		t.Errorf("%d %s", status, answer)
	}
}

// Streams of events and slow bodies have bounds, beyond which they are refused. Quick requests
// always have room.
func TestSlowRequestsLeaveRoom(t *testing.T) {
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), ""))
	var conns []net.Conn
	ask := func(text string) *bufio.Reader {
		conn, err := net.Dial("tcp", a.HTTP().String())
		must(t, err)
		conns = append(conns, conn)
		_, err = io.WriteString(conn, text)
		must(t, err)
		return bufio.NewReader(conn)
	}
	for range maxStreams {
		if line, err := ask("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if status, answer := a.do("GET", "/v1/events", ""); status != http.StatusServiceUnavailable {
		t.Errorf("one stream more: %d %s", status, answer)
	}
	var refused atomic.Int64
	var reading sync.WaitGroup
	for range maxSlowBodies + 5 {
		from := ask("POST /v1/positions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
		reading.Go(func() {
			if line, err := from.ReadString('\n'); err == nil && strings.Contains(line, "503") {
				refused.Add(1)
			}
		})
	}
	for a.slow.refused.Load() < 5 {
		<-time.After(time.Millisecond)
	}
	if status, answer := a.do("GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, answer)
	}
	a.post(0, 10)
	sequence(t, p.await(10), 10)
	for _, conn := range conns {
		conn.Close()
	}
	a.stop()
	reading.Wait()
	if n := refused.Load(); n < 5 {
		t.Errorf("%d slow bodies were told that they are too many", n)
	}
}

// A slow body ends neither its own request nor later ones of its connection.
func TestAfterASlowBody(t *testing.T) {
	p := newPlatform(t)
	p.kill()
	p.mux = func(m *wire.Mux) {
		m.HandleRequest(kindSearch, func(_ context.Context, r *wire.Request) error { return r.Respond(r.Body) })
	}
	p.start()
	a := start(t, p.settings(t.TempDir(), ""))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, a.link().Ready(ctx))
	conn, err := net.Dial("tcp", a.HTTP().String())
	must(t, err)
	defer conn.Close()
	from := bufio.NewReader(conn)
	send := func(text string) {
		_, err := io.WriteString(conn, text)
		must(t, err)
	}
	expect := func(what string) *http.Response {
		t.Helper()
		answer, err := http.ReadResponse(from, nil)
		must(t, err)
		if answer.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("%s: %d %s", what, answer.StatusCode, text)
		}
		return answer
	}
	for _, length := range []string{"Content-Length: 5\r\n\r\n[1", "Transfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n"} {
		send("POST /v1/search HTTP/1.1\r\nHost: localhost\r\n" + length)
		for len(a.slow.taken) == 0 {
			<-time.After(time.Millisecond)
		}
		if strings.HasPrefix(length, "T") {
			send("3\r\n,2]\r\n0\r\n\r\n")
		} else {
			send(",2]")
		}
		_, _ = io.Copy(io.Discard, expect("a slow look-up").Body)
		send("GET /v1/search?lon=1&lat=2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _ = io.Copy(io.Discard, expect("the next look-up").Body)
		if n := len(a.slow.taken); n != 0 {
			t.Errorf("%d slots are taken", n)
		}
	}
}

func TestHTTPDoor(t *testing.T) {
	p := newPlatform(t)
	a := start(t, p.settings(t.TempDir(), "fleet: north\nobject: v7\n"))
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"POST", "/v1/positions", `{"lon":1,"lat":2}`, 202, `{"accepted":1,"rejected":[]}`},
		{"POST", "/v1/positions?fleet=south", `[{"id":"a","lon":1,"lat":2},{"id":"a","lon":1,"lat":95}]`, 202, `"index":1`},
		{"POST", "/v1/positions", `{"lon":1,"latitude":2}`, 400, `"hints":["latitude: did you mean lat?"]`},
		{"POST", "/v1/positions", `{"lon":1`, 400, `malformed JSON`},
		{"POST", "/v1/positions?flet=1", `{}`, 400, `fleet, id_property and time_property`},
		{"POST", "/v1/positions", `{"lon":1,"lat":2,"props":{"x":"` + strings.Repeat("x", 16_370) + `"}}`, 400, `the limit is 16384`},
		{"POST", "/v1/positions", strings.Repeat(" ", maxBody+1), 413, `in parts`},
		{"GET", "/v1/positions", "", 405, ""},
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/metrics", "", 200, "paddock_agent_accepted_total 2"},
	} {
		if status, answer := a.do(c.method, c.path, c.body); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", c.method, c.path, c.body, status, answer, c.status, c.answer)
		}
	}
	p.await(2)
	_, text := a.do("GET", "/status", "")
	var s Status
	must(t, json.Unmarshal([]byte(text), &s))
	if !s.Link.Up || s.Sources["http"] != (SourceStatus{Accepted: 2, Rejected: 4}) || s.Buffer.Accepted != 2 {
		t.Errorf("%s", text)
	}
}

func TestSettingsTellTheirPlace(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for text, want := range map[string]string{
		"connect: {server: \"a:1\"}\nbuffer:\n  dri: x\n":                                                                                "agent.yaml:3:3: unknown key dri; did you mean dir?",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x, max_bytes: 5}\n":                                                                   "agent.yaml:2:29: max_bytes: 5 is too small",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x, full: maybe}\n":                                                                    "neither drop_oldest nor refuse",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x}\nhttp: {listen: \"0.0.0.0:80\"}\n":                                                 "agent.yaml:3:",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x}\nbackoff: {max_time: 1m}\n":                                                        "does not give up",
		"connect: {server: \"a:1\", budget: 8MiB}\nbuffer: {dir: x}\n":                                                                   "connect.budget is of",
		"connect: {server: \"a:1\", connections: 2}\nbuffer: {dir: x}\n":                                                                 "connect.connections is of",
		"connect: {server: \"a:1\", inspect: \"127.0.0.1:1\"}\nbuffer: {dir: x}\n":                                                       "connect.inspect is of",
		"connect: {server: \"a:1\", admin: \"127.0.0.1:1\"}\nbuffer: {dir: x}\n":                                                         "connect.admin and",
		"connect: {server: \"a:1\", admin_token: t}\nbuffer: {dir: x}\n":                                                                 "connect.admin and",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x}\ngpsd: \"a:1\"\n":                                                                  "gpsd needs object",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x}\nevents: {event: go}\n":                                                            "agent.yaml:3:",
		"connect: {server: \"a:1\"}\nbuffer: {dir: x}\nbus: {listen: \"1.2.3.4:5\"}\n":                                                   "agent.yaml:3:",
		"connect: {server: \"127.0.0.1:1\", plaintext: true}\nbuffer: {dir: x}\ntunnels: {a: {proto: http, addr: 1, host: a.example}}\n": "want connect.token_file",
		"buffer: {dir: x}\n":           "connect is missing",
		"connect: {server: \"a:1\"}\n": "buffer.dir is missing",
		"":                             "agent.yaml is empty",
		"conect: {server: \"a:1\"}\n":  "did you mean connect?",
		"connect: {server: \"a:1\"}\nfleet: \"\"\n": "fleet: ",
	} {
		_, err := Read("agent.yaml", []byte(text), none)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Starting an agent twice is an error.
func TestOneAgentABuffer(t *testing.T) {
	p := newPlatform(t)
	dir := t.TempDir()
	start(t, p.settings(dir, ""))
	if _, err := New(Options{Settings: p.settings(dir, ""), Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
}
