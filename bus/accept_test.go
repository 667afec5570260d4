package bus

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exhausted is a listener without file descriptors, until it is closed.
type exhausted struct {
	net.Listener
	times  []time.Time
	closed int // the call from which on it is
}

func (l *exhausted) Accept() (net.Conn, error) {
	if len(l.times) == l.closed {
		return nil, net.ErrClosed
	}
	l.times = append(l.times, time.Now())
	return nil, errors.New("too many open files")
}

func TestAcceptBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		l := &exhausted{closed: 12}
		s.acceptLoop(&listener{ln: l})
		for i, want := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000, 1000} {
			if got := l.times[i+1].Sub(l.times[i]); got != want*time.Millisecond {
				t.Errorf("pause %d was %v", i, got)
			}
		}
		if n := strings.Count(log.String(), "too many open files"); n != 6 { // at 0, 1.27, 2.27 s and so on
			t.Errorf("%d log lines:\n%s", n, &log)
		}
	})
}
