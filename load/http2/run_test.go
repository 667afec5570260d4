package http2_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	wire "golang.org/x/net/http2"

	"paddock/load"
	"paddock/load/http1"
	"paddock/load/http2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient bounds a run that is to end by itself.
const patient = time.Minute

// kind is a way to speak HTTP/2 with a server.
type kind struct {
	name   string
	engine load.Engine
	secure bool
}

var kinds = []kind{{"h2c, epoll", load.Auto, false}, {"h2c, portable", load.Portable, false}, {"TLS", load.Portable, true}}

// server starts net/http's.
func (k kind) server(t *testing.T, h http.Handler, settings http.HTTP2Config) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.HTTP2 = &settings
	if s.EnableHTTP2 = k.secure; k.secure {
		s.StartTLS()
	} else {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// run makes a plan's load with the requests of a list.
func (k kind) run(t *testing.T, address string, plan load.Plan, list ...http1.Request) *load.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	requests, err := http1.Compile(list, os.ReadFile, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan.Address, plan.Engine = address, k.engine
	scheme := "http"
	if k.secure {
		scheme, plan.TLS = "https", &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}} //nolint:gosec // a test
	}
	plan.Codec = &http2.Codec{Requests: requests, Scheme: scheme}
	r, err := load.Run(ctx, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Stopped {
		t.Fatalf("it did not end in %v: %v", patient, r.Total.Failed)
	}
	return r
}

// each runs f with each kind.
func each(t *testing.T, f func(*testing.T, kind)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { f(t, k) })
	}
}

// site answers as many kinds of answers as net/http can give.
func site(w http.ResponseWriter, r *http.Request) {
	switch path, size, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); path {
	case "status":
		var code int
		fmt.Sscan(size, &code)
		w.WriteHeader(code)
	case "body":
		var n int
		fmt.Sscan(size, &n)
		w.Header().Set("Content-Length", size)
		_, _ = w.Write(make([]byte, n))
	case "parts":
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusEarlyHints)
		for range 5 {
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-Sum", "1")
	case "echo":
		_, _ = io.Copy(w, r.Body)
	case "early":
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case "short":
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "hello")
	case "abort":
		_, _ = io.WriteString(w, "hello")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// The answers are counted as net/http's client sees them: statuses, bytes of bodies, and answers
// that break off.
func TestAgainstNetHTTP(t *testing.T) {
	paths := []http1.Request{
		{URL: "/status/200"},
		{URL: "/status/204"},
		{URL: "/status/302"},
		{URL: "/status/304"},
		{URL: "/status/404"},
		{URL: "/status/503"},
		{URL: "/body/0"},
		{URL: "/body/5"},
		{URL: "/body/100000"},
		{URL: "/body/17000000"}, // more than the window of an answer
		{URL: "/body/7", Method: "HEAD"},
		{URL: "/parts"},
		{URL: "/echo", Body: []byte("hello")},
		{URL: "/echo", Body: make([]byte, 3_000_000)},
		{URL: "/echo", Body: []byte{}},
		{URL: "/early", Body: make([]byte, 3_000_000)},
		{URL: "/abort"},
		{URL: "/short"},
	}
	each(t, func(t *testing.T, k kind) {
		s := k.server(t, http.HandlerFunc(site), http.HTTP2Config{})
		client := s.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if !k.secure {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			client.Transport = transport
			defer transport.CloseIdleConnections()
		}
		for _, r := range paths {
			r.URL = s.URL + r.URL
			if r.Method == "" && r.Body != nil {
				r.Method = "POST"
			}
			status, body, broken := answerOf(t, client, r)
			n := int64(20)
			if max(body, int64(len(r.Body))) > 1<<20 {
				n = 4
			}
			got := k.run(t, s.Listener.Addr().String(), load.Plan{Conns: 2, Depth: 5, Count: n, Grace: patient, Timeout: patient}, r)
			v := &got.Total
			if broken {
				if v.Failed[load.ClassStream]+v.Failed[load.ClassBody] != n {
					t.Errorf("%s: %v", r.URL, v.Failed)
				}
				continue
			}
			class := load.ClassOK
			if status >= 400 {
				class = load.ClassStatus
			}
			if v.Done != n || v.Failed[class] != n || v.Status[uint16(status)] != n || v.BodyIn != n*body || v.Connects > 2 || int64(v.FirstByte.Count()) != n {
				t.Errorf("%s: %d answers, %v, %v, %d bytes, %d connections; net/http has %d and %d bytes", r.URL, v.Done, v.Failed, v.Status, v.BodyIn, v.Connects, status, body)
			}
		}
	})
}

