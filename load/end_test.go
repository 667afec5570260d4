package load

import (
	"testing"
	"time"
)

// slowDesk answers each write after a time, by a clock of its own.
type slowDesk struct {
	desk
	takes   time.Duration
	now     int64
	answers []slowAnswer
}

type slowAnswer struct {
	at   int64
	c    *conn
	size int
}

func (d *slowDesk) write(c *conn, b []byte) (int, error) {
	d.answers = append(d.answers, slowAnswer{d.now + int64(d.takes), c, len(b)})
	return len(b), nil
}

// atSlowDesk makes a run of one thread at a desk that answers after a time.
func atSlowDesk(t *testing.T, plan Plan, takes time.Duration) *Result {
	t.Helper()
	plan.Address, plan.Codec = "desk", &Raw{Request: []byte("ask"), Answer: 3}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	desk, r := &slowDesk{takes: takes}, &run{plan: &plan}
	d := newDriver(newLoop(&plan, desk, 0, 1), &r.halt, &r.sending)
	r.drivers = []*driver{d}
	go func() {
		defer d.close()
		d.start(0)
		for _, c := range d.conns {
			d.connected(c, 0, nil)
		}
		for !d.turn(desk.now) {
			next := d.deadline()
			if len(desk.answers) > 0 {
				next = min(next, desk.answers[0].at)
			}
			desk.now = max(desk.now, next)
			for len(desk.answers) > 0 && desk.answers[0].at <= desk.now {
				a := desk.answers[0]
				desk.answers = desk.answers[1:]
				d.received(a.c, desk.now, make([]byte, a.size), a.size)
			}
		}
	}()
	r.collect()
	r.conclude(desk.now)
	return &r.result
}

// An open run lasts as long as its plan says, also where the last arrival is long before that end,
// and the grace begins there. Where a number of requests ends it, no more than that are meant.
func TestEndOfOpenRuns(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tc := range map[string]struct {
		plan    Plan
		takes   time.Duration
		elapsed time.Duration
		done    int64
		target  float64
	}{
		"bursts":         {Plan{Arrivals: Burst{Size: 10, Every: 200 * time.Millisecond}, Duration: 400 * time.Millisecond}, time.Millisecond, 400 * time.Millisecond, 20, 20},
		"warm-up":        {Plan{Arrivals: Constant{PerSecond: 1}, Warmup: 2 * second, Duration: 3 * second}, time.Millisecond, 3 * second, 3, 3},
		"slow":           {Plan{Arrivals: Burst{Size: 4, Every: 20 * second}, Duration: 20 * second, Depth: 4}, 8 * second, 20 * second, 4, 4},
		"length":         {Plan{Arrivals: Constant{PerSecond: 1, For: 10 * second}}, time.Millisecond, 10 * second, 10, 10},
		"slow by length": {Plan{Arrivals: Constant{PerSecond: 1, For: 10 * second}, Depth: 9}, 4 * second, 10 * second, 10, 10},
		"length first":   {Plan{Arrivals: Constant{PerSecond: 1, For: 10 * second}, Duration: time.Minute}, time.Millisecond, 10 * second, 10, 10},
		"count":          {Plan{Arrivals: Constant{PerSecond: 100}, Count: 100, Depth: 200}, second, 1990 * time.Millisecond, 100, 100},
		"count first":    {Plan{Arrivals: Constant{PerSecond: 1}, Count: 3, Duration: time.Minute}, second, 3 * second, 3, 3},
		"never":          {Plan{Arrivals: Constant{PerSecond: 1e-12}, Count: 3}, second, second, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := atSlowDesk(t, tc.plan, tc.takes)
			if d := r.Total.Target - tc.target; r.Elapsed != tc.elapsed || r.Total.Done != tc.done || d < -1e-6 || d > 1e-6 {
				t.Errorf("%d answers of %v in %v, want %d of %v in %v", r.Total.Done, r.Total.Target, r.Elapsed, tc.done, tc.target, tc.elapsed)
			}
			if r.Unanswered != (Unanswered{}) {
				t.Errorf("%+v", r.Unanswered)
			}
		})
	}
}
