package wire_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"paddock/wire"
)

// idleLimit is what one side of an idle plain connection may cost.
const idleLimit = 24 << 10

// TestIdleConnectionIsSmall opens connections, uses each once so that its tables
// and buffers exist, and weighs the process. PADDOCK_IDLE_CONNS=10000 makes the
// weighing exact; both sides live in this process.
func TestIdleConnectionIsSmall(t *testing.T) {
	if wire.Mangle {
		t.Skip("the race detector makes goroutines and objects larger")
	}
	n := 500
	if v := os.Getenv("PADDOCK_IDLE_CONNS"); v != "" {
		n, _ = strconv.Atoi(v)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := &wire.Config{Mux: echoMux()}
	conns := make([]*wire.Conn, 0, 2*n)
	defer func() {
		for _, c := range conns {
			c.Abort(wire.Unavailable)
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	before := weigh(t)
	for range n {
		d, err := wire.Dial(t.Context(), "tcp", l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		a, err := wire.NewConn(nc, wire.Acceptor, server)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, d, a)
		if _, err := d.Call(context.Background(), "echo", []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	after := weigh(t)
	sides := int64(2 * n)
	t.Logf("%d connections: %d bytes resident, %d of heap and stacks for each side",
		n, (after.resident-before.resident)/sides, (after.inUse-before.inUse)/sides)
	if each := (after.inUse - before.inUse) / sides; each > idleLimit {
		t.Errorf("an idle connection holds %d bytes, more than %d", each, idleLimit)
	}
}

type weight struct{ resident, inUse int64 }

func weigh(t *testing.T) weight {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w := weight{inUse: int64(m.HeapInuse + m.StackInuse)}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident int64
		if _, err := fmt.Sscan(strings.TrimSpace(string(b)), &size, &resident); err == nil {
			w.resident = resident * int64(os.Getpagesize())
		}
	}
	return w
}
