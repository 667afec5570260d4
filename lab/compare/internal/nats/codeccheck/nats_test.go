// Package codeccheck holds the load generator's codecs against the programs of others whose
// protocols they speak.
package codeccheck

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	natscodec "paddock/lab/internal/codec/nats"
	"paddock/lab/internal/persona/nats2012"
	"paddock/load"
)

// nats starts a nats-server for one test, and gives its address.
func nats(t *testing.T, options server.Options) string {
	t.Helper()
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", -1, true, true
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("nats-server is not ready")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s.Addr().String()
}

// The counts of published, delivered and requested messages are right, with nats-server as with
// ours.
func TestNATSServer(t *testing.T) {
	address := nats(t, server.Options{})
	const n = 3000
	for name, c := range map[string]*natscodec.Codec{
		"publish": {Subject: "foo", Every: 16},
		"fan-out": {Do: natscodec.PubSub, Subject: "foo.a", Listen: "foo.*", Listeners: 3, Every: 16},
		"queue":   {Do: natscodec.PubSub, Subject: "foo.b", Queue: "group", Listeners: 3, Every: 16},
		"request": {Do: natscodec.Request, Subject: "echo", Listeners: 2},
		"no one":  {Do: natscodec.Request, Subject: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Bodies = [][]byte{bytes.Repeat([]byte{'a'}, 100)}
			if err := c.Prepare(); err != nil {
				t.Fatal(err)
			}
			if err := c.Probe(t.Context(), "tcp", address); err != nil {
				t.Fatal(err)
			}
			fanout := 1
			if c.Do == natscodec.PubSub {
				fanout = c.Groups()
			}
			r, err := load.Run(t.Context(), load.Plan{
				Address: address, Codec: c, Conns: 2, Depth: 64, Listeners: c.Listeners, Fanout: fanout, Count: n,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			v, class := &r.Total, load.ClassOK
			if name == "no one" {
				class = load.ClassStatus
			}
			if v.Sent != n || v.Failed[class] != int64(n*fanout) || v.Done != int64(n*fanout) || r.Unanswered.Count != 0 {
				t.Errorf("%d sent, %v, %+v, %+v", v.Sent, v.Failed, r.Unanswered, r.Samples)
			}
			if a := c.Account(); c.Do == natscodec.PubSub && a != (natscodec.Account{Published: n, Delivered: int64(n * fanout)}) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A message that may not be published is counted with nats-server's error.
func TestNATSServerRefuses(t *testing.T) {
	address := nats(t, server.Options{Users: []*server.User{{
		Username: "u", Password: "p",
		Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"closed.>"}}},
	}}})
	c := &natscodec.Codec{Subject: "closed.a", Login: natscodec.Login{User: "u", Pass: "p"}, Every: 4}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	r, err := load.Run(t.Context(), load.Plan{Address: address, Codec: c, Depth: 16, Count: 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Failed[load.ClassStatus] != 100 || r.Total.Connects != 1 || len(r.Samples) != 1 || !strings.Contains(r.Samples[0].Text, "Permissions Violation") {
		t.Errorf("%v over %d connections, %+v", r.Total.Failed, r.Total.Connects, r.Samples)
	}
	c.Login.Pass = "q"
	if err := c.Probe(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("%v", err)
	}
}

// The benchmarks of 2012 run against the server that they were written for.
func TestNATS2012(t *testing.T) {
	address := nats(t, server.Options{})
	for _, row := range nats2012.Rows {
		if _, err := nats2012.Run(t.Context(), address, natscodec.Login{}, row, time.Millisecond); err != nil {
			t.Error(err)
		}
	}
}
