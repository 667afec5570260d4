package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	wirecodec "paddock/lab/internal/codec/wire"
	"paddock/load"
	"paddock/wire"
)

// service counts posts, and echoes requests; "no" is refused, and "long" gets an answer
// that does not fit a frame. Streams are counted, those of kind "miscount" wrongly.
type service struct{ posts atomic.Int64 }

const longAnswer = 300_000

func (s *service) mux() *wire.Mux {
	m := wire.NewMux()
	m.HandlePosts("post", func(_ context.Context, p *wire.Posts) error {
		s.posts.Add(int64(p.Len()))
		return nil
	})
	wire.Handle(m, "echo", func(_ context.Context, body []byte) ([]byte, error) {
		switch string(body) {
		case "no":
			return nil, &wire.Error{Code: wire.InvalidArgument, Msg: "no is no request"}
		case "long":
			return make([]byte, longAnswer), nil
		}
		return body, nil
	})
	count := func(off uint64) func(context.Context, *wire.Stream) error {
		return func(_ context.Context, stream *wire.Stream) error {
			var message []byte
			for n := off; ; n++ {
				var err error
				if message, err = stream.ReadMsg(message[:0]); errors.Is(err, io.EOF) {
					return stream.WriteMsg(binary.LittleEndian.AppendUint64(nil, n))
				} else if err != nil {
					return err
				}
			}
		}
	}
	m.HandleStream("count", count(0))
	m.HandleStream("miscount", count(1))
	return m
}

// serve starts a server for one test.
func serve(t *testing.T, config *wire.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &wire.Server{Config: config}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return l.Addr().String()
}

// run makes a run with both engines.
func run(t *testing.T, codec *wirecodec.Codec, plan load.Plan, check func(t *testing.T, r *load.Result)) {
	for name, e := range map[string]load.Engine{"epoll": load.Epoll, "portable": load.Portable} {
		t.Run(name, func(t *testing.T) {
			if err := codec.Check(); err != nil {
				t.Fatal(err)
			}
			p := plan
			p.Codec, p.Engine = codec, e
			codec.Depth = max(p.Depth, 1)
			r, err := load.Run(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, r)
		})
	}
}

// Each post is acknowledged once, when it has been handled.
func TestPost(t *testing.T) {
	s := &service{}
	address := serve(t, &wire.Config{Mux: s.mux()})
	run(t, &wirecodec.Codec{Do: wirecodec.Post, Kind: "post", Bodies: [][]byte{make([]byte, 512), nil}},
		load.Plan{Address: address, Conns: 3, Depth: 64, Threads: 2, Count: 2000}, func(t *testing.T, r *load.Result) {
			if r.Total.Failed[load.ClassOK] != 2000 || r.Total.Errors() != 0 || s.posts.Swap(0) != 2000 || r.Unanswered.Count != 0 {
				t.Errorf("%v", r.Total.Failed)
			}
		})
}

// Requests find their answers, which may be longer than a frame, or errors.
func TestRequest(t *testing.T) {
	address := serve(t, &wire.Config{Mux: (&service{}).mux()})
	run(t, &wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{[]byte("hello"), nil, make([]byte, 60_000)}},
		load.Plan{Address: address, Conns: 2, Depth: 16, Count: 600}, func(t *testing.T, r *load.Result) {
			if r.Total.Failed[load.ClassOK] != 600 || r.Total.BodyIn != 200*60_005 || r.Total.Service.Count() != 600 {
				t.Errorf("%v, %d bytes", r.Total.Failed, r.Total.BodyIn)
			}
		})
	run(t, &wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{[]byte("long"), []byte("no")}},
		load.Plan{Address: address, Conns: 1, Depth: 4, Count: 60}, func(t *testing.T, r *load.Result) {
			v := &r.Total
			if v.Failed[load.ClassOK] != 30 || v.BodyIn != 30*longAnswer || v.Failed[load.ClassStatus] != 30 || v.Status[uint16(wire.InvalidArgument)] != 30 {
				t.Errorf("%v, %d bytes, %v", v.Failed, v.BodyIn, v.Status)
			}
			if len(r.Samples) != 1 || !strings.Contains(r.Samples[0].Text, "no is no request") {
				t.Errorf("%+v", r.Samples)
			}
		})
	run(t, &wirecodec.Codec{Do: wirecodec.Request, Kind: "nobody", Bodies: [][]byte{nil}},
		load.Plan{Address: address, Count: 10}, func(t *testing.T, r *load.Result) {
			if r.Total.Failed[load.ClassStatus] != 10 {
				t.Errorf("%v", r.Total.Failed)
			}
		})
}

