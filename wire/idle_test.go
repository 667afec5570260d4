package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"paddock/wire"
)

// idleLimit is what one side of an idle plain connection may cost.
const idleLimit = 24 << 10

// TestIdleConnectionIsSmall opens connections to another process, uses each once so
// that its tables and buffers exist, and weighs both processes.
// PADDOCK_IDLE_CONNS=10000 makes the weighing exact.
func TestIdleConnectionIsSmall(t *testing.T) {
	if wire.Mangle {
		t.Skip("the race detector makes goroutines and objects larger")
	}
	n := 500
	if v := os.Getenv("PADDOCK_IDLE_CONNS"); v != "" {
		n, _ = strconv.Atoi(v)
	}
	server := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIdleServer$")
	server.Env = append(os.Environ(), idleServer+"=1")
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}()
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatal(err)
	}
	ask := func() (w weight) {
		_, _ = fmt.Fprintln(in)
		if _, err := fmt.Fscanln(out, &w.resident, &w.inUse); err != nil {
			t.Fatal(err)
		}
		return w
	}

	there, here := ask(), weigh(t)
	conns := make([]*wire.Conn, n)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.Abort(wire.Unavailable)
			}
		}
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	for i := range conns {
		if conns[i], err = wire.Dial(t.Context(), "tcp", addr, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := conns[i].Call(context.Background(), "echo", []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	for _, side := range []struct {
		name          string
		before, after weight
	}{{"dialer", here, weigh(t)}, {"acceptor", there, ask()}} {
		each := (side.after.inUse - side.before.inUse) / int64(n)
		t.Logf("%d connections, %s: %d bytes resident for each, %d of heap and stacks",
			n, side.name, (side.after.resident-side.before.resident)/int64(n), each)
		if each > idleLimit {
			t.Errorf("an idle connection holds %d bytes at the %s, more than %d", each, side.name, idleLimit)
		}
	}
}

// idleServer is set for the process that TestIdleServer is to be.
const idleServer = "PADDOCK_IDLE_SERVER"

// TestIdleServer is the other process: it prints its address, and its weight for
// each line that it reads, until there are no more.
func TestIdleServer(t *testing.T) {
	if os.Getenv(idleServer) == "" {
		t.Skip("it is a part of TestIdleConnectionIsSmall")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &wire.Server{Config: &wire.Config{Mux: echoMux(), Logger: quiet}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	fmt.Println(l.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		w := weigh(t)
		fmt.Println(w.resident, w.inUse)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
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
