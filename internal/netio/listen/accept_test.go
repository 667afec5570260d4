package listen_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/netio/listen"
)

// scripted is a listener whose Accept returns one error after another; nil is a connection.
type scripted struct {
	net.Listener
	errs []error
}

func (s *scripted) Accept() (net.Conn, error) {
	err := s.errs[0]
	s.errs = s.errs[1:]
	return nil, err
}

func TestAcceptPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scarce, over := errors.New("no descriptors"), errors.New("closed")
		l := &scripted{errs: []error{scarce, scarce, nil, scarce, over}}
		served, began := 0, time.Now()
		var pauses []time.Duration
		err := listen.Accept(t.Context(), l, func(net.Conn) { served++ }, func(err error, pause time.Duration) error {
			if errors.Is(err, over) {
				return over
			}
			pauses = append(pauses, pause)
			return nil
		})
		const ms = time.Millisecond
		if !errors.Is(err, over) || served != 1 || !slices.Equal(pauses, []time.Duration{5 * ms, 10 * ms, 5 * ms}) {
			t.Errorf("%v, %d served, pauses of %v", err, served, pauses)
		}
		if took := time.Since(began); took != 20*ms {
			t.Errorf("took %v", took)
		}
	})
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &scripted{errs: []error{errors.New("no descriptors")}}
	err := listen.Accept(ctx, l, nil, func(error, time.Duration) error { cancel(); return nil })
	if err != nil {
		t.Error(err)
	}
}