// answerOf is an answer as net/http's client sees it.
func answerOf(t *testing.T, client *http.Client, r http1.Request) (status int, body int64, broken bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, 0, true
	}
	defer answer.Body.Close()
	if answer.ProtoMajor != 2 {
		t.Fatal(answer.Proto)
	}
	body, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, body, err != nil
}

// No more streams are in progress than the service allows, or than the depth is, whichever is less;
// and as many, whatever the order in which they end.
func TestConcurrentStreams(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		for _, tc := range []struct{ allowed, depth, want int }{{3, 10, 3}, {100, 7, 7}} {
			var mu sync.Mutex
			var now, most, seen int
			full := make(chan struct{})
			s := k.server(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen++
				now++
				if most = max(most, now); seen == tc.want {
					close(full)
				}
				mu.Unlock()
				<-full // the first ones wait until there are as many as there may be
				mu.Lock()
				now--
				mu.Unlock()
			}), http.HTTP2Config{MaxConcurrentStreams: tc.allowed})
			r := k.run(t, s.Listener.Addr().String(), load.Plan{Depth: tc.depth, Count: 500, Timeout: patient}, http1.Request{URL: s.URL + "/{{seq}}"})
			if most != tc.want || r.Total.Failed[load.ClassOK] != 500 || r.Total.Connects != 1 || r.Total.MaxInFlight != int64(tc.want) {
				t.Errorf("%+v: %d at once, %d counted, %v", tc, most, r.Total.MaxInFlight, r.Total.Failed)
			}
		}
	})
}

// A request that is not answered in time is given up alone: the others of its connection go on, and
// the service learns of it.
func TestTimeout(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		var given atomic.Int64
		s := k.server(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/never" {
				<-r.Context().Done()
				given.Add(1)
			}
		}), http.HTTP2Config{MaxConcurrentStreams: 4}) // more would be refused, were it not told
		list := make([]http1.Request, 40)
		for i := range list {
			list[i].URL = s.URL + "/"
		}
		list[3].URL = s.URL + "/never"
		const timeout = 2 * time.Second
		r := k.run(t, s.Listener.Addr().String(), load.Plan{Arrivals: load.Constant{PerSecond: 100}, Depth: 16, Count: 200, Timeout: timeout, Grace: patient}, list...)
		v := &r.Total
		if v.Failed[load.ClassTimeout] != 5 || v.Failed[load.ClassOK] != 195 || v.Connects != 1 || r.Unanswered.Count+r.Unanswered.Unsent != 0 {
			t.Errorf("%v, %d connections, %+v", v.Failed, v.Connects, r.Unanswered)
		}
		if n := v.Response.Count(); n != 200 || v.Response.Max() < timeout {
			t.Errorf("%d times, the longest %v", n, v.Response.Max())
		}
		for deadline := time.Now().Add(patient); given.Load() < 5; <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the service was told of %d", given.Load())
			}
		}
	})
}

