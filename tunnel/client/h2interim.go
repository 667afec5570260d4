package client

import (
	"net/http"
	"net/textproto"
	"sync"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
)

// h2Interims forwards the 1xx heads of a target to the visitor. net/http reports them on the
// goroutine that reads for all exchanges of a connection, which must not wait for a visitor.
// Therefore they are queued, and sent by a goroutine that lives as long as the queue is not empty.
type h2Interims struct {
	v *visit

	mu      sync.Mutex
	queue   [][]byte   // guarded by mu
	size    int        // guarded by mu; bytes so far
	running bool       // guarded by mu
	closed  bool       // guarded by mu: the final head has come, or none will
	idle    *sync.Cond // of mu: nothing runs any more
}

func newH2Interims(v *visit) *h2Interims {
	i := &h2Interims{v: v}
	i.idle = sync.NewCond(&i.mu)
	return i
}

// got is for httptrace.ClientTrace.
func (i *h2Interims) got(status int, fields textproto.MIMEHeader) error {
	text := append(appendH2Fields(h1.AppendStatus([]byte{message.RecordInterim}, status), fields), "\r\n"...)
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.size += len(text); {
	case status == http.StatusSwitchingProtocols:
		return h1.Malformed("status 101 in HTTP/2")
	case i.size > h1.MaxHead:
		return h1.Malformed("interim heads of over %d bytes", h1.MaxHead)
	case i.closed:
		return nil
	}
	i.queue = append(i.queue, text)
	if !i.running {
		i.running = true
		go i.run()
	}
	return nil
}

// run sends queued heads, and ends when the queue is empty. close waits for it.
func (i *h2Interims) run() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.queue) > 0 {
		text := i.queue[0]
		i.queue = i.queue[1:]
		i.mu.Unlock()
		i.v.sendInterim(text)
		i.mu.Lock()
	}
	i.running = false
	i.idle.Broadcast()
}

// sendInterim sends the record of a head. If it fails, later sends fail too.
func (v *visit) sendInterim(record []byte) {
	if v.st == nil {
		st, err := v.r.Promote(message.AppendAnswer(nil, nil, nil))
		if err != nil {
			return
		}
		v.st = st
	}
	_ = v.st.WriteMsg(record)
}

// close waits until all have been sent; none follow.
func (i *h2Interims) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for i.running {
		i.idle.Wait()
	}
}

// any reports whether one has come.
func (i *h2Interims) any() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.size > 0
}
