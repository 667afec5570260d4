package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

func TestBodiesAreBounded(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.MaxBody = 1000 }})
	line := `{"id":"a","lon":1,"lat":2}` + "\n"
	for path, method := range map[string]string{
		"/v1/positions": "POST", "/v1/search": "POST", "/v1/sets/x": "PUT", "/v1/sets/squares/fences/x": "PUT",
	} {
		for name, body := range map[string]io.Reader{
			"announced": strings.NewReader(strings.Repeat(line, 100)),
			"chunked":   io.MultiReader(strings.NewReader(strings.Repeat(line, 100))), // of unknown length
		} {
			r, err := http.NewRequestWithContext(t.Context(), method, tw.url+path, body)
			must(t, err)
			resp, err := tw.client.Do(r)
			must(t, err)
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			must(t, err)
			t.Log(path, name)
			tw.problem(reply{resp.StatusCode, resp.Header, text}, 413, "body: larger than 1000 bytes; send it in parts")
			if !resp.Close {
				t.Error("the connection stays, with the rest of the body in it")
			}
		}
	}
	exact := line + strings.Repeat(" ", 1000-len(line))
	tw.expect(tw.post("/v1/positions", exact), 200, "")
	tw.problem(tw.post("/v1/positions", exact+" "), 413, "body: larger than 1000 bytes; send it in parts")
}

// raw sends bytes and returns the answer, whether or not the connection ends.
func (tw *town) raw(text string) reply {
	tw.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(tw.url, "http://"))
	must(tw.TB, err)
	defer conn.Close()
	must(tw.TB, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write([]byte(text))
	must(tw.TB, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(tw.TB, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(tw.TB, err)
	return reply{resp.StatusCode, resp.Header, body}
}

// A client that announces a body and does not send it is answered and disconnected, whichever
// handler would have read it.
func TestSlowBodies(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.BodyTimeout = 50 * time.Millisecond }})
	for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
		head := " HTTP/1.1\r\nHost: localhost\r\n" + length + "\r\n\r\n"
		for _, target := range []string{"POST /v1/positions", "POST /v1/search", "PUT /v1/sets/x", "PUT /v1/sets/squares/fences/x"} {
			tw.problem(tw.raw(target+head), 408, "body: not complete after 50ms")
			tw.problem(tw.raw(target+head+"5\r\n{\"id\""), 408, "body: not complete after 50ms")
		}
		for target, status := range map[string]int{
			"POST /v1/sets": 405, "POST /v1/none": 404, "DELETE /v1/sets/none": 404, "GET /v1/sets": 200, "GET /v1/events?wait=0": 200, "POST /healthz": 405,
		} {
			if r := tw.raw(target + head); r.status != status {
				t.Errorf("%s, %s: %d", target, length, r.status)
			}
		}
	}
	// The deadline is for the body, not for later requests of the connection.
	tw.expect(tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`), 200, "")
	tw.expect(tw.get("/v1/sets"), 200, "")
}

// Large concurrent requests are refused beyond the bound, small ones are not. After their end there
// is room again.
func TestLargeRequestsShareABound(t *testing.T) {
	const large = 512 << 10
	tw := newTown(t, options{config: func(c *Config) { c.MaxBody = large }})
	type slow struct {
		body  *io.PipeWriter
		reply chan int
	}
	var held []slow
	for range 16 {
		body, w := io.Pipe()
		s := slow{w, make(chan int, 1)}
		held = append(held, s)
		go func() {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, tw.url+"/v1/positions", body)
			resp, err := tw.client.Do(r)
			if err != nil {
				s.reply <- 0
				return
			}
			_ = resp.Body.Close()
			s.reply <- resp.StatusCode
		}()
	}
	piece := bytes.Repeat([]byte(" "), large-1000)
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d bytes held, %d refused", what, tw.api.memory.Used(), tw.api.memory.Refused())
			}
		}
	}
	for i, s := range held {
		_, _ = s.body.Write(piece) // a refused request ends early
		if i == 0 {                // the first request has its memory before the others
			until("the first", func() bool { return tw.api.memory.Used() >= large })
		}
	}
	// There is room for at most bodiesAtOnce; the server refuses the others once it has read too
	// much of them.
	until("the others", func() bool { return tw.api.memory.Refused() >= uint64(len(held)-bodiesAtOnce) })
	tw.expect(tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`), 200, "") // small
	if used := tw.api.memory.Used(); used > bodiesAtOnce*large {
		t.Errorf("%d bytes held", used)
	}
	counts := map[int]int{}
	for _, s := range held {
		_, _ = s.body.Write([]byte(`{"id":"b","lon":1,"lat":2}`))
		_ = s.body.Close()
		counts[<-s.reply]++
	}
	if counts[200] == 0 || counts[200] > bodiesAtOnce || counts[200]+counts[503]+counts[0] != 16 {
		t.Errorf("answers by status: %v", counts)
	}
	tw.expect(tw.post("/v1/positions", string(piece)+`{"id":"b","lon":1,"lat":2}`), 200, "")
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// A client that does not read its answer is disconnected.
func TestClientsThatDoNotRead(t *testing.T) {
	tw := newTown(t, options{
		config: func(c *Config) { c.WriteTimeout = 50 * time.Millisecond; c.Heartbeat = time.Millisecond },
		server: func(s *http.Server) { s.WriteTimeout = 50 * time.Millisecond },
	})
	for range 5000 {
		tw.log.Append([]events.Record{{Kind: track.Enter, JSON: events.Plain(bytes.Repeat([]byte("x"), 1000))}})
	}
	for _, target := range []string{"/v1/events?wait=0", "/v1/events?cursor=run1-0"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(tw.url, "http://"))
		must(t, err)
		must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		for range 8 { // pipelined, to fill the socket buffers
			_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target)
			must(t, err)
		}
		defer conn.Close()
	}
	// stop, at the end, waits for the handlers, so it would hang.
}

