package cli

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/load"
)

// A service is not at rest because a single request had no answer.
func TestRestTakesAnAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		requests, silent atomic.Int32 // silent is the number of the request that has no answer
		serving          sync.WaitGroup
	)
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				b := make([]byte, 8)
				if _, err := io.ReadFull(c, b); err == nil && requests.Add(1) != silent.Load() {
					_, _ = c.Write(b)
				}
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	defer serving.Wait()
	defer l.Close()
	p := &prober{
		c: &Console{Stdout: io.Discard, Stderr: io.Discard}, release: func() {},
		runFlags: &runFlags{Timeout: 500 * time.Millisecond, Grace: time.Millisecond, Repeat: 1},
		plan:     load.Plan{Network: "tcp", Address: l.Addr().String(), Codec: &load.Raw{Request: make([]byte, 8), Answer: 8}},
	}
	if err := p.rest(t.Context()); err != nil || requests.Load() < 3 || p.alone == 0 {
		t.Fatalf("%d requests, %v alone, %v", requests.Load(), p.alone, err)
	}
	before, alone := requests.Load(), p.alone
	silent.Store(before + 1)
	if err := p.rest(t.Context()); err != nil || requests.Load() < before+2 || p.alone > alone {
		t.Errorf("%d requests, %v alone, %v", requests.Load()-before, p.alone, err)
	}
}
