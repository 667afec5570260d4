package harness

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"paddock/bench/internal/peers"
	"paddock/wire/wiretest"
)

// link is what the goal wan runs across: 1 Gbit/s each way, 50 ms there and back.
var link = wiretest.LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond}

// ServeRelay is the link's process: it passes connections on to addr across the
// emulated link, until in ends. Its lines are those of [Serve].
func ServeRelay(addr string, in io.Reader, out io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer ln.Close()
	running.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { relay(nc, addr) })
		}
	})
	if _, err := fmt.Fprintf(out, lineReady+"\n", ln.Addr(), ""); err != nil {
		return err
	}
	return answer(&peers.Sink{}, in, out)
}

// relay passes one connection on, until both ways have ended.
func relay(near net.Conn, addr string) {
	defer near.Close()
	far, err := net.Dial("tcp", addr)
	if err != nil {
		return // which the client sees
	}
	defer far.Close()
	a, b := wiretest.Link(link)
	defer a.Close()
	defer b.Close()
	var running sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, a}, {a, near}, {b, far}, {far, b}} {
		running.Go(func() { pass(way[0], way[1]) })
	}
	running.Wait()
}

// pass copies one way and passes its end on, too.
func pass(from, to net.Conn) {
	// Without the wrappers Go would splice or use the kernel's own pace.
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, peers.BulkSize))
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it may have ended already
	}
}
