package bridge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nats.go"
)

// replies turns reply subjects into inboxes of the bridge and back. The inbox of reply r is
// _INBOX.<bridge>.<code>.<r>: the bridge subscribes to all of its inboxes with one pattern on each
// side, and a message to one of them goes on to r on the other side. So nothing is kept for a
// request that waits, and a reply may be used at any time and several times while the bridge lives.
//
// The code is an authentication code of r by a key of this process. Clients on one side can reach
// those reply subjects of the other side that a request has given them, and no other subjects.
type replies struct {
	prefix string // "_INBOX.<bridge>."
	key    [32]byte
}

// way is the direction of a message.
type way uint8

const (
	in  way = iota // from the other server
	out            // to it
)

var wayNames = [...]string{in: "in", out: "out"}

// codeBytes is the length of an authentication code before its encoding.
const codeBytes = 16

func newReplies() *replies {
	r := &replies{prefix: nats.NewInbox() + "."}
	_, _ = rand.Read(r.key[:]) // it never fails
	return r
}

// pattern matches all inboxes.
func (r *replies) pattern() string { return r.prefix + ">" }

// own reports whether a subject is an inbox.
func (r *replies) own(subject string) bool { return strings.HasPrefix(subject, r.prefix) }

// wrap returns the inbox for the reply subject of a message that goes one way; "" for "".
func (r *replies) wrap(w way, reply string) string {
	if reply == "" {
		return ""
	}
	return r.prefix + r.code(w, reply) + "." + reply
}

// unwrap returns the reply subject that an inbox stands for, if wrap has made it for a message that
// went this way.
func (r *replies) unwrap(w way, subject string) (string, bool) {
	rest, ok := strings.CutPrefix(subject, r.prefix)
	code, reply, more := strings.Cut(rest, ".")
	return reply, ok && more && hmac.Equal([]byte(code), []byte(r.code(w, reply)))
}

func (r *replies) code(w way, reply string) string {
	h := hmac.New(sha256.New, r.key[:])
	h.Write([]byte{byte(w)})
	h.Write([]byte(reply))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:codeBytes])
}
