package server

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"
)

// echoTCP is a target that returns its input.
func echoTCP(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// pattern is n bytes of which a piece that is missing or doubled shows.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	return b
}

// A visitor that reads nothing for a while does not delay the others, though all share the
// goroutines of the link, and then receives all of its bytes, complete and in order.
func TestSlowVisitor(t *testing.T) {
	p := newPair(t, &Server{})
	all := pattern(8 << 20)
	flood := p.tcp(func(c *net.TCPConn) {
		for rest := all; len(rest) > 0; {
			n, err := c.Write(rest[:min(len(rest), 3000)])
			if err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	})
	slow := dialTCP(t, flood)
	quick := dialTCP(t, p.tcp(echoTCP))
	for i := range 200 {
		body, back := pattern(1+i*37), make([]byte, 1+i*37)
		if _, err := quick.Write(body); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(quick, back); err != nil || !bytes.Equal(body, back) {
			t.Fatalf("exchange %d: %v", i, err)
		}
	}
	got, err := io.ReadAll(slow)
	if err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
	}
}

// Idle raw connections hold no buffers: the memory of each, at server, client, visitor and target
// together, without the stacks of their goroutines, is far less than one buffer.
func TestIdleRawConnectionsAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const conns, most = 200, 14 << 10
	p := newPair(t, &Server{})
	at := p.tcp(func(c *net.TCPConn) {
		b := make([]byte, 1)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			_, _ = c.Write(b)
		}
	})
	visit := func() *net.TCPConn {
		c := dialTCP(t, at)
		_, _ = c.Write([]byte("x"))
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	visit()
	before := heapInUse()
	var idle []*net.TCPConn
	for range conns {
		idle = append(idle, visit())
	}
	if took := (heapInUse() - before) / conns; took > most {
		t.Errorf("an idle connection takes %d bytes, want at most %d", took, most)
	}
	runtime.KeepAlive(idle)
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the first one keeps the contents of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
