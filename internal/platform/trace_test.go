package platform_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform"
)

// The trace of a request with positions, over HTTP or on the bus, is an attribute of the events
// that these cause, and a header of their messages and of the requests to webhooks. Other events
// have none. The stored events are the same when they are computed again.
func TestTracesOfRequestsReachEvents(t *testing.T) {
	const (
		first, second = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
		state         = `vendor=a"b\c,other=1`
	)
	data := t.TempDir()
	r := startWith(t, platform.Options{Config: keeping(data), Webhooks: loopbackHooks()})
	r.put("v1/sets/yard", squareOf("f", 1))
	r.put("v1/rules/all", `{"set":"yard"}`)
	r.put("v1/rules/full", `{"set":"yard","count":{"at_least":1}}`)
	traces := make(chan string, 16)
	endpoint := newInbox(t, nil)
	taken := endpoint.Config.Handler
	endpoint.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		traces <- q.Header.Get("traceparent") + " " + q.Header.Get("tracestate")
		taken.ServeHTTP(w, q)
	})
	r.hook("ops", endpoint, "")
	nc, err := nats.Connect("nats://" + r.BusAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	events, err := nc.SubscribeSync("fence.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	post := func(id string, headers ...string) {
		t.Helper()
		body := fmt.Sprintf(`{"id":%q,"lon":1,"lat":1,"props":{"traceparent":"mine"}}`, id)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"v1/positions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Add(headers[i], headers[i+1])
		}
		res, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
	}
	post("http", "traceparent", first, "tracestate", state)
	post("none")
	post("wrong", "traceparent", first+"0", "tracestate", state)
	message := nats.NewMsg("pos.default.bus")
	message.Data = []byte(`{"lon":1,"lat":1}`)
	message.Header.Set("Traceparent", second)
	if _, err := nc.RequestMsgWithContext(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	r.do("v1/positions?fleet=other", `{"id":"last","lon":1,"lat":1}`, http.StatusOK)

	// In the order of the records; the count of the first one comes behind its enter.
	want := []string{"http " + first + " " + state, "f  ", "none  ", "wrong  ", "bus " + second + " ", "last  "}
	var got []string
	for _, line := range lines(r.text("v1/events?wait=0")) {
		var e struct{ Subject, Traceparent, Tracestate string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		conforms(t, []byte(line), "FenceEvent")
		got = append(got, e.Subject+" "+e.Traceparent+" "+e.Tracestate)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the stream has\n%q, want\n%q", got, want)
	}
	for _, w := range want {
		m, err := events.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		_, header, _ := strings.Cut(w, " ")
		if got := m.Header.Get("traceparent") + " " + m.Header.Get("tracestate"); got != header {
			t.Errorf("the message of %s has the trace %q", w, got)
		}
		if got := <-traces; got != header {
			t.Errorf("the request of %s has the trace %q", w, got)
		}
	}
	r.stop()
	if found, err := platform.Verify(data, slog.New(slog.DiscardHandler), nil); err != nil || found.Events != len(want) {
		t.Errorf("%+v, %v", found, err)
	}
}
