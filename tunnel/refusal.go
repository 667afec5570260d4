package tunnel

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"paddock/wire"
)

// Errors for what callers branch on.
var (
	ErrDenied     = errors.New("tunnel: policy does not allow it")
	ErrNameHeld   = errors.New("tunnel: name held by another client")
	ErrOverloaded = errors.New("tunnel: too much is under way")
	ErrAway       = errors.New("tunnel: the client is away")
	ErrClosed     = errors.New("tunnel: closed")
)

// Reason is why a visitor was refused; it is also the label of the counter.
type Reason uint8

// The reasons.
const (
	NoRoute         Reason = iota // nobody holds the host, or the path
	Denied                        // the policy does not allow the tunnel any more
	Malformed                     // the request
	Misdirected                   // TLS was begun with a name that leads to another client
	Unauthenticated               // user and password are missing or wrong
	Overloaded                    // a bound of the server's
	ClientFull                    // a bound of the client's
	ClientAway                    // the lease runs, or the client drains
	ClientLost                    // its connection ended under the request
	Unreachable                   // the target took no connection
	Broken                        // the target ended early, or spoke no HTTP
	TooLate                       // the target took too long
	Gone                          // the visitor left
	reasons
)

// answers is section 3.8 of what the front says: status and, as RFC 9209 names it, error.
var answers = [reasons]struct {
	name, error string
	status      int
	text        string
	later       bool // Retry-After
}{
	NoRoute:         {"no_route", "destination_not_found", 404, "no tunnel for this address", false},
	Denied:          {"denied", "destination_not_found", 404, "no tunnel for this address", false},
	Misdirected:     {"misdirected", "http_request_error", 421, "the connection is for another name", false},
	Malformed:       {"malformed", "http_request_error", 400, "malformed request", false},
	Unauthenticated: {"unauthenticated", "http_request_denied", 401, "user and password are wanted", false},
	Overloaded:      {"overloaded", "connection_limit_reached", 503, "too many requests are under way", true},
	ClientFull:      {"client_full", "connection_limit_reached", 503, "too many requests are under way", true},
	ClientAway:      {"client_away", "destination_unavailable", 503, "the service is away", true},
	ClientLost:      {"client_lost", "connection_terminated", 502, "the connection to the service was lost", false},
	Unreachable:     {"unreachable", "connection_refused", 502, "the service does not answer", false},
	Broken:          {"broken", "http_protocol_error", 502, "the service has given no whole answer", false},
	TooLate:         {"too_late", "http_response_timeout", 504, "the service takes too long", false},
	Gone:            {"gone", "", 499, "", false},
}

// String is the reason in a log.
func (r Reason) String() string { return answers[r].name }

// Refusal is what became of a visitor who was not served.
type Refusal struct {
	Reason   Reason
	Status   int    // of the answer, 0 for a raw connection
	Tunnel   string // where visitors find it, "" if there is none
	Identity string // of the client, "" if there is none
	Peer     string // the visitor's address
	Host     string // that he asked for
	Waited   time.Duration
	Err      error // more about it, nil if there is no more
}

// refuse answers a visitor of the front.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, f Refusal) {
	a := &answers[f.Reason]
	if f.Status == 0 {
		f.Status = a.status
	}
	f.Peer, f.Host = r.RemoteAddr, r.Host
	s.refused(f)
	if f.Reason == Gone {
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Proxy-Status", "paddock; error="+a.error)
	if a.later {
		header.Set("Retry-After", strconv.Itoa(1+rand.IntN(3)))
	}
	if f.Reason == Unauthenticated {
		header.Set("Www-Authenticate", `Basic realm="tunnel", charset="UTF-8"`)
	}
	text := strconv.Itoa(f.Status) + " " + a.text + "\n"
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(text))
}

// refused counts and tells of a refusal.
func (s *Server) refused(f Refusal) {
	s.refusals[f.Reason].Add(1)
	if s.Hooks.Refused != nil {
		s.Hooks.Refused(f)
	}
}

// reasonOf is why an exchange has failed before its head, as the far side or wire says.
func reasonOf(ctx context.Context, err error) Reason {
	var e *wire.Error
	switch {
	case ctx.Err() != nil:
		return Gone
	case errors.Is(err, ErrOverloaded), errors.Is(err, wire.ErrNoSlot):
		return Overloaded
	case errors.Is(err, wire.ErrDraining), errors.Is(err, wire.ErrNotSent), errors.Is(err, ErrAway):
		return ClientAway
	case errors.Is(err, ErrDenied):
		return Denied
	case errors.Is(err, errExchange), errors.Is(err, errHead):
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
