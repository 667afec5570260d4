package natsload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/lab/compare/internal/harness/measure"
)

// broker is as much of a server as the load needs, in this process; mangle makes
// it a bad one.
type broker struct {
	listener net.Listener
	running  sync.WaitGroup
	accepted atomic.Int64

	// mangle, if set, returns how often the n-th delivery is made, in place of once,
	// and whether the connection is closed then.
	mangle    func(n int64) (times int, hangUp bool)
	mu        sync.Mutex
	conns     map[net.Conn]*bufio.Writer
	subs      map[net.Conn]map[string]string // sid: pattern
	delivered int64
}

func newBroker(t *testing.T) *broker {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{listener: l, conns: map[net.Conn]*bufio.Writer{}, subs: map[net.Conn]map[string]string{}}
	b.running.Go(b.accept)
	t.Cleanup(b.close)
	return b
}

func (b *broker) accept() {
	for {
		nc, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.accepted.Add(1)
		b.mu.Lock()
		b.conns[nc], b.subs[nc] = bufio.NewWriterSize(impatient{nc}, blockSize), map[string]string{}
		b.mu.Unlock()
		b.running.Go(func() { b.serve(nc) })
	}
}

func (b *broker) close() {
	b.listener.Close()
	b.mu.Lock()
	for nc := range b.conns {
		nc.Close()
	}
	b.mu.Unlock()
	b.running.Wait()
}

func (b *broker) serve(nc net.Conn) {
	defer func() {
		nc.Close()
		b.mu.Lock()
		delete(b.subs, nc)
		delete(b.conns, nc)
		b.mu.Unlock()
	}()
	fmt.Fprint(nc, "INFO {} \r\n")
	in, asked := bufio.NewReader(nc), false
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		if in.Buffered() == 0 || words[0] == "PING" {
			b.flush()
		}
		switch words[0] {
		case "PING":
			fmt.Fprint(nc, "PONG\r\nINFO {} \r\n")
			if !asked {
				fmt.Fprint(nc, "PING\r\n") // as servers ask now and then
			}
			asked = true
		case "SUB":
			b.mu.Lock()
			b.subs[nc][words[len(words)-1]] = words[1]
			b.mu.Unlock()
		case "UNSUB":
			b.mu.Lock()
			delete(b.subs[nc], words[1])
			b.mu.Unlock()
		case "PUB":
			if b.publish(in, words) != nil {
				return
			}
			if in.Buffered() == 0 {
				b.flush()
			}
		}
	}
}

// impatient is a connection whose peer has to read.
type impatient struct{ net.Conn }

func (i impatient) Write(p []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return i.Conn.Write(p)
}

// patience is longer than a reader of the load ever takes, on a busy machine too.
const patience = 2 * time.Second

// flush writes the pending output, and closes connections that do not take it at once.
func (b *broker) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc, out := range b.conns {
		if out.Flush() != nil {
			nc.Close()
		}
	}
}

// publish knows patterns that end in a wildcard, and no queue groups.
func (b *broker) publish(in io.Reader, words []string) error {
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return err
	}
	payload := make([]byte, size+2)
	if _, err := io.ReadFull(in, payload); err != nil {
		return err
	}
	to := ""
	if len(words) == 4 {
		to = words[2] + " "
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc, subs := range b.subs {
		for sid, pattern := range subs {
			if pattern != words[1] && !strings.HasPrefix(words[1], strings.TrimRight(pattern, "*>")) {
				continue
			}
			times, hangUp := 1, false
			if b.delivered++; b.mangle != nil {
				times, hangUp = b.mangle(b.delivered)
			}
			for range times {
				fmt.Fprintf(b.conns[nc], "MSG %s %s %s%d\r\n%s", words[1], sid, to, size, payload)
			}
			if hangUp {
				nc.Close()
			}
		}
	}
	return nil
}

// The broker is also the process that is measured.
func (b *broker) Addr() string                  { return b.listener.Addr().String() }
func (b *broker) Usage() (measure.Usage, error) { return measure.OwnUsage() }