// Streams go on beyond the credit that they begin with, and each is counted.
func TestStream(t *testing.T) {
	address := serve(t, &wire.Config{Mux: (&service{}).mux()})
	run(t, &wirecodec.Codec{Do: wirecodec.Stream, Kind: "count", Messages: 700, Bodies: [][]byte{make([]byte, 1000)}},
		load.Plan{Address: address, Conns: 2, Depth: 2, Count: 5}, func(t *testing.T, r *load.Result) {
			if r.Total.Failed[load.ClassOK] != 5 || r.Total.BytesOut < 5*700_000 || r.Total.Errors() != 0 {
				t.Errorf("%v, %d bytes, %+v", r.Total.Failed, r.Total.BytesOut, r.Samples)
			}
		})
	run(t, &wirecodec.Codec{Do: wirecodec.Stream, Kind: "miscount", Messages: 3, Bodies: [][]byte{make([]byte, 10)}},
		load.Plan{Address: address, Count: 5}, func(t *testing.T, r *load.Result) {
			if r.Total.Failed[load.ClassBody] != 5 {
				t.Errorf("%v", r.Total.Failed)
			}
		})
}

// Load that exceeds the server's limits ends the connection with the reason.
func TestLimits(t *testing.T) {
	address := serve(t, &wire.Config{Mux: (&service{}).mux()})
	for name, tc := range map[string]struct {
		codec wirecodec.Codec
		depth int
		want  string
	}{
		"lane":   {wirecodec.Codec{Do: wirecodec.Post, Kind: "post", Bodies: [][]byte{make([]byte, 60_000)}}, 100, "100 posts of 60000 bytes are to be under way"},
		"slots":  {wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{nil}}, 100_000, "100000 are to be under way"},
		"frames": {wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{make([]byte, 100_000)}}, 1, "a body has 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := tc.codec
			c.Depth = tc.depth
			r, err := load.Run(ctx, load.Plan{
				Address: address, Codec: &c, Depth: tc.depth, Duration: 50 * time.Millisecond, Grace: time.Millisecond,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Samples) == 0 || !strings.Contains(r.Samples[0].Text, tc.want) || r.Total.Done != 0 {
				t.Errorf("%+v", r.Samples)
			}
		})
	}
}

// A token is proved to a server on this machine, and one that is wrong is refused.
func TestTokenLogin(t *testing.T) {
	hash := wire.TokenHash([]byte("sesame"))
	address := serve(t, &wire.Config{Mux: (&service{}).mux(), Verify: wire.VerifyTokens(func(string) ([]byte, bool) { return hash[:], true })})
	for secret, good := range map[string]bool{"sesame": true, "mellon": false} {
		auth, err := wirecodec.TokenLogin("tcp", address, "me", secret)
		if err != nil {
			t.Fatal(err)
		}
		r, err := load.Run(t.Context(), load.Plan{
			Address: address, Conns: 2, Duration: 30 * time.Millisecond,
			Codec: &wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{nil}, Login: auth, Depth: 1},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (r.Total.Failed[load.ClassOK] > 0) != good || (r.Total.Failed[load.ClassStatus] > 0) == good {
			t.Errorf("%s: %v, %+v", secret, r.Total.Failed, r.Samples)
		}
	}
}

// Over TLS each connection proves the token for itself: the proof of another one is refused.
func TestTokenOverTLS(t *testing.T) {
	certificate, pool := certificate(t)
	hash := wire.TokenHash([]byte("sesame"))
	address := serve(t, &wire.Config{
		Mux: (&service{}).mux(), TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Verify: wire.VerifyTokens(func(string) ([]byte, bool) { return hash[:], true }),
	})
	prove := wire.TokenAuth("me", []byte("sesame"))
	var first *wire.Auth
	for name, tc := range map[string]struct {
		prove func(net.Conn) (*wire.Auth, error)
		good  bool
	}{
		"each": {prove, true},
		"first": {func(nc net.Conn) (auth *wire.Auth, err error) {
			if first == nil {
				first, err = prove(nc)
			}
			return first, err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := load.Run(t.Context(), load.Plan{
				Address: address, Conns: 1, PerConn: 5, Count: 20, Grace: time.Second, TLS: wirecodec.Secure(&tls.Config{RootCAs: pool}, address),
				Codec:    &wirecodec.Codec{Do: wirecodec.Request, Kind: "echo", Bodies: [][]byte{nil}, Prove: tc.prove, Depth: 1},
				Duration: 2 * time.Second,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if ok := r.Total.Failed[load.ClassOK]; (ok == 20) != tc.good || (r.Total.Errors() == 0) != tc.good {
				t.Errorf("%d answers: %v, %+v", ok, r.Total.Failed, r.Samples)
			}
		})
	}
}

// certificate returns a certificate for 127.0.0.1, and the pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return server.TLS.Certificates[0], pool
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]wirecodec.Codec{
		"kind":    {Kind: "a b", Bodies: [][]byte{nil}},
		"nothing": {Kind: "a"},
		"stream":  {Do: wirecodec.Stream, Kind: "a", Bodies: [][]byte{nil}, Messages: 1},
		"none":    {Do: wirecodec.Stream, Kind: "a", Bodies: [][]byte{{1}}},
	} {
		if c.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
