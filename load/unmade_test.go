package load_test

import (
	"errors"
	"testing"

	"paddock/load"
)

// partial is a codec that cannot make each tenth request.
type partial struct{ load.Raw }

func (p *partial) Thread(int, int) load.Thread { return partialThread{p.Raw.Thread(0, 1)} }

type partialThread struct{ load.Thread }

func (t partialThread) Session() load.Session { return partialSession{t.Thread.Session()} }

type partialSession struct{ load.Session }

func (s partialSession) Request(r *load.Request) error {
	if r.Number%10 == 3 {
		return errors.New("it is too large")
	}
	return s.Session.Request(r)
}

// A request that cannot be made has failed, alone, and is not made again.
func TestUnmade(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, e load.Engine) {
		for name, arrivals := range map[string]load.Arrivals{"closed": nil, "open": load.Constant{PerSecond: 10_000}} {
			for _, depth := range []int{1, 4} {
				r, err := load.Run(t.Context(), load.Plan{
					Address: serve(t, echo), Codec: &partial{*ping(8)}, Conns: 2, Depth: depth, Count: 50, Arrivals: arrivals, Engine: e,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := [load.Classes]int64{load.ClassOK: 45, load.ClassProtocol: 5}
				if v := &r.Total; v.Sent != 45 || v.Failed != want || v.Lost != 5 || r.Unanswered != (load.Unanswered{}) || len(r.Samples) != 1 {
					t.Errorf("%s, depth %d: %d sent, %v, %d lost, %+v, %+v", name, depth, v.Sent, v.Failed, v.Lost, r.Unanswered, r.Samples)
				}
			}
		}
	})
}
