package nats_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	natscodec "paddock/lab/internal/codec/nats"
	"paddock/load"
)

// server is a broker for one test, and its address.
func server(t *testing.T, config bus.Config) string {
	t.Helper()
	config.Port = -1
	s, err := bus.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

// bodies are n payloads of so many bytes.
func bodies(n, size int) (list [][]byte) {
	for range n {
		list = append(list, []byte(strings.Repeat("x", size)))
	}
	return list
}

// run makes a run with both engines.
func run(t *testing.T, codec func() *natscodec.Codec, plan load.Plan, check func(t *testing.T, r *load.Result, c *natscodec.Codec)) {
	for name, e := range map[string]load.Engine{"epoll": load.Epoll, "portable": load.Portable} {
		t.Run(name, func(t *testing.T) {
			p := plan
			c := codec()
			if err := c.Prepare(); err != nil {
				t.Fatal(err)
			}
			p.Codec, p.Engine, p.Listeners, p.Fanout = c, e, c.Listeners, c.Groups()
			if c.Do == natscodec.Request {
				p.Fanout = 1
			}
			r, err := load.Run(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, r, c)
		})
	}
}

// Each message is confirmed once, whatever its size.
func TestPublish(t *testing.T) {
	address := server(t, bus.Config{})
	for _, size := range []int{0, 10, 100, 5000} {
		run(t, func() *natscodec.Codec {
			return &natscodec.Codec{Subject: "foo", Bodies: bodies(1, size), Every: 16}
		}, load.Plan{Address: address, Conns: 3, Depth: 64, Threads: 2, Count: 5000}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
			v := &r.Total
			if v.Sent != 5000 || v.Failed[load.ClassOK] != 5000 || v.Errors() != 0 || c.Account().Published != 5000 || r.Unanswered.Count != 0 {
				t.Errorf("%d sent, %v, %+v", v.Sent, v.Failed, c.Account())
			}
		})
	}
}

// Every listener gets every message once and in order; of a queue, one does.
func TestPubSub(t *testing.T) {
	address := server(t, bus.Config{})
	for name, queue := range map[string]string{"all": "", "queue": "group"} {
		t.Run(name, func(t *testing.T) {
			run(t, func() *natscodec.Codec {
				return &natscodec.Codec{Do: natscodec.PubSub, Subject: "a.b", Listen: "a.*", Queue: queue, Listeners: 3, Bodies: bodies(2, 64), Every: 16}
			}, load.Plan{Address: address, Conns: 2, Depth: 64, Threads: 2, Count: 4000}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
				v, want := &r.Total, int64(4000*c.Groups())
				if v.Sent != 4000 || v.Failed[load.ClassOK] != want || v.Errors() != 0 || v.Response.Count() != uint64(want) || r.Unanswered.Count != 0 {
					t.Errorf("%d sent, %v, %+v", v.Sent, v.Failed, r.Unanswered)
				}
				if a := c.Account(); a != (natscodec.Account{Published: 4000, Delivered: want}) {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

// An open run times each delivery from when its message was due.
func TestPubSubAtARate(t *testing.T) {
	address := server(t, bus.Config{})
	run(t, func() *natscodec.Codec {
		return &natscodec.Codec{Do: natscodec.PubSub, Subject: "foo", Listeners: 2, Bodies: bodies(1, 64)}
	}, load.Plan{
		Address: address, Conns: 1, Depth: 64, Arrivals: load.Constant{PerSecond: 2000}, Count: 400,
	}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
		v := &r.Total
		if v.Sent != 400 || v.Failed[load.ClassOK] != 800 || v.Response.Min() <= 0 || v.Lag.Count() != 400 || c.Account().Lost != 0 {
			t.Errorf("%+v, %+v", v.Failed, c.Account())
		}
	})
}

// Requests find their replies, from any responder; without one, the server answers with an error.
func TestRequest(t *testing.T) {
	address := server(t, bus.Config{})
	run(t, func() *natscodec.Codec {
		return &natscodec.Codec{Do: natscodec.Request, Subject: "echo", Listeners: 2, Bodies: append(bodies(1, 0), bodies(1, 300)...)}
	}, load.Plan{Address: address, Conns: 3, Depth: 8, Count: 2000}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
		v := &r.Total
		if v.Failed[load.ClassOK] != 2000 || v.BodyIn != 1000*300 || v.Errors() != 0 || v.Service.Count() != 2000 {
			t.Errorf("%v, %d bytes", v.Failed, v.BodyIn)
		}
	})
	run(t, func() *natscodec.Codec {
		return &natscodec.Codec{Do: natscodec.Request, Subject: "nobody"}
	}, load.Plan{Address: address, Conns: 1, Count: 50}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
		if r.Total.Failed[load.ClassStatus] != 50 || r.Total.Status[503] != 50 || len(r.Samples) != 1 || r.Samples[0].Count != 50 {
			t.Errorf("%v, %v, %+v", r.Total.Failed, r.Total.Status, r.Samples)
		}
	})
}

// A message that is refused is counted under its class with the server's error, and its neighbours
// are not.
func TestPublishRefused(t *testing.T) {
	address := server(t, bus.Config{DenyPublish: []string{"closed.>"}})
	for _, do := range []natscodec.Do{natscodec.Publish, natscodec.PubSub} {
		run(t, func() *natscodec.Codec {
			return &natscodec.Codec{Do: do, Subject: "closed.a", Bodies: bodies(1, 40), Every: 4}
		}, load.Plan{Address: address, Conns: 1, Depth: 16, Count: 100}, func(t *testing.T, r *load.Result, c *natscodec.Codec) {
			v := &r.Total
			if v.Failed[load.ClassStatus] != 100 || v.Failed[load.ClassOK] != 0 || v.Connects != 1 {
				t.Errorf("%v over %d connections", v.Failed, v.Connects)
			}
			if len(r.Samples) != 1 || !strings.HasPrefix(r.Samples[0].Text, `-ERR "Permissions Violation for Publish`) {
				t.Errorf("%+v", r.Samples)
			}
		})
	}
}

// A client without permission to connect learns it before the run.
func TestProbe(t *testing.T) {
	address := server(t, bus.Config{Username: "u", Password: "p"})
	c := &natscodec.Codec{Subject: "foo", Login: natscodec.Login{User: "u", Pass: "p"}}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := c.Probe(t.Context(), "tcp", address); err != nil {
		t.Error(err)
	}
	c.Login.Pass = "q"
	if err := c.Probe(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("%v", err)
	}
}

// Invalid options are refused before the run.
func TestPrepare(t *testing.T) {
	for name, c := range map[string]*natscodec.Codec{
		"wildcard": {Subject: "a.*"},
		"empty":    {Subject: ""},
		"token":    {Subject: "a..b"},
		"blank":    {Subject: "a b"},
		"tail":     {Do: natscodec.Subscribe, Listen: "a.>.b"},
		"queue":    {Subject: "a", Queue: "a b"},
		"short":    {Do: natscodec.PubSub, Subject: "a", Bodies: bodies(1, natscodec.StampSize-1)},
	} {
		if c.Prepare() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
