package tunneld

import (
	"crypto/tls"
	"sync"
)

// maxCut is how many handshakes in a row may be cut off before a ticket is given up: one
// that has become bad is not to keep its client out for ever.
const maxCut = 8

// ticket is the tls.ClientSessionCache of a client, which has a single server. crypto/tls drops a
// ticket with each failed handshake. When a server restarts and all of its clients return, some
// handshakes time out; without tickets the next attempts would cost both sides one more signature,
// and more of them would time out. Therefore the ticket is kept until a newer one arrives.
type ticket struct {
	mu   sync.Mutex
	last *tls.ClientSessionState // guarded by mu
	cut  int                     // guarded by mu; handshakes since it came
}

// Get returns the ticket.
func (t *ticket) Get(string) (last *tls.ClientSessionState, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last, t.last != nil
}

// Put keeps a newer one. nil says that a handshake has failed.
func (t *ticket) Put(_ string, newer *tls.ClientSessionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut++; newer != nil || t.cut >= maxCut {
		t.last, t.cut = newer, 0
	}
}
