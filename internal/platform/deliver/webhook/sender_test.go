package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"paddock/fence/track"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// receiver is an endpoint of a test.
type receiver struct {
	*httptest.Server
	requests atomic.Int64
	last     *http.Request
	body     string
}

func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.requests.Add(1)
		body, _ := io.ReadAll(q.Body)
		r.last, r.body = q, string(body)
		answer(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "because\r\n  of\x00 it")
	}
}

func itemOf(id string) deliver.Item {
	return deliver.Item{Record: events.Record{
		Cursor: 7, Set: "depots", Fence: "north", Fleet: "default", Object: "v1", Kind: track.Enter, Visit: events.Visit{At: 1_773_314_200_000},
		JSON: events.Plain([]byte(`{"specversion":"1.0","id":"` + id + `","source":"/sets/depots","data":{"object":{"id":"v1","properties":{"name":"Bus <1>"}},"fence":{"id":"north","properties":{"name":"Depot North"}},"visit":"v1/1"}}`)),
	}}
}

func batchOf(ids ...string) *deliver.Batch {
	b := &deliver.Batch{}
	for _, id := range ids {
		b.Items = append(b.Items, itemOf(id))
	}
	return b
}

// send delivers to an endpoint with further members.
func send(t *testing.T, url, members string, b *deliver.Batch) deliver.Result {
	t.Helper()
	return sendWithin(t, url, members, b, timeout)
}

func sendWithin(t *testing.T, url, members string, b *deliver.Batch, limit time.Duration) deliver.Result {
	t.Helper()
	c := NewClient(&Network{Allow: loopback}, nil, "test")
	c.timeout = limit
	t.Cleanup(c.Close)
	return NewSender(c, parse(t, `{"id":"a","url":"`+url+`"`+members+`}`)).Send(t.Context(), b)
}

// Each answer has its verdict.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		code    int
		headers []string
		want    deliver.Verdict
		after   time.Duration
		reason  string
	}{
		{200, nil, deliver.Delivered, 0, ""},
		{202, nil, deliver.Delivered, 0, ""},
		{301, []string{"Location", "http://elsewhere.example/"}, deliver.Failed, 0, "301 Moved Permanently: redirects are not followed: give the new url"},
		{307, nil, deliver.Failed, 0, "307 Temporary Redirect: redirects"},
		{400, nil, deliver.Refused, 0, "400 Bad Request: because of it"},
		{404, []string{"Retry-After", "7"}, deliver.Refused, 0, "404 Not Found: because of it"},
		{410, nil, deliver.Gone, 0, "410 Gone"},
		{429, nil, deliver.Failed, 0, "429 Too"},
		{429, []string{"Retry-After", "7"}, deliver.Failed, 7 * time.Second, "429 Too"},
		{500, []string{"Retry-After", "7"}, deliver.Failed, 0, "500 Internal"},
		{503, []string{"Retry-After", "0"}, deliver.Failed, time.Second, "503 Service"},
		{503, []string{"Retry-After", "soon"}, deliver.Failed, 0, "503 Service"},
	} {
		r := receive(t, status(c.code, c.headers...))
		got := send(t, r.URL, "", batchOf("v1/1"))
		if got.Verdict != c.want || got.Status != c.code || got.After != c.after || !strings.HasPrefix(got.Reason, c.reason) || r.requests.Load() != 1 {
			t.Errorf("%d: %+v after %d requests", c.code, got, r.requests.Load())
		}
	}
	at := time.Date(2026, 3, 12, 11, 0, 0, 0, time.UTC)
	if d := retryAfter(at.Add(time.Minute).Format(http.TimeFormat), at); d != time.Minute {
		t.Error(d)
	}
}

// Endpoints that cannot be reached, that are slow or that speak something else have failed, with a
// reason that does not show the URL.
func TestFailures(t *testing.T) {
	release := make(chan struct{})
	slow := receive(t, func(w http.ResponseWriter, _ *http.Request) { <-release })
	garbage, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := garbage.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096)) // the beginning of a request
			_, _ = c.Write([]byte("SSH-2.0-x\r\n\r\n"))
			_ = c.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for url, reason := range map[string]string{
		slow.URL: "no answer within 100ms", "http://" + closed.Addr().String() + "/hunter2": "connection refused", "http://" + garbage.Addr().String() + "/hunter2": "malformed",
		"https://" + garbage.Addr().String() + "/hunter2": "does not look like a TLS handshake",
	} {
		limit := timeout
		if url == slow.URL {
			limit = 100 * time.Millisecond
		}
		got := sendWithin(t, url, "", batchOf("v1/1"), limit)
		if got.Verdict != deliver.Failed || !strings.Contains(got.Reason, reason) || strings.Contains(got.Reason, "hunter2") {
			t.Errorf("%s: %+v", url, got)
		}
	}
	close(release)
	_ = garbage.Close()
	<-done
}

