package admission

import (
	"testing"
	"time"
)

// service answers as one does that can do so many things at once, each of which takes
// it so long; more wait within it.
type service struct {
	at    int
	takes time.Duration
}

// load lets a lane's limit learn for so long from a service that always has as much
// under way as it may, at most offered.
func (s service) load(l *limit, now *time.Time, offered int, d time.Duration) {
	for end := now.Add(d); now.Before(end); {
		n := min(offered, l.now())
		took := s.takes
		if n > s.at {
			took = s.takes * time.Duration(n) / time.Duration(s.at)
		}
		for range n {
			l.begun(n)
			l.learn(*now, took, false)
		}
		*now = now.Add(took)
	}
}

func TestLimitFollowsTheService(t *testing.T) {
	l := newLimit(&Limits{LaneRequests: 256, LaneFloor: 8, Patience: 10 * time.Millisecond})
	now := time.Unix(0, 0)
	usual := service{at: 20, takes: 20 * time.Millisecond}

	usual.load(&l, &now, 5, 5*time.Second)
	if l.now() != 256 {
		t.Errorf("limit %d under little load", l.now())
	}
	usual.load(&l, &now, 1000, 30*time.Second)
	if l.now() > 90 || l.now() < 20 {
		t.Errorf("limit %d for a service that does 20 at once", l.now())
	}
	slow := service{at: 5, takes: 80 * time.Millisecond}
	slow.load(&l, &now, 1000, 10*time.Second)
	if l.now() > 45 || l.now() < 8 {
		t.Errorf("limit %d for one that does 5 at once, four times as slow", l.now())
	}
	wide := service{at: 1000, takes: 20 * time.Millisecond}
	wide.load(&l, &now, 1000, 60*time.Second)
	if l.now() != 256 {
		t.Errorf("limit %d a minute after the service is well again", l.now())
	}
}

// TestLimitIsPatient: a service that is fast in any case is not held back because it
// has been faster.
func TestLimitIsPatient(t *testing.T) {
	l := newLimit(&Limits{LaneRequests: 256, LaneFloor: 8, Patience: 10 * time.Millisecond})
	now := time.Unix(0, 0)
	service{at: 1, takes: 50 * time.Microsecond}.load(&l, &now, 1, time.Second)
	service{at: 1, takes: 50 * time.Microsecond}.load(&l, &now, 250, time.Minute)
	if l.now() != 256 {
		t.Errorf("limit %d", l.now())
	}
}

func TestLimitOfFailures(t *testing.T) {
	l := newLimit(&Limits{LaneRequests: 256, LaneFloor: 8, Patience: 10 * time.Millisecond})
	now := time.Unix(0, 0)
	for i := range 20_000 {
		l.learn(now, time.Millisecond, i%5 == 0)
		now = now.Add(time.Millisecond)
	}
	if l.now() != 8 {
		t.Errorf("limit %d where every fifth fails", l.now())
	}
}
