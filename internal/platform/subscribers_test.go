package platform_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/bus/bustest"
)

// delivery is one event as a subscriber received it.
type delivery struct {
	label   string // subject on the bus, kind over SSE, "" in NDJSON
	payload string
}

// subscriber follows a platform's events to the end of its stream.
type subscriber struct {
	got   []delivery
	err   error
	ended chan struct{} // closed after the last write to the fields above
}

// all returns the received events, once the stream has ended.
func (s *subscriber) all(t *testing.T) []delivery {
	t.Helper()
	<-s.ended
	if s.err != nil {
		t.Errorf("a subscriber's stream did not end well: %v", s.err)
	}
	return s.got
}

// stream follows GET /v1/events. It receives every event after stream has returned.
func (r *running) stream(accept string, read func(*bufio.Reader) ([]delivery, error)) *subscriber {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.URL()+"v1/events", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := r.client.Transport.RoundTrip(req) // only the server ends it
	if err != nil {
		r.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != accept {
		r.t.Fatalf("%s: %s, %s", accept, res.Status, res.Header.Get("Content-Type"))
	}
	s := &subscriber{ended: make(chan struct{})}
	go func() { // ends with the stream; all waits for it
		defer close(s.ended)
		defer res.Body.Close()
		s.got, s.err = read(bufio.NewReader(res.Body))
	}()
	return s
}

// readSSE reads server-sent events to a clean end.
func readSSE(r *bufio.Reader) (got []delivery, err error) {
	var d delivery
	cursors := map[string]bool{}
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			if cursors[value] {
				return got, errors.New("cursor " + value + " came twice")
			}
			cursors[value] = true
		case "event":
			d.label = value
		case "data":
			d.payload = value
		case "":
			if d.payload != "" { // or a heartbeat
				got = append(got, d)
			}
			d = delivery{}
		}
	}
}

// readLines reads newline-delimited JSON to a clean end.
func readLines(r *bufio.Reader) (got []delivery, err error) {
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if line != "\n" { // a heartbeat
			got = append(got, delivery{payload: strings.TrimSuffix(line, "\n")})
		}
	}
}

func (r *running) sse() *subscriber   { return r.stream("text/event-stream", readSSE) }
func (r *running) lines() *subscriber { return r.stream("application/x-ndjson", readLines) }

// busQueue is more than any test publishes: nats.go drops messages beyond its queue.
const busQueue = 1 << 16

// onBus follows fence.> with nats.go. The test may use the connection too.
func (r *running) onBus() (*nats.Conn, *subscriber) {
	r.t.Helper()
	s := &subscriber{ended: make(chan struct{})}
	msgs := make(chan *nats.Msg, busQueue)
	nc := r.dial(func() { // nothing is received any more
		defer close(s.ended)
		for len(msgs) > 0 {
			m := <-msgs
			s.got = append(s.got, delivery{m.Subject, string(m.Data)})
		}
	})
	if _, err := nc.ChanSubscribe("fence.>", msgs); err != nil {
		r.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return nc, s
}

// onPython follows fence.> with nats-py until a message arrives on test.end. Without nats-py it
// returns nil.
func (r *running) onPython() *subscriber {
	r.t.Helper()
	python, err := bustest.FindPython()
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(r.t.Context(), python, "testdata/events.py", r.BusAddr().String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	buffered := bufio.NewReader(out)
	ready, err := buffered.ReadString('\n')
	s := &subscriber{ended: make(chan struct{})}
	go func() { // ends with the process; the cleanup waits for it
		defer close(s.ended)
		s.got, s.err = readLines(buffered)
		for i, d := range s.got {
			s.got[i].label, s.got[i].payload, _ = strings.Cut(d.payload, "\t")
		}
		if err := cmd.Wait(); err != nil {
			s.err = errors.New(err.Error() + "\n" + stderr.String())
		}
	}()
	r.t.Cleanup(func() { <-s.ended })
	if ready != "ready\n" {
		<-s.ended
		r.t.Fatalf("nats-py did not subscribe: %v, %v", err, s.err)
	}
	return s
}