// An answer of any length costs what is read of it.
func TestLongAnswers(t *testing.T) {
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for range 1000 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	if got := send(t, r.URL, "", batchOf("v1/1")); got.Verdict != deliver.Refused || got.Reason != "400 Bad Request" {
		t.Errorf("%+v", got)
	}
	r = receive(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 128<<10)) })
	if got := send(t, r.URL, "", batchOf("v1/1")); got.Verdict != deliver.Failed {
		t.Errorf("%+v", got)
	}
}

// A request has the form, the headers and the signature of its endpoint.
func TestRequests(t *testing.T) {
	r := receive(t, status(204))
	one := batchOf("v1/1")
	text := string(one.Items[0].JSON.Bytes())
	gap := &deliver.Batch{Items: []deliver.Item{{Record: events.Record{Cursor: 9}, Gap: &events.Gap{From: 7, To: 9}}}}
	again := batchOf("v1/1")
	again.Replay = true
	for _, c := range []struct {
		members          string
		batch            *deliver.Batch
		id, media, body  string
		signed, isReplay bool
	}{
		{"", one, "v1/1", "application/cloudevents+json; charset=utf-8", text, false, false},
		{`,"secrets":["` + secretA + `"]`, again, "v1/1", "application/cloudevents+json; charset=utf-8", text, true, true},
		{
			`,"secrets":["` + secretB + `","` + secretA + `"],"format":"cloudevents-batch"`, batchOf("v1/1", "v1/2"), "v1/1+1", "application/cloudevents-batch+json; charset=utf-8",
			"[" + text + "," + strings.Replace(text, "v1/1", "v1/2", 1) + "]", true, false,
		},
		{`,"format":"tile38"`, one, "v1/1", "application/json", `{"command":"set","group":"v1/1","detect":"enter","meta":{"fence":"north","fleet":"default"},"key":"depots","time":"2026-03-12T11:16:40Z","id":"v1","fields":{"name":"Bus <1>"}}`, false, false},
		{`,"format":"slack"`, one, "v1/1", "application/json", `{"text":"Bus &lt;1&gt; entered Depot North (depots) at 2026-03-12 11:16:40 UTC"}`, false, false},
		{"", gap, "gap/9", "application/cloudevents+json; charset=utf-8", `{"data":{"count":3,"reason":"the subscriber fell behind what the log keeps"},"datacontenttype":"application/json","id":"gap/9","source":"/events","specversion":"1.0","type":"paddock.gap"}`, false, false},
		{`,"format":"slack"`, gap, "gap/9", "application/json", `{"text":"Events are missing here (3): the subscriber fell behind what the log keeps."}`, false, false},
	} {
		got := send(t, r.URL+"/hook?x=1", c.members+`,"headers":{"X-Key":"k"}`, c.batch)
		h := r.last.Header
		if got.Verdict != deliver.Delivered || r.last.Method != http.MethodPost || r.last.RequestURI != "/hook?x=1" || h.Get("X-Key") != "k" || h.Get("User-Agent") != "paddock/test" {
			t.Errorf("%s: %+v, %v", c.members, got, r.last)
		}
		if h.Get(headerID) != c.id || h.Get("Content-Type") != c.media || r.body != c.body || (h.Get(headerReplay) == "1") != c.isReplay {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.members, h, r.body, c.body)
		}
		if !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %s", c.members, r.body)
		}
		if err := Verify(h, []byte(r.body), secretOf(t, secretA), time.Now()); (err == nil) != c.signed {
			t.Errorf("%s: %v", c.members, err)
		}
	}
	// The trace of an event is that of its request. The events of a list have their own.
	traced := itemOf("v1/1")
	traced.JSON = events.Plain([]byte(`{"id":"v1/1","traceparent":"00-a","tracestate":"a=1","datacontenttype":"application/json","data":{"x":1,"traceparent":"y"}}`))
	for members, want := range map[string]string{"": "00-a a=1", `,"format":"slack"`: "00-a a=1", `,"format":"cloudevents-batch"`: " "} {
		send(t, r.URL, members, &deliver.Batch{Items: []deliver.Item{traced}})
		if got := r.last.Header.Get("traceparent") + " " + r.last.Header.Get("tracestate"); got != want {
			t.Errorf("%s: the trace %q, want %q", members, got, want)
		}
	}
	// Each run of a platform that keeps nothing counts from 1, so the id has the run.
	it := itemOf("v1/1")
	it.JSON = events.Plain([]byte(`{"id":"v1/1","source":"/sets/depots?run=3f9a"}`))
	send(t, r.URL, "", &deliver.Batch{Items: []deliver.Item{it}})
	if id := r.last.Header.Get(headerID); id != "v1/1?run=3f9a" {
		t.Error(id)
	}
}