// scripted is a service that does with each connection as the script says, behind the settings of
// both sides.
func scripted(t *testing.T, script func(n int, p *peer, next func() wire.Frame)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for n := 0; ; {
			c, err := l.Accept()
			if err != nil {
				return
			}
			preface := make([]byte, len(wire.ClientPreface))
			if _, err := io.ReadFull(c, preface); err != nil {
				c.Close() // which has only looked whether there is a service
				continue
			}
			at := n
			n++
			tasks.Go(func() {
				defer c.Close()
				p := newPeer()
				p.Framer = wire.NewFramer(c, c)
				_ = p.WriteSettings()
				script(at, p, func() wire.Frame {
					for {
						f, err := p.ReadFrame()
						if err != nil {
							return nil
						}
						switch f.(type) {
						case *wire.HeadersFrame, *wire.RSTStreamFrame:
							return f
						}
					}
				})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		tasks.Wait()
	})
	return l.Addr().String()
}

// A service that ends its connections with GOAWAY, as nginx does behind each thousand requests,
// loses no request that it has taken; the other ones are told apart.
func TestGoAway(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			address := scripted(t, func(_ int, p *peer, next func() wire.Frame) {
				for taken := 0; ; taken++ {
					f := next()
					if f == nil {
						return
					}
					if id := f.Header().StreamID; taken < 10 {
						if taken == 9 {
							_ = p.WriteGoAway(id, wire.ErrCodeNo, nil)
						}
						p.head(id, true, ":status", "200")
					}
				}
			})
			r := k.run(t, address, load.Plan{Conns: 2, Count: 200}, http1.Request{URL: "http://host/"})
			if v := &r.Total; v.Failed[load.ClassOK] != 200 || v.Errors() != 0 || v.Connects < 20 {
				t.Errorf("one at a time: %v, %d connections", v.Failed, v.Connects)
			}
			r = k.run(t, address, load.Plan{Conns: 2, Depth: 4, Count: 200}, http1.Request{URL: "http://host/"})
			if v := &r.Total; v.Failed[load.ClassOK]+v.Failed[load.ClassGoAway] != 200 || v.Failed[load.ClassOK] < 100 || v.Failed[load.ClassGoAway] == 0 {
				t.Errorf("several: %v, %d connections", v.Failed, v.Connects)
			}
			for _, s := range r.Samples {
				if s.Class != load.ClassGoAway || s.Text != notTaken {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// A connection on which nothing comes for the timeout is replaced; one that ends for an error loses
// its requests.
func TestLostConnections(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			address := scripted(t, func(n int, p *peer, next func() wire.Frame) {
				for f := next(); f != nil; f = next() {
					switch n {
					case 0: // is silent
					case 1:
						_ = p.WriteGoAway(0, wire.ErrCodeEnhanceYourCalm, nil)
						return
					case 2:
						return
					default:
						p.head(f.Header().StreamID, true, ":status", "200")
					}
				}
			})
			r := k.run(t, address, load.Plan{Depth: 4, Count: 40, Timeout: 300 * time.Millisecond}, http1.Request{URL: "http://host/"})
			v := &r.Total
			if v.Failed[load.ClassTimeout] != 4 || v.Failed[load.ClassGoAway] != 1 || v.Failed[load.ClassOK]+v.Errors() != 40 || v.Failed[load.ClassOK] < 28 || v.Connects != 4 {
				t.Errorf("%v, %d connections", v.Failed, v.Connects)
			}
		})
	}
}

// A service that does not speak HTTP/2 is told in its words.
func TestHTTP1Service(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(site))
	defer s.Close()
	requests, _ := http1.Compile([]http1.Request{{URL: s.URL}}, nil, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := load.Run(ctx, load.Plan{
		Address: s.Listener.Addr().String(), Codec: &http2.Codec{Requests: requests, Scheme: "http"}, Duration: patient,
	}, observer(func(*load.Interval) { cancel() }))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) == 0 || !strings.Contains(r.Samples[0].Text, "it answers with HTTP/1") || r.Total.Done > 0 {
		t.Errorf("%+v", r.Samples)
	}
}

type observer func(*load.Interval)

func (f observer) Interval(v *load.Interval) { f(v) }

// nginx answers as many requests as are sent, over many connections: it ends each behind a number
// of requests.
func TestNginx(t *testing.T) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err != nil {
		if os.Getenv("PADDOCK_REQUIRE_PEERS") == "1" {
			t.Fatal(err)
		}
		t.Skip("no nginx here")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/log;
events {}
http {
	access_log off; keepalive_requests 50; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/c;
	server { listen unix:%[2]s http2; location / { return 200 "hello"; } location /none { return 404; } }
}`, dir, socket)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, "-p", dir, "-c", filepath.Join(dir, "conf"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
	}()
	for deadline := time.Now().Add(patient); ; {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%v: %s", err, said.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal(errors.Join(err, errors.New(said.String())))
		}
	}
	requests, _ := http1.Compile([]http1.Request{{URL: "http://host/{{seq}}"}, {URL: "http://host/none"}, {URL: "http://host/", Body: make([]byte, 1000)}}, nil, 1)
	for _, e := range []load.Engine{load.Auto, load.Portable} {
		r, err := load.Run(t.Context(), load.Plan{
			Network: "unix", Address: socket, Codec: &http2.Codec{Requests: requests, Scheme: "http"}, Engine: e, Conns: 2, Depth: 10, Count: 1500, Timeout: patient,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Total
		if v.Failed[load.ClassOK]+v.Failed[load.ClassStatus]+v.Failed[load.ClassGoAway] != 1500 || v.Failed[load.ClassOK] < 500 || v.Status[404] != v.Failed[load.ClassStatus] || v.Connects < 20 {
			t.Errorf("%v, %v, %d connections: %+v", v.Failed, v.Status, v.Connects, r.Samples)
		}
	}
}

// A head that is too large fails with its request, and the run ends.
func TestHeadTooLarge(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := k.server(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), http.HTTP2Config{})
			small := http1.Request{URL: s.URL}
			large := http1.Request{URL: s.URL, Header: []http1.Field{{Name: "X", Value: strings.Repeat("~", 24<<10)}}}
			r := k.run(t, s.Listener.Addr().String(), load.Plan{Conns: 2, Depth: 4, Count: 40, Grace: patient}, small, small, small, large)
			want := [load.Classes]int64{load.ClassOK: 30, load.ClassProtocol: 10}
			if r.Total.Failed != want || r.Stopped {
				t.Errorf("%v, %+v", r.Total.Failed, r.Samples)
			}
		})
	}
}
