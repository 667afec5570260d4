package server

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/internal/admission"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

func TestLoads(t *testing.T) {
	for _, c := range []struct {
		a, b load
		less bool
	}{
		{load{0, 256}, load{1, 256}, true},
		{load{1, 256}, load{0, 256}, false},
		{load{1, 256}, load{1, 256}, false},
		{load{10, 256}, load{1, 8}, true}, // one that is slow may have less
		{load{0, 8}, load{1, 256}, true},
	} {
		if c.a.less(c.b) != c.less {
			t.Errorf("%v before %v", c.a, c.b)
		}
	}
}

// Simultaneous visitors are spread too: a visitor on its way to a member counts there.
func TestChoicesAtOnce(t *testing.T) {
	const each = 40
	m := newMembers(t, &Server{})
	for _, agent := range []string{"one", "two", "six"} {
		m.joins(agent, says(agent))
	}
	p := m.server.registry.routes.find("example.com", "/")
	members := p.all()
	left := make(chan struct{})
	var all sync.WaitGroup
	var chosen [each * 3]choice
	for i := range chosen {
		all.Go(func() {
			<-left
			chosen[i] = p.choose(Stream, nil)
			chosen[i].next()
		})
	}
	close(left)
	all.Wait()
	for i, m := range members {
		if n := m.coming.Load(); n != each {
			t.Errorf("%d come to member %d", n, i)
		}
	}
	for i := range chosen {
		chosen[i].came()
	}
	if n := members[0].coming.Load(); n != 0 {
		t.Errorf("%d come when all are there", n)
	}
}

// Retries are at most a tenth of the admitted requests, beyond an initial reserve.
func TestLeeway(t *testing.T) {
	var l retryBudget
	l.init(3)
	taken := func() (n int) {
		for l.take() {
			n++
		}
		return n
	}
	if n := taken(); n != 3 {
		t.Errorf("%d at first", n)
	}
	for range 100 * retryPart {
		l.earn()
	}
	if n := taken(); n != 3 {
		t.Errorf("%d after a while", n)
	}
	for range retryPart + retryPart/2 {
		l.earn()
	}
	if n := taken(); n != 1 {
		t.Errorf("%d", n)
	}
}

// TestAttempts checks how often a request is sent, by the results of its attempts.
func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		group    string
		harmless bool
		fates    []outcome
		want     int // of these after which it is sent again
	}{
		"nobody had it":                    {"web", false, []outcome{outcomeNotSent, outcomeRefused, outcomeRefused}, 2},
		"somebody may have done it":        {"web", false, []outcome{outcomeMaybeRun}, 0},
		"and that does no harm":            {"web", true, []outcome{outcomeMaybeRun, outcomeMaybeRun}, 1},
		"refused, and then lost":           {"web", true, []outcome{outcomeRefused, outcomeMaybeRun, outcomeRefused}, 2},
		"somebody has done it":             {"web", true, []outcome{outcomeOther}, 0},
		"alone, and lost":                  {"", true, []outcome{outcomeMaybeRun, outcomeNotSent}, 1},
		"alone, and refused":               {"", true, []outcome{outcomeRefused}, 0},
		"alone, and it may have been done": {"", false, []outcome{outcomeMaybeRun}, 0},
	} {
		p := &endpoint{at: tunnel.Binding{Group: c.group}}
		p.retries.init(10)
		var a attempts
		got := 0
		for _, f := range c.fates {
			if !a.again(&assignment{lease: &lease{endpoint: p}}, f, c.harmless) {
				break
			}
			got++
		}
		if got != c.want {
			t.Errorf("%s: sent again %d times, want %d", name, got, c.want)
		}
	}
}

// Of several refusals the visitor receives the most useful one.
func TestHope(t *testing.T) {
	order := []error{denied(errors.New("no")), tunnel.ErrAway, errHintDown, gateRefusal{&admission.Refusal{Reason: admission.QueueFull}}, errCredentials}
	for i := range order[1:] {
		if rankOf(order[i]) >= rankOf(order[i+1]) {
			t.Errorf("%v is better than %v", order[i], order[i+1])
		}
	}
	for _, err := range []error{errHintFull, errLinkBehind, fmt.Errorf("%w: of all tunnels of the client", tunnel.ErrOverloaded)} {
		if rankOf(err) != rankLater {
			t.Errorf("%v: %d", err, rankOf(err))
		}
	}
}

func TestFates(t *testing.T) {
	m := newMembers(t, &Server{})
	m.joins("one", says("one"))
	m.server.registry.mu.Lock()
	conn := m.server.registry.sessions["one"].lead()
	m.server.registry.mu.Unlock()
	for _, c := range []struct {
		err  error
		want outcome
	}{
		{wire.ErrNotSent, outcomeNotSent},
		{wire.ErrMaybeSent, outcomeMaybeRun},
		{wire.ErrDraining, outcomeRefused},
		{message.Refused(wire.ResourceExhausted, "full"), outcomeRefused},
		{message.Refused(wire.Unavailable, "down"), outcomeRefused},
		{message.Refused(wire.InvalidArgument, "refused"), outcomeOther},
		{&wire.Error{Code: wire.Unavailable}, outcomeOther}, // the target has ended it
		{message.Malformed("no head"), outcomeOther},
	} {
		if got := outcomeOf(conn, c.err); got != c.want {
			t.Errorf("%v: %d", c.err, got)
		}
	}
	m.server.Kick("one")
	<-conn.Done()
	if got := outcomeOf(conn, conn.Err()); got != outcomeMaybeRun {
		t.Errorf("a stream of a connection that is lost: %d", got)
	}
}
