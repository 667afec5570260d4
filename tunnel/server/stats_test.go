package server

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"paddock/wire"
)

// held returns the current figures among the server's stats.
func held(s *Server) Stats {
	now := s.Stats()
	is := Stats{
		Sessions: now.Sessions, Names: now.Names, Away: now.Away, Waiting: now.Waiting, Visitors: now.Visitors,
		Handshakes: now.Handshakes, Requests: now.Requests, Streams: now.Streams, Queued: now.Queued, Bytes: now.Bytes,
	}
	for _, c := range now.Identities {
		c.Begun = AdmittedCounts{}
		is.Identities = append(is.Identities, c)
	}
	return is
}

// The server's stats show current work while it lasts, and zeros when it is over; totals stay.
func TestStatsTellOfIdleness(t *testing.T) {
	p := newPair(t, &Server{Identify: func(*wire.Conn) string { return "bus-17" }})
	hold, inside := make(chan struct{}), make(chan struct{}, 2)
	p.web(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		inside <- struct{}{}
		<-hold
	}))
	before := held(p.server)
	if before.Sessions != 1 || before.Names != 1 || before.Requests != 0 {
		t.Fatalf("at first: %+v", before)
	}
	ended := make(chan struct{}, 2)
	go func() { p.Get("example.com", "/"); ended <- struct{}{} }()
	go func() {
		r := p.Request(http.MethodPost, "example.com", "/", struct{ io.Reader }{strings.NewReader("of unknown length")})
		p.Do(r)
		ended <- struct{}{}
	}()
	<-inside
	<-inside
	during := held(p.server)
	if during.Requests != 1 || during.Streams != 1 || during.Bytes == 0 || during.Visitors == 0 ||
		during.Identities[0].Requests != 1 || during.Identities[0].Streams != 1 {
		t.Errorf("meanwhile: %+v", during)
	}
	if s := p.server.Sessions()[0]; s.Requests != 1 || s.Streams != 1 || s.Link.Sent == 0 || s.Link.Received == 0 {
		t.Errorf("the session meanwhile: %+v", s)
	}
	close(hold)
	<-ended
	<-ended
	// A visitor may have all of an answer before the server knows that there is no more.
	p.Eventually("it has not served both", func() bool { return p.server.Stats().Served == 2 })
	p.HTTP.CloseIdleConnections()
	p.Eventually("it holds something", func() bool { return reflect.DeepEqual(held(p.server), before) })
	after := p.server.Stats()
	if after.Served != 2 || after.Identities[0].Begun != (AdmittedCounts{Requests: 1, Streams: 1}) || after.Link.Received == 0 {
		t.Errorf("afterwards: %+v", after)
	}
}

// Clients are listed by identity, in pieces.
func TestSessionsAreListedInPieces(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	for _, name := range []string{"c", "a", "b"} {
		c, _ := p.says(name, name+".example.com", "x")
		p.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
	}
	var names []string
	for after := ""; ; {
		page := p.server.SessionsAfter(after, 2)
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			names = append(names, s.Identity+" at "+strings.Join(s.Bindings, ","))
		}
		after = page[len(page)-1].Identity
	}
	if got := strings.Join(names, "; "); got != "a at a.example.com; b at b.example.com; c at c.example.com" {
		t.Error(got)
	}
	if !p.server.Kick("b") || p.server.Kick("nobody") {
		t.Error("b was not there, or nobody was")
	}
	p.Eventually("b is there", func() bool { return len(p.server.Sessions()) == 2 })
}
