package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// errCredentials is the refusal of visitors without a tunnel's user and password.
var errCredentials = errors.New("tunnel: user or password")

// Reason is why a visitor was refused; it is also the label of the counter.
type Reason uint8

// The reasons.
const (
	NoRoute         Reason = iota // no client holds the host, or the path
	Denied                        // the policy does not allow the tunnel any more
	Malformed                     // the request
	Misdirected                   // TLS was begun with a name that leads to another client
	Unauthenticated               // user and password are missing or wrong
	Overloaded                    // a bound of the server's
	ClientFull                    // a bound of the client's
	HintFull                      // the client has reported that it is full
	LinkBehind                    // the client's link is congested or silent
	ClientAway                    // the lease runs, or the client drains
	ClientLost                    // its connection ended under the request
	HintDown                      // the client has reported that the target refuses connections
	Unreachable                   // the target took no connection
	Broken                        // the target ended early, or spoke no HTTP
	TooLate                       // the target took too long
	Unintroduced                  // a proxy sent no valid header
	Gone                          // the visitor left
	reasons
)

// answers holds the status of each refusal, and its error in the words of RFC 9209 (section 3.8 of
// the SPEC).
var answers = [reasons]struct {
	name, stage, error string
	status             int
	text               string
	later              bool // Retry-After
}{
	NoRoute:         {"no_route", "route", "destination_not_found", 404, "no tunnel for this address", false},
	Denied:          {"denied", "route", "destination_not_found", 404, "no tunnel for this address", false},
	Misdirected:     {"misdirected", "route", "http_request_error", 421, "the connection is for another name", false},
	Malformed:       {"malformed", "head", "http_request_error", 400, "malformed request", false},
	Unauthenticated: {"unauthenticated", "authorise", "http_request_denied", 401, "user and password are wanted", false},
	Overloaded:      {"overloaded", "permit", "connection_limit_reached", 503, "too many requests are under way", true},
	ClientFull:      {"client_full", "client", "connection_limit_reached", 503, "too many requests are under way", true},
	HintFull:        {"hint_full", "client", "connection_limit_reached", 503, "too many requests are under way", true},
	LinkBehind:      {"link_behind", "link", "connection_limit_reached", 503, "the connection to the service is overloaded", true},
	ClientAway:      {"client_away", "session", "destination_unavailable", 503, "the service is away", true},
	ClientLost:      {"client_lost", "client", "connection_terminated", 502, "the connection to the service was lost", false},
	HintDown:        {"hint_down", "target", "connection_refused", 502, "the service does not answer", false},
	Unreachable:     {"unreachable", "target", "connection_refused", 502, "the service does not answer", false},
	Broken:          {"broken", "target", "http_protocol_error", 502, "the service has given no whole answer", false},
	TooLate:         {"too_late", "target", "http_response_timeout", 504, "the service takes too long", false},
	Unintroduced:    {"unintroduced", "accept", "http_request_error", 400, "malformed request", false},
	Gone:            {"gone", "visitor", "", 499, "", false},
}

// String is the reason in a log.
func (r Reason) String() string { return answers[r].name }

// Refusal is a visitor that was not served, with the reason.
type Refusal struct {
	Reason   Reason
	Status   int    // of the answer, 0 for a raw connection
	Tunnel   string // where visitors find it, "" if there is none
	Identity string // of the client, "" if there is none
	Peer     string // the visitor's address
	Host     string // as the visitor asked for it
	Waited   time.Duration
	Err      error // more about it, nil if there is no more
}

// refuse answers a visitor of the front.
func (s *Server) refuse(t turn, f Refusal) {
	if f.Status == 0 {
		f.Status = answers[f.Reason].status
	}
	if f.Reason == Malformed {
		f.Status = h1.StatusOf(f.Err)
	}
	r := t.asked()
	f.Peer, f.Host = r.peer.String(), string(r.Host)
	s.refused(f)
	if f.Reason == Gone {
		t.abort()
		return
	}
	a := refusals[refusalKey{f.Reason, f.Status, rand.IntN(maxRetryAfter)}]
	if t.begin(a.text, &a.head, a.body, true) == nil {
		_ = t.end(nil, nil) // it fails if the visitor has left
	}
}

