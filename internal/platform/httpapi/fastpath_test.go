package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/platform/httpapi/gofence"
)

// getting and posting return requests as programs write them. Fields are added to the head, each
// with a line end.
func getting(target string, fields ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(fields, "") + "\r\n"
}

func posting(target, body string, fields ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", target, strings.Join(fields, ""), len(body), body)
}

const (
	secret  = "Authorization: Bearer s3cret\r\n"
	feature = `{"type":"Feature","properties":{"line":"M2"},"geometry":{"type":"Point","coordinates":[7,5]}}`
)

// fastRequests are answered without net/http.
var fastRequests = []string{
	getting("/v1/search?lon=7&lat=5", secret),
	getting("/v1/search?lat=5&lon=7&set=squares&properties=none", secret),
	getting("/v1/search?lat=5&lon=7&set=&properties=&", secret),
	getting("/v1/search?lat=-5e-1&lon=0x1p-2&properties=all", secret),
	getting("/v1/search?lon=7&lat=5&set=squares&generation=1", secret),
	getting("/v1/search?lon=7&lat=5&set=squares&generation=2", secret),
	getting("/v1/search?lon=7&lat=5&set=none", secret),
	getting("/v1/search?lon=7&lat=5&set=<\"&generation=1", secret),
	getting("/v1/search?lon=7&lat=5", secret, "Origin: https://elsewhere.example\r\n"),
	posting("/v1/search", feature, secret),
	posting("/v1/search?set=squares", `[7,5]`, secret, "Content-Type: application/json\r\n"),
	posting("/v1/search?set=squares&generation=1&properties=none", `{"lon":7,"lat":5}`, secret, "Content-Type: application/json; charset=utf-8\r\n"),
	posting("/v1/search", `{"lon":7,"lat":5,"set":"squares","generation":2}`, secret, "Content-Type: application/x-www-form-urlencoded\r\n"),
	posting("/v1/search", `{"lon":7,"lat":5,"set":"none"}`, secret),
	posting("/v1/search", `{"points":[[7,5],[1,1]],"set":"squares"}`, secret),
	posting("/v1/search", `{"points":[]}`, secret),
	getting("/engarde", secret),
	getting("/fence/squares/search?lat=5&lon=7", secret),
	getting("/fence/squares/search?lat=5", secret),
	getting("/fence/none/search?lat=5&lon=7", secret),
	posting("/fence/squares/search", feature, secret),
	posting("/fence/squares/search", `{`, secret),
}

// otherRequests are handed over to net/http.
var otherRequests = []string{
	getting("/v1/search", secret), getting("/v1/search?lon=7", secret), getting("/v1/search?lon=&lat=5", secret), getting("/v1/search?lon=7&lat=5&lat=5", secret),
	getting("/v1/search?lon=7&lat=5&x=1", secret), getting("/v1/search?lon=7&lat=5&=", secret),
	getting("/v1/search?lon=7&lat=5&%73et=far", secret), getting("/v1/search?lon=+7&lat=5", secret), getting("/v1/search?lon=7;lat=5", secret),
	getting("/v1/search?lon=x&lat=5", secret), getting("/v1/search?lon=NaN&lat=5", secret), getting("/v1/search?lon=7&lat=91", secret), getting("/v1/search?lon=1e999&lat=5", secret),
	getting("/v1/search?lon=7&lat=5&set=squares&generation=", secret), getting("/v1/search?lon=7&lat=5&set=squares&generation=-1", secret),
	getting("/v1/search?lon=7&lat=5&generation=1", secret), getting("/v1/search?lon=7&lat=5&properties=some", secret),
	getting("/v1/search/?lon=7&lat=5", secret), getting("/v1//search?lon=7&lat=5", secret), getting("/v1/./search?lon=7&lat=5", secret), getting("/V1/search?lon=7&lat=5", secret),
	"HEAD" + getting("/v1/search?lon=7&lat=5", secret)[len("GET"):],
	strings.Replace(getting("/v1/search?lon=7&lat=5"), "localhost", "elsewhere.example", 1),
	strings.Replace(posting("/fence/squares/search", feature), "localhost", "elsewhere.example", 1),
	getting("/v1/search?lon=7&lat=5", secret, "Connection: close\r\n"), getting("/v1/search?lon=7&lat=5", secret, "If-None-Match: *\r\n"),
	posting("/v1/search", `[7,5]`, secret, "Origin: https://elsewhere.example\r\n"), posting("/v1/search", `[7,5]`, secret, "Sec-Fetch-Site: cross-site\r\n"), posting("/v1/search", `[7,5]`, secret, "Origin: http://localhost\r\n"),
	posting("/fence/squares/search", feature, secret, "Origin: https://elsewhere.example\r\n"),
	posting("/v1/search?lon=1", `[7,5]`, secret), posting("/v1/search", `[7]`, secret), posting("/v1/search", `[7,91]`, secret), posting("/v1/search", ``, secret), posting("/v1/search", `{`, secret),
	posting("/v1/search?set=far", `{"lon":7,"lat":5,"set":"squares"}`, secret), posting("/v1/search", `{"lon":7,"lat":5,"generation":1}`, secret),
	posting("/v1/search", "[7,5]\n[1,1]", secret, "Content-Type: application/x-ndjson\r\n"), posting("/v1/search?set=squares", columns(7, 5), secret, "Content-Type: "+pointColumns+"\r\n"),
	posting("/v1/search", `[7,5]`, secret, "Content-Encoding: gzip\r\n"), posting("/v1/search", `[7,5]`, secret, "Content-Type: text/plain\r\n"), posting("/v1/search", `[7,5]`, secret, "Content-Type: APPLICATION/NDJSON\r\n"),
	posting("/v1/search", `{"points":[`+strings.Repeat("[7,5],", 1500)+`[7,5]]}`, secret), // a long answer
	posting("/v1/search", `[7,5]`+strings.Repeat(" ", 17_000), secret),
	getting("/v1/sets", secret), getting("/healthz"), getting("/readyz", secret), getting("/metrics", secret), getting("/nowhere", secret), getting("/v1/none", secret),
	getting("/fence", secret), getting("/fence/squares/search/", secret), "HEAD" + getting("/engarde", secret)[len("GET"):],
}

