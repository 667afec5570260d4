// Package http2 is HTTP/2 from the client's side, without I/O: a load.Codec (RFC 9113, with the
// header compression of RFC 7541).
//
// The requests are those of package http1, whose heads are sent as header fields: without
// Connection and the like. Many are in progress on a connection, as far as the plan's depth and the
// service's SETTINGS_MAX_CONCURRENT_STREAMS allow. Answers are counted as those of HTTP/1 are;
// RST_STREAM and GOAWAY have classes of their own.
package http2

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/load"
	"paddock/load/http1"
)

// Codec sends requests and reads answers of HTTP/2. A pointer to it is the load.Codec of one run.
type Codec struct {
	Requests http1.Requests
	Good     *http1.Statuses // of answers that did not fail; nil = those below 400
	Scheme   string          // http or https
}

// Name is "http/2".
func (*Codec) Name() string { return "http/2" }

// Thread returns the state of a thread.
func (c *Codec) Thread(part, of int) load.Thread {
	return &thread{codec: c, source: c.Requests.Thread(part, of), heads: map[string][]hpack.HeaderField{}}
}

// thread is the state that the sessions of a thread share.
type thread struct {
	codec  *Codec
	source http1.Source
	heads  map[string][]hpack.HeaderField // by head of HTTP/1, the first maxKept of them
	out    sink                           // of the last call
}

const maxKept = 4096

// Negotiate has a configuration of TLS ask for HTTP/2, and refuse a service that does not offer it.
func Negotiate(config *tls.Config) {
	config.NextProtos = []string{"h2", "http/1.1"}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if state.NegotiatedProtocol != "h2" {
			return errors.New("the service does not offer HTTP/2 (ALPN h2)")
		}
		return nil
	}
}

// Session returns the state of a connection.
func (t *thread) Session() load.Session {
	s := &session{thread: t, limit: noLimit, window: firstWindow, initial: firstWindow}
	s.framer = http2.NewFramer(&t.out, &s.in)
	s.framer.SetMaxReadFrameSize(maxFrame)
	s.framer.SetReuseFrames()
	s.encoder, s.decoder = hpack.NewEncoder(&s.block), hpack.NewDecoder(tableSize, s.field)
	s.decoder.SetMaxStringLength(maxHead)
	return s
}

// sink is memory to write to.
type sink struct{ b []byte }

func (s *sink) Write(b []byte) (int, error) {
	s.b = append(s.b, b...)
	return len(b), nil
}

// fields translates a head of HTTP/1.
func (t *thread) fields(head []byte) ([]hpack.HeaderField, error) {
	if list, ok := t.heads[string(head)]; ok {
		return list, nil
	}
	first, rest, _ := strings.Cut(string(head), "\r\n")
	words := strings.Fields(first)
	if len(words) != 3 {
		return nil, fmt.Errorf("http2: the request line %q", first)
	}
	list := []hpack.HeaderField{{Name: ":method", Value: words[0]}, {Name: ":scheme", Value: t.codec.Scheme}, {Name: ":authority"}, field(":path", words[1])}
	for text := range strings.SplitSeq(strings.TrimRight(rest, "\r\n"), "\r\n") {
		name, value, _ := strings.Cut(text, ":")
		switch f := field(strings.ToLower(name), strings.Trim(value, " \t")); f.Name {
		case "", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te": // RFC 9113 section 8.2.2
		case "host":
			list[2].Value = f.Value
		default:
			list = append(list, f)
		}
	}
	if len(t.heads) < maxKept {
		t.heads[string(head)] = list
	}
	return list, nil
}

// field makes a field. Values that differ between requests do not go to the table that both ends
// keep, as browsers do it: sensitive is the encoder's word for it.
func field(name, value string) hpack.HeaderField {
	return hpack.HeaderField{Name: name, Value: value, Sensitive: name == ":path" && value != "/" || name == "content-length"}
}