// maxRetryAfter is the longest Retry-After, in seconds; the shortest is one second.
const maxRetryAfter = 3

type refusalKey struct {
	reason Reason
	status int
	later  int // Retry-After, less one second
}

// refusal is a prepared answer.
type refusal struct {
	text, body []byte
	head       h1.Head // of text
}

// refusals are all that there are.
var refusals = func() map[refusalKey]*refusal {
	all := map[refusalKey]*refusal{}
	for reason := range reasons {
		statuses := []int{answers[reason].status}
		if reason == Malformed {
			statuses = []int{400, 408, 413, 414, 417, 431, 501, 505}
		}
		for _, status := range statuses {
			for later := range maxRetryAfter {
				all[refusalKey{reason, status, later}] = makeRefusal(reason, status, later)
			}
		}
	}
	return all
}()

func makeRefusal(reason Reason, status, later int) *refusal {
	a := &answers[reason]
	text := a.text
	if status != a.status {
		text = strings.ToLower(http.StatusText(status))
	}
	f := &refusal{body: fmt.Appendf(nil, "%d %s\n", status, text)}
	f.text = fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n", status, http.StatusText(status))
	f.text = fmt.Appendf(f.text, "Proxy-Status: paddock; error=%s\r\n", a.error)
	if a.later {
		f.text = fmt.Appendf(f.text, "Retry-After: %d\r\n", 1+later)
	}
	if reason == Unauthenticated {
		f.text = append(f.text, "Www-Authenticate: Basic realm=\"tunnel\", charset=\"UTF-8\"\r\n"...)
	}
	f.text = append(h1.AppendLength(f.text, int64(len(f.body))), "\r\n"...)
	if err := f.head.Parse(f.text, h1.LinkAnswer); err != nil {
		panic(err) // never: the input is constant
	}
	return f
}

// refused counts a refusal and calls the hook.
func (s *Server) refused(f Refusal) {
	s.refusals[f.Reason].Add(1)
	if s.Hooks.Refused != nil {
		s.Hooks.Refused(f)
	}
}

// reasonOf returns the reason for which an exchange has failed before its head, from the error of
// the client or of wire.
func reasonOf(ctx context.Context, err error) Reason {
	var e *wire.Error
	switch {
	case ctx.Err() != nil:
		return Gone
	case errors.Is(err, errHintFull):
		return HintFull
	case errors.Is(err, errLinkBehind):
		return LinkBehind
	case errors.Is(err, errHintDown):
		return HintDown
	case errors.Is(err, tunnel.ErrOverloaded), errors.Is(err, wire.ErrNoSlot):
		return Overloaded
	case errors.Is(err, wire.ErrDraining), errors.Is(err, wire.ErrNotSent), errors.Is(err, tunnel.ErrAway):
		return ClientAway
	case errors.Is(err, tunnel.ErrDenied):
		return Denied
	case errors.Is(err, errCredentials):
		return Unauthenticated
	case errors.Is(err, errIntroduction):
		return Unintroduced
	case errors.Is(err, message.ErrMalformed), errors.Is(err, h1.ErrMalformed):
		return Broken
	case !errors.As(err, &e):
		return ClientLost
	}
	switch e.Code {
	case wire.NotFound:
		return NoRoute
	case wire.ResourceExhausted:
		return ClientFull
	case wire.DeadlineExceeded:
		return TooLate
	case wire.Unavailable:
		if e.NotStarted {
			return Unreachable
		}
		return Broken
	case wire.StaleEpoch, wire.PeerDead:
		return ClientLost
	}
	return Broken
}

// Stage returns the stage at which a visitor is refused for the reason.
func (r Reason) Stage() string { return answers[r].stage }

// Reasons returns all reasons.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for r := range all {
		all[r] = Reason(r)
	}
	return all
}
