package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// The first byte of a raw connection, which tells its purpose.
const (
	floorEchoes byte = 'e' // sends each byte back
	floorSinks  byte = 's' // counts the bytes, and sends the count at the end
)

const (
	floorWait  = 10 * time.Second // for the connection to come
	floorRuns  = 30 * time.Second // for a series
	maxFloors  = 4                // at once
	floorWrite = 64 << 10         // bytes of one write of a bulk series
)

// floorPlace tells a client where one raw connection is expected.
type floorPlace struct {
	Addr string `json:"addr"`
}

var errFloors = errors.New("wireperf: enough raw connections are open")

// floors opens raw TCP ports for clients that have asked over wire. Each port takes one connection,
// and closes with it.
type floors struct {
	tasks sync.WaitGroup

	mu     sync.Mutex
	open   map[*net.TCPListener]net.Conn // nil = has not come
	closed bool
}

// listen opens a port beside the address at which a client has reached us.
func (f *floors) listen(ctx context.Context, local net.Addr) (floorPlace, error) {
	host := "127.0.0.1"
	if tcp, ok := local.(*net.TCPAddr); ok {
		host = tcp.IP.String()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.open) == maxFloors {
		return floorPlace{}, errFloors
	}
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return floorPlace{}, err
	}
	l := opened.(*net.TCPListener)
	if f.open == nil {
		f.open = map[*net.TCPListener]net.Conn{}
	}
	f.open[l] = nil
	f.tasks.Go(func() { f.serve(l) })
	return floorPlace{l.Addr().String()}, nil
}

// serve is the goroutine of one port. It ends with its series, after floorWait, or with close.
func (f *floors) serve(l *net.TCPListener) {
	_ = l.SetDeadline(time.Now().Add(floorWait))
	c, err := l.Accept()
	f.mu.Lock()
	if err == nil {
		f.open[l] = c
	}
	closed := f.closed
	f.mu.Unlock()
	_ = l.Close()
	if err == nil {
		if !closed {
			floorSeries(c)
		}
		_ = c.Close()
	}
	f.mu.Lock()
	delete(f.open, l)
	f.mu.Unlock()
}

// floorSeries serves a raw connection.
func floorSeries(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(floorRuns))
	buf := make([]byte, floorWrite)
	if _, err := io.ReadFull(c, buf[:1]); err != nil {
		return
	}
	if buf[0] == floorEchoes {
		_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, buf) // the client sees its end
		return
	}
	total, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, buf)
	if err == nil {
		_, _ = c.Write(binary.LittleEndian.AppendUint64(nil, uint64(total)))
	}
}

// close ends all ports and series and waits for them.
func (f *floors) close() {
	f.mu.Lock()
	f.closed = true
	for l, c := range f.open {
		_ = l.Close()
		if c != nil {
			_ = c.Close()
		}
	}
	f.mu.Unlock()
	f.tasks.Wait()
}
