package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel/internal/message"
)

// toldPermit records the calls of Answered.
type toldPermit struct{ answered, failed int }

func (p *toldPermit) Promote() error                        { return nil }
func (p *toldPermit) Begin(context.Context) (Permit, error) { return p, nil }
func (p *toldPermit) Release()                              {}

func (p *toldPermit) Answered(failed bool) {
	p.answered++
	if failed {
		p.failed++
	}
}

// An answer's speed is reported once enough of it has arrived, or once the visitor is the one that
// delays it; and once only.
func TestPace(t *testing.T) {
	const full = message.MaxRecord
	for name, c := range map[string]struct {
		known  bool
		pieces []int
		held   time.Duration // by the visitor, each of them
		wait   time.Duration // behind the last piece
		tells  bool          // before the end
	}{
		"short":                       {true, []int{full / 2, full / 2}, 0, 0, false},
		"large":                       {true, []int{full, full, full, full, full, full, full, full}, 0, 0, true},
		"stalls":                      {true, []int{full}, 0, paceStall, true},
		"slow":                        {true, []int{full}, 0, paceStall - 1, false},
		"is taken slowly":             {true, []int{full, full}, paceTaken - 1, 0, false},
		"is not taken":                {true, []int{full}, paceTaken, 0, true},
		"of unknown length, large":    {false, []int{full, full, full, full, full, full, full, full}, 0, 0, true},
		"of unknown length, and full": {false, []int{100, full, full}, 0, 0, false},
		"event by event":              {false, []int{100, 100}, 0, 0, true},
		"event by event, the first":   {false, []int{100}, 0, 0, false},
		"nothing":                     {false, nil, 0, paceStall, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told toldPermit
				var p pace
				p.begin(&told, true, c.known)
				for _, n := range c.pieces {
					time.Sleep(paceStall / 2)
					p.came(n)
					time.Sleep(c.held)
					p.awaits()
				}
				time.Sleep(c.wait)
				synctest.Wait()
				if tells := told.answered == 1; tells != c.tells {
					t.Errorf("it has told: %v", tells)
				}
				p.came(full)
				p.end()
				p.end()
				time.Sleep(2 * paceStall)
				if told.answered != 1 || told.failed != 1 {
					t.Errorf("%+v", told)
				}
			})
		})
	}
	var none pace
	none.end() // there was no head
	(*pace)(nil).came(1)
	(*pace)(nil).awaits()
}
