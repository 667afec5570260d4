package wirestats_test

import (
	"context"
	"encoding/json"
	"expvar"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"paddock/wire"
	"paddock/wire/wirestats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ wirestats.Source = (*wire.Server)(nil)

// serve starts a server that echoes, and returns the dialers' ends of n connections.
func serve(t *testing.T, n int) (*wire.Server, []*wire.Conn) {
	t.Helper()
	mux := wire.NewMux()
	wire.Handle(mux, "echo", func(_ context.Context, b []byte) ([]byte, error) { return b, nil })
	s := &wire.Server{Config: &wire.Config{Mux: mux}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conns := make([]*wire.Conn, n)
	for i := range conns {
		c, err := wire.Dial(t.Context(), "tcp", l.Addr().String(), &wire.Config{Agent: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		call(t, c, i+1)
		conns[i] = c
	}
	return s, conns
}

func call(t *testing.T, c *wire.Conn, times int) {
	t.Helper()
	for range times {
		if _, err := c.Call(t.Context(), "echo", []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
}

// get asks a handler, and checks the status.
func get(t *testing.T, h http.Handler, path string, status int) (body []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if w.Code != status {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

func getJSON[T any](t *testing.T, h http.Handler, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(get(t, h, path, http.StatusOK), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func TestTransports(t *testing.T) {
	before := time.Now()
	s, conns := serve(t, 3)
	list := getJSON[[]wirestats.Transport](t, wirestats.Handler(s), "/transports")
	if len(list) != len(conns) {
		t.Fatalf("%d of %d: %+v", len(list), len(conns), list)
	}
	names := map[string]bool{}
	for i, tr := range list {
		names[tr.Name] = true
		if tr.Peer != conns[i].LocalAddr().String() || tr.Local != conns[i].RemoteAddr().String() ||
			tr.Role != "acceptor" || tr.Agent != "test" || tr.Since.Before(before.Add(-time.Second)) || tr.Since.After(time.Now()) {
			t.Errorf("connection %d: %+v", i, tr)
		}
	}
	if len(names) != len(conns) {
		t.Errorf("names are not unique: %v", names)
	}
	none := getJSON[[]wirestats.Transport](t, wirestats.Handler(wirestats.Conns(func() []*wire.Conn { return nil })), "/transports")
	if none == nil || len(none) != 0 {
		t.Errorf("of no connections: %v, want an empty list", none)
	}
}

func TestStatistics(t *testing.T) {
	s, _ := serve(t, 2)
	h := http.StripPrefix("/wire", wirestats.Handler(s))
	all := getJSON[map[string]int64](t, h, "/wire/statistics")
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, wire.StatNames()) || all["n_rxreq"] != 3 {
		t.Errorf("all: %v", all)
	}
	list := getJSON[[]wirestats.Transport](t, h, "/wire/transports")
	one := getJSON[map[string]int64](t, h, "/wire/statistics?keys=n_rxreq,n_txresp&name="+list[1].Name)
	if !maps.Equal(one, map[string]int64{"n_rxreq": 2, "n_txresp": 2}) {
		t.Errorf("one: %v", one)
	}
	both := getJSON[map[string]int64](t, h, "/wire/statistics?keys=n_rxreq&name="+list[0].Name+"&name="+list[1].Name)
	if both["n_rxreq"] != 3 {
		t.Errorf("both: %v", both)
	}
	for path, says := range map[string]string{
		"/wire/statistics?name=acceptor-0":                          `"acceptor-0"`,
		"/wire/statistics?name=" + list[0].Name + "&name=x":         `"x"`,
		"/wire/statistics?keys=n_tx,n_nothing":                      `"n_nothing"; there are inflight`,
		"/wire/statistics?keys=":                                    `""`,
		"/wire/statistics?name=" + list[0].Name + "&keys=N_TX,n_rx": `"N_TX"`,
	} {
		if body := string(get(t, h, path, http.StatusNotFound)); !strings.Contains(body, says) {
			t.Errorf("%s: %s", path, body)
		}
	}
	get(t, h, "/wire/other", http.StatusNotFound)
}

// TestTotalNeverFalls compares the totals before and after a connection has ended.
func TestTotalNeverFalls(t *testing.T) {
	s, conns := serve(t, 2)
	before := wirestats.Total(s)
	_ = conns[1].Close()
	for end := time.Now().Add(10 * time.Second); s.Stats().Conns > 1; {
		if time.Now().After(end) {
			t.Fatal("the server does not notice")
		}
	}
	call(t, conns[0], 1)
	after := wirestats.Total(s)
	if before.Rx.Requests != 3 || after.Rx.Requests != 4 || after.Tx.Frames <= before.Tx.Frames || after.Tx.Bytes < before.Tx.Bytes {
		t.Errorf("before %+v, after %+v", before, after)
	}
	open := wirestats.Total(wirestats.Conns(func() []*wire.Conn { return conns[:1] }))
	if open.Tx.Requests != 2 {
		t.Errorf("the dialer of one: %+v", open)
	}
}

func TestVar(t *testing.T) {
	s, _ := serve(t, 1)
	var v expvar.Var = wirestats.Var{Source: s}
	var all map[string]int64
	if err := json.Unmarshal([]byte(v.String()), &all); err != nil || all["n_rxreq"] != 1 || len(all) != len(wire.StatNames()) {
		t.Errorf("%s: %v", v, err)
	}
}

func TestCollector(t *testing.T) {
	s, _ := serve(t, 3)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(wirestats.Collector(s))
	h := promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	page := string(get(t, h, "/", http.StatusOK))
	for _, want := range []string{
		"\npaddock_wire_messages_total{direction=\"received\",verb=\"request\"} 6\n",
		"\npaddock_wire_messages_total{direction=\"sent\",verb=\"response\"} 6\n",
		"\npaddock_wire_messages_total{direction=\"sent\",verb=\"stream_open\"} 0\n",
		"\npaddock_wire_frames_per_write_bucket{le=\"1\"} ",
		"\npaddock_wire_frames_per_write_bucket{le=\"2047\"} ",
		"\npaddock_wire_queued_bytes ",
		"\npaddock_wire_post_stall_seconds_total 0\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	one, _ := serve(t, 1)
	if n, few := series(t, page), series(t, collected(t, one)); n != few {
		t.Errorf("%d series of 3 connections, %d of one", n, few)
	}
}

func collected(t *testing.T, s wirestats.Source) string {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(wirestats.Collector(s))
	return string(get(t, promhttp.HandlerFor(reg, promhttp.HandlerOpts{}), "/", http.StatusOK))
}

func series(t *testing.T, page string) (n int) {
	t.Helper()
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// TestOverHTTP mounts everything on a mux, as a program does.
func TestOverHTTP(t *testing.T) {
	s, _ := serve(t, 1)
	mux := http.NewServeMux()
	mux.Handle("/wire/", http.StripPrefix("/wire", wirestats.Handler(s)))
	web := httptest.NewServer(mux)
	defer web.Close()
	res, err := web.Client().Get(web.URL + "/wire/statistics?keys=n_rxreq")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "{\"n_rxreq\":1}\n" || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v %v", body, res.Header, err)
	}
	web.Client().CloseIdleConnections()
}