// Each kind of event has a sentence, and so has a gap.
func TestSentences(t *testing.T) {
	gap := deliver.Item{Gap: &events.Gap{From: 1, To: 1, Lost: &events.Loss{Reason: "the journal was damaged"}}}
	if got := sentence(&gap); got != "Events are missing here: the journal was damaged." {
		t.Error(got)
	}
	for _, name := range track.KindNames() {
		it := itemOf("v1/1")
		it.Kind, _ = track.ParseKind(name)
		if s := sentence(&it); strings.Contains(s, "_") || !strings.Contains(s, " at 2026-03-12 11:16:40 UTC") {
			t.Error(s)
		}
	}
}

// Certificates are verified, and those of a given authority are accepted.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(status(200))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, c := range []struct {
		roots *x509.CertPool
		want  deliver.Verdict
	}{{nil, deliver.Failed}, {roots, deliver.Delivered}} {
		client := NewClient(&Network{Allow: loopback}, c.roots, "test")
		got := NewSender(client, parse(t, `{"id":"a","url":"`+server.URL+`"}`)).Send(t.Context(), batchOf("v1/1"))
		client.Close()
		if got.Verdict != c.want || c.want == deliver.Failed && !strings.Contains(got.Reason, "certificate") {
			t.Errorf("%+v", got)
		}
	}
}

// No proxy of the environment is used: it would dial in place of the platform. net/http reads the
// environment once for the process, so this looks at the setting.
func TestNoProxy(t *testing.T) {
	if c := NewClient(&Network{}, nil, "test"); c.http.Load().Transport.(*http.Transport).Proxy != nil {
		t.Error("requests go through a proxy")
	}
}

// A name is judged by the address that is dialled: one that is public at a first look and private
// at the next is refused then, and nothing is connected to.
func TestRebinding(t *testing.T) {
	private := receive(t, status(200))
	port := private.Listener.Addr().(*net.TCPAddr).Port
	names := newNames(t, [4]byte{127, 0, 0, 1})
	client := NewClient(&Network{Resolver: names.resolver()}, nil, "test")
	defer client.Close()
	s := NewSender(client, parse(t, fmt.Sprintf(`{"id":"a","url":"http://hook.example:%d/"}`, port)))
	got := s.Send(t.Context(), batchOf("v1/1"))
	if got.Verdict != deliver.Failed || !strings.Contains(got.Reason, "the address 127.0.0.1 is not of the public internet") || private.requests.Load() != 0 {
		t.Errorf("%+v, %d requests", got, private.requests.Load())
	}
	if names.asked.Load() == 0 {
		t.Error("the name was not looked up")
	}
	// The same name and address, allowed: the resolver is the one that is asked.
	client = NewClient(&Network{Resolver: names.resolver(), Allow: loopback}, nil, "test")
	defer client.Close()
	s = NewSender(client, parse(t, fmt.Sprintf(`{"id":"a","url":"http://hook.example:%d/"}`, port)))
	if got := s.Send(t.Context(), batchOf("v1/1")); got.Verdict != deliver.Delivered || private.requests.Load() != 1 {
		t.Errorf("%+v", got)
	}
}

// names is a DNS server that gives every name one address.
type names struct {
	conn  net.PacketConn
	addr  [4]byte
	asked atomic.Int64
}

func newNames(t *testing.T, addr [4]byte) *names {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn, addr: addr}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve()
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return n
}

func (n *names) serve() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		n.asked.Add(1)
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: n.addr}}}
		}
		if packed, err := m.Pack(); err == nil {
			_, _ = n.conn.WriteTo(packed, from)
		}
	}
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}