func TestProblemWriterLeavesOthersAlone(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) })
	}})
	r := tw.get("/metrics")
	if r.status != http.StatusTeapot || string(r.body) != "no\n" {
		t.Errorf("%d %q", r.status, r.body)
	}
}

// Sets are created up to the bound. Existing ones can still be replaced, and a removal makes room.
func TestSetsAreBounded(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.MaxSets = 3 }})
	put := func(name string) reply {
		return tw.send(request{method: http.MethodPut, path: "/v1/sets/" + name, body: triangle})
	}
	tw.expect(put("third"), 201, "")
	tw.problem(put("fourth"), 507, "there are 3 sets, and at most 3 may be created; remove one first")
	tw.expect(put("third"), 200, "")
	tw.expect(tw.send(request{method: http.MethodDelete, path: "/v1/sets/far"}), 204, "")
	tw.expect(put("fourth"), 201, "")
	if n := tw.api.Stats().RefusedSets; n != 1 {
		t.Errorf("%d refusals counted", n)
	}
}

// A live feed beyond the bound is refused, and the end of another makes room.
func TestLiveFeedsAreBounded(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.MaxLive = 2 }})
	first, second := tw.live(), tw.live()
	if n := tw.api.Stats().Live; n != 2 {
		t.Errorf("%d feeds counted", n)
	}
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket",
		"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
	}
	tw.problem(tw.get("/v1/live", upgrade...), 503, "2 live feeds are open, which is the limit")
	if n := tw.api.Stats().RefusedLive; n != 1 {
		t.Errorf("%d refusals counted", n)
	}
	must(t, first.conn.CloseNow())
	for deadline := time.Now().Add(patience); tw.api.Stats().Live == 2; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("a feed whose client is gone still counts")
		}
	}
	tw.live()
	second.ask(`{}`)
}
