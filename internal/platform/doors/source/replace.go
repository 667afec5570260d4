package source

import (
	"context"
	"reflect"
	"slices"
	"time"
)

// endWait bounds the wait of Replace for the sources that end.
const endWait = 10 * time.Second

// Replace puts other settings in the place of the present ones. A source with equal settings goes
// on. The others end, which is waited for, and then the new ones begin. A source whose settings
// have changed keeps its door and its counts; the door of one that is gone goes with it. One
// goroutine calls Replace at a time.
func (s *Sources) Replace(ctx context.Context, settings []Settings) {
	goesOn, before := map[string]*source{}, map[string]*source{}
	var ending []*source
	for _, one := range s.all() {
		before[one.settings.Name] = one
		if slices.ContainsFunc(settings, func(n Settings) bool { return reflect.DeepEqual(n, *one.settings) }) {
			goesOn[one.settings.Name] = one
		} else {
			ending = append(ending, one)
		}
	}
	s.end(ctx, ending)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	s.list = nil
	for i := range settings {
		name := settings[i].Name
		one := goesOn[name]
		if one == nil {
			c := &counts{}
			if old := before[name]; old != nil {
				c = old.counts
			}
			if one = s.open(&settings[i], c); s.begun {
				s.begin(one)
			}
		}
		delete(before, name)
		s.list = append(s.list, one)
	}
	for name := range before {
		s.cfg.Doors.Remove(name)
	}
}

// end stops sources and waits for them, for a time. One that takes longer ends later.
func (s *Sources) end(ctx context.Context, ending []*source) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	s.mu.Lock()
	ending = slices.DeleteFunc(ending, func(one *source) bool { return one.stop == nil })
	s.mu.Unlock()
	for _, one := range ending {
		one.stop()
	}
	for _, one := range ending {
		select {
		case <-one.ended:
			one.log.Info("the source has ended", "address", one.settings.Address())
		case <-ctx.Done():
			one.log.Warn("the source is still ending", "address", one.settings.Address())
		}
	}
}