// door is a server of the API, for requests one after the other.
type door struct {
	t    testing.TB
	addr string
	conn net.Conn // nil: none
	raw  bytes.Buffer
	in   *bufio.Reader
}

// open serves on loopback until the test ends.
func open(t testing.TB, server interface {
	Serve(l net.Listener) error
	Close() error
},
) *door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	d := &door{t: t, addr: l.Addr().String()}
	t.Cleanup(func() {
		d.hangUp()
		_ = server.Close()
		<-done
	})
	return d
}

func (d *door) hangUp() {
	if d.conn != nil {
		_ = d.conn.Close()
	}
	d.conn = nil
}

var dates = regexp.MustCompile(`\r\nDate: [^\r]*`)

// ask sends a request and returns the bytes of the answer, without the time in its date.
func (d *door) ask(text string) string {
	d.t.Helper()
	if d.conn == nil {
		conn, err := net.Dial("tcp", d.addr)
		if err != nil {
			d.t.Fatal(err)
		}
		d.conn, d.in = conn, bufio.NewReader(io.TeeReader(conn, &d.raw))
	}
	if err := d.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	d.raw.Reset()
	if _, err := io.WriteString(d.conn, text); err != nil {
		d.t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	answer, err := http.ReadResponse(d.in, &http.Request{Method: method})
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	if err != nil {
		d.t.Fatalf("%.300q: %v", text, err)
	}
	if answer.Close {
		d.hangUp()
	}
	return dates.ReplaceAllString(d.raw.String(), "\r\nDate: now")
}

// The fast path gives the bytes of net/http, and answers the requests meant for it. It gives no
// access that net/http would refuse.
func TestFastPathGivesTheSame(t *testing.T) {
	for name, config := range map[string]func(*Config){
		"open":    func(*Config) {},
		"token":   func(c *Config) { c.Token = "s3cret" },
		"small":   func(c *Config) { c.MaxBody = 8 },
		"without": func(c *Config) { c.Gofence = nil },
	} {
		tw := newTown(t, options{config: func(c *Config) {
			c.Gofence = gofence.New(c.Catalog, gofence.Options{})
			config(c)
		}})
		short := NewServer(tw.api, slog.New(slog.DiscardHandler))
		both, alone := open(t, short), open(t, NewFallback(tw.api, slog.New(slog.DiscardHandler)))
		compare := func(text string, want uint64) {
			t.Helper()
			both.hangUp() // a connection that was handed over does not come back
			before := short.Stats().Requests
			got := both.ask(text)
			if long := alone.ask(text); got != long {
				t.Errorf("%s: %.300q:\ngot  %.2000q\nwant %.2000q", name, text, got, long)
			}
			if n := short.Stats().Requests - before; n != want && (name == "open" || name == "token") {
				t.Errorf("%s: %.300q: %d answered on the fast path", name, text, n)
			}
		}
		for _, text := range fastRequests {
			compare(text, 1)
			anybody := map[bool]uint64{true: 1}[name == "open"]
			compare(strings.Replace(text, secret, "", 1), anybody)
			compare(strings.Replace(text, "s3cret", "s3cre", 1), anybody)
		}
		for _, text := range otherRequests {
			compare(text, 0)
		}
	}
}

// A fast answer includes every acknowledged change.
func TestFastAnswersAreOfNow(t *testing.T) {
	tw := newTown(t, options{})
	for i := range 3 {
		key := fmt.Sprintf("f%d", i)
		tw.expect(tw.send(request{method: "PUT", path: "/v1/sets/squares/fences/" + key, body: `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[20,20],[21,20],[21,21],[20,20]]]}}`}), 201, "")
		if got := string(tw.get("/v1/search?lon=20.6&lat=20.2&properties=none").body); strings.Count(got, `"set":"squares"`) != i+1 {
			t.Errorf("after %s: %s", key, got)
		}
	}
	tw.expect(tw.send(request{method: "DELETE", path: "/v1/sets/squares"}), 204, "")
	tw.problem(tw.get("/v1/search?lon=7&lat=5&set=squares"), 404, `no set "squares"; GET /v1/sets lists them`)
}

// searching returns a function that answers a request on the fast path.
func searching(t testing.TB, text string) func() []byte {
	tw := newTown(t, options{})
	r := plainhttp.Read(text, time.Now())
	var out []byte
	return func() []byte {
		out = tw.api.appendAnswer(out[:0], r)
		return out
	}
}

var shortForms = map[string]string{
	"GET":  getting("/v1/search?set=squares&generation=1&lon=7&lat=5"),
	"POST": posting("/v1/search?set=squares", `{"lon":7,"lat":5}`),
}

// BenchmarkFastSearch measures a look-up of one point, from the bytes of the request's head to
// those of the answer.
func BenchmarkFastSearch(b *testing.B) {
	for name, text := range shortForms {
		b.Run(name, func(b *testing.B) {
			search := searching(b, text)
			b.ReportAllocs()
			for b.Loop() {
				search()
			}
		})
	}
}

// FuzzFastPath compares both paths for any parameters and bodies.
func FuzzFastPath(f *testing.F) {
	for _, text := range append(append([]string{}, fastRequests...), otherRequests...) {
		head, body, _ := strings.Cut(text, "\r\n\r\n")
		line, fields, _ := strings.Cut(head, "\r\n")
		words := strings.Split(line, " ")
		contentType := ""
		if _, after, ok := strings.Cut(fields, "Content-Type: "); ok {
			contentType, _, _ = strings.Cut(after, "\r\n")
		}
		f.Add(words[0] == "POST", words[1], contentType, body)
	}
	tw := newTown(f, options{config: func(c *Config) { c.Gofence = gofence.New(c.Catalog, gofence.Options{}) }})
	alone := open(f, NewFallback(tw.api, slog.New(slog.DiscardHandler)))
	f.Fuzz(func(t *testing.T, post bool, target, contentType, body string) {
		if strings.ContainsAny(target+contentType, "\r\n") {
			return // more than one request
		}
		text := getting(target)
		if post {
			text = posting(target, body, "Content-Type: "+contentType+"\r\n")
		}
		r := plainhttp.Read(text, time.Now())
		if r == nil {
			return
		}
		if _, ok := tw.api.gate.admits(&net.TCPAddr{}, string(r.Host), string(r.Authorization)); !ok {
			return
		}
		got := tw.api.appendAnswer(nil, r)
		if got == nil {
			return
		}
		alone.t = t
		if got, want := dates.ReplaceAllString(string(got), "\r\nDate: now"), alone.ask(text); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	})
}

// far is a server whose clients are all of one other machine.
type far struct{ *plainhttp.Server }

func (s far) Serve(l net.Listener) error { return s.Server.Serve(farListener{l}) }

type farListener struct{ net.Listener }

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c.(*net.TCPConn)}, nil
}

type farConn struct{ *net.TCPConn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711} }

// A connection whose token was admitted on the fast path goes on at net/http while its address is
// paused for the wrong tokens of others.
func TestAdmittedConnectionsAreNotPaused(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Token = "s3cret" }})
	old := open(t, far{NewServer(tw.api, slog.New(slog.DiscardHandler))})
	status := func(d *door, text string) string {
		t.Helper()
		_, after, _ := strings.Cut(d.ask(text), " ")
		code, _, _ := strings.Cut(after, " ")
		return code
	}
	if got := status(old, getting("/v1/search?lon=7&lat=5", secret)); got != "200" {
		t.Fatal(got)
	}
	for wrong := ""; wrong != "429"; {
		other := &door{t: t, addr: old.addr}
		wrong = status(other, strings.Replace(getting("/v1/sets", secret), "s3cret", "s3cre", 1))
		other.hangUp()
	}
	if got := status(old, getting("/v1/sets", secret)); got != "200" {
		t.Errorf("the connection that was admitted gets %s", got)
	}
}
