package perf

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// The first byte of a raw connection, which tells its purpose. The secret follows.
const (
	floorEchoes byte = 'e' // sends each byte back
	floorSinks  byte = 's' // counts the bytes, and sends the count at the end
)

const (
	floorSecret  = 16               // bytes
	floorWait    = 10 * time.Second // for the connection to come
	floorRuns    = 30 * time.Second // for a series
	maxFloors    = 4                // at once
	floorWrite   = 64 << 10         // bytes of one write of a bulk series
	floorBacklog = 16               // connections that may bring a wrong secret
)

// floorPlace tells a client where one raw connection is expected.
type floorPlace struct {
	Addr   string `json:"addr"`
	Secret []byte `json:"secret"`
}

var errFloors = errors.New("wireperf: enough raw connections are open")

// floors opens raw TCP ports for clients that have asked over wire. Each port takes one connection
// that brings its secret, and closes with it.
type floors struct {
	tasks sync.WaitGroup

	mu     sync.Mutex
	open   map[io.Closer]struct{}
	closed bool
	count  int
}

// listen opens a port beside the address at which a client has reached us.
func (f *floors) listen(ctx context.Context, local net.Addr) (floorPlace, error) {
	host := "127.0.0.1"
	if tcp, ok := local.(*net.TCPAddr); ok {
		host = tcp.IP.String()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.count == maxFloors {
		return floorPlace{}, errFloors
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return floorPlace{}, err
	}
	place := floorPlace{l.Addr().String(), make([]byte, floorSecret)}
	_, _ = rand.Read(place.Secret) // never fails
	if f.open == nil {
		f.open = map[io.Closer]struct{}{}
	}
	f.open[l] = struct{}{}
	f.count++
	f.tasks.Go(func() { f.serve(l.(*net.TCPListener), place.Secret) })
	return place, nil
}

// serve is the goroutine of one port. It ends with its series, after floorWait,
// or with close.
func (f *floors) serve(l *net.TCPListener, secret []byte) {
	defer func() {
		f.drop(l)
		f.mu.Lock()
		f.count--
		f.mu.Unlock()
	}()
	_ = l.SetDeadline(time.Now().Add(floorWait))
	for range floorBacklog {
		c, err := l.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		closed := f.closed
		if !closed {
			f.open[c] = struct{}{}
		}
		f.mu.Unlock()
		ours := !closed && floorSeries(c, secret)
		f.drop(c)
		if closed || ours {
			return
		}
	}
}

// floorSeries serves a raw connection and says whether it brought the secret.
func floorSeries(c net.Conn, secret []byte) (ours bool) {
	_ = c.SetDeadline(time.Now().Add(floorWait))
	buf := make([]byte, floorWrite)
	head := buf[:1+floorSecret]
	if _, err := io.ReadFull(c, head); err != nil || subtle.ConstantTimeCompare(head[1:], secret) != 1 {
		return false
	}
	mode := head[0]
	_ = c.SetDeadline(time.Now().Add(floorRuns))
	var total uint64
	for {
		n, err := c.Read(buf)
		total += uint64(n)
		if mode == floorEchoes && n > 0 {
			if _, err := c.Write(buf[:n]); err != nil {
				return true
			}
		}
		if err != nil {
			break
		}
	}
	if mode == floorSinks {
		_, _ = c.Write(binary.LittleEndian.AppendUint64(nil, total))
	}
	return true
}

func (f *floors) drop(c io.Closer) {
	_ = c.Close()
	f.mu.Lock()
	delete(f.open, c)
	f.mu.Unlock()
}

// close ends all ports and series and waits for them.
func (f *floors) close() {
	f.mu.Lock()
	f.closed = true
	for c := range f.open {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.tasks.Wait()
}
