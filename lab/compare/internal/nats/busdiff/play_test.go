package busdiff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// syncWait is how long a sync waits for a PONG that may not come, because its
	// PING has gone into an operation that is not complete.
	syncWait = 2 * time.Second
	// endWait is how long a server may take to end a connection.
	endWait = 10 * time.Second
)

// answer is the behaviour of a server with a script.
type answer struct {
	conns   [][]frame
	queued  []string // messages for members of queues, sorted
	reasons []string // why the connections were closed, sorted
	waited  bool     // a sync has waited in vain
}

// play lets the script act on a server, with a pause of pace after each write.
func play(b broker, s *Script, pace time.Duration) (*answer, error) {
	var links [maxConns]*link
	defer func() {
		for _, l := range links {
			if l != nil {
				l.conn.Close()
			}
		}
	}()
	a := new(answer)
	for i := range s.Steps {
		step := &s.Steps[i]
		l := links[step.Conn]
		if l == nil {
			var err error
			if l, err = connect(b.addr()); err != nil {
				return nil, err
			}
			links[step.Conn] = l
		}
		if step.sync() {
			a.waited = l.sync() || a.waited
		} else {
			l.send(step.Data)
			if pace > 0 {
				<-time.After(pace)
			}
		}
	}
	var cids []uint64
	for _, l := range links {
		if l == nil {
			continue
		}
		if err := l.finish(); err != nil {
			return nil, err
		}
		cids = append(cids, l.cid)
	}
	a.conns = make([][]frame, len(links))
	a.normalise(links[:])
	var err error
	a.reasons, err = b.reasons(cids)
	return a, err
}

// buffers are read buffers.
var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// link is the client's end of one connection.
type link struct {
	conn  *net.TCPConn
	cid   uint64
	got   []byte
	at    int // up to where got has been looked through for PONG
	due   int // PONGs that have to come
	line  []byte
	ended bool
}

// connect returns once INFO has come, so that connections are accepted in order.
func connect(addr string) (*link, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn.(*net.TCPConn)}
	l.conn.SetReadDeadline(time.Now().Add(endWait))
	for !bytes.Contains(l.got, []byte("\r\n")) {
		if err := l.read(); err != nil {
			conn.Close()
			return nil, fmt.Errorf("busdiff: no INFO: %w", err)
		}
	}
	l.cid = clientID(l.got)
	return l, nil
}

func (l *link) read() error {
	buf := buffers.Get().(*[16 << 10]byte)
	defer buffers.Put(buf)
	n, err := l.conn.Read(buf[:])
	l.got = append(l.got, buf[:n]...)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		l.ended = true // a reset is an end like any other
	}
	return err
}

// send writes, and counts the PONGs that are due for the lines that say PING: a
// script does not hide such lines elsewhere, or waits for nothing. A server that
// has closed takes no more.
func (l *link) send(data []byte) {
	l.conn.Write(data) //nolint:errcheck // see above
	l.line = append(l.line, data...)
	for {
		end := bytes.IndexByte(l.line, '\n')
		if end < 0 {
			return
		}
		if len(l.line) > 4 && bytes.EqualFold(l.line[:4], []byte("PING")) {
			l.due++
		}
		l.line = l.line[end+1:]
	}
}

// sync reports whether it has waited in vain: its PING may have become part of an incomplete
// operation, which the server may then refuse.
func (l *link) sync() bool {
	l.line = l.line[:0]
	l.send([]byte("PING\r\n"))
	l.conn.SetReadDeadline(time.Now().Add(syncWait))
	for l.pongs(); l.due > 0 && !l.ended; l.pongs() {
		if l.read() != nil {
			break
		}
	}
	return l.due > 0 && !l.ended
}

// pongs subtracts the received PONGs from the number that is due.
func (l *link) pongs() {
	for {
		n := frameSize(l.got[l.at:])
		if n == 0 {
			return
		}
		if bytes.HasPrefix(l.got[l.at:], []byte("PONG")) {
			l.due--
		}
		l.at += n
	}
}

// finish ends the connection from this side and reads the rest.
func (l *link) finish() error {
	l.conn.CloseWrite() //nolint:errcheck // the server may have closed
	l.conn.SetReadDeadline(time.Now().Add(endWait))
	for !l.ended {
		if err := l.read(); errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("busdiff: a connection does not end: %w", err)
		} else if err != nil && !errors.Is(err, io.EOF) {
			return nil // reset
		}
	}
	return nil
}
