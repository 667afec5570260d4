package busdiff

import (
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// pace is how long the writes of a script that is played again are apart, so
	// that each is likely to be read on its own.
	pace = 200 * time.Microsecond
	// confirmations is how often a difference may not come again.
	confirmations = 3
	// bytewise is how much is sent again byte by byte.
	bytewise = 400
)

// verdict is the result of a script.
type verdict struct {
	kind   verdictKind
	name   string // of the explanation
	diff   *difference
	waited bool
}

type verdictKind int

const (
	same     verdictKind = iota
	cutBound             // the reference answers so if its reads are cut otherwise
	known                // explained
	once                 // differs, but not when it is played again: the machine was busy, or chance has a part
	differs
)

// rig holds a pair of servers for each setting. It plays one script at a time.
type rig struct {
	pairs     map[string]*pair
	explained []explanation
	hasty     bool // scripts that differ are sent in one other way only
}

type pair struct{ reference, ours broker }

func newRig(settings []Setting) (*rig, error) {
	r := &rig{pairs: make(map[string]*pair)}
	var err error
	if r.explained, err = readExplained(explainedText); err != nil {
		return nil, err
	}
	for i := range settings {
		p := new(pair)
		r.pairs[settings[i].Name] = p
		if p.reference, err = startReference(&settings[i]); err == nil {
			p.ours, err = startOurs(&settings[i])
		}
		if err != nil {
			r.stop()
			return nil, err
		}
	}
	return r, nil
}

func (r *rig) stop() {
	for _, p := range r.pairs {
		for _, b := range []broker{p.reference, p.ours} {
			if b != nil {
				b.stop()
			}
		}
	}
}

// confirmed is check, but for differences that do not come again.
func (r *rig) confirmed(s *Script) (v verdict, err error) {
	if v, err = r.check(s); err != nil || v.kind != differs {
		return v, err
	}
	for range confirmations {
		if again, err := r.check(s); err != nil || again.kind == differs {
			return again, err
		}
	}
	v.kind = once
	return v, nil
}

// check plays s to both, and again in other ways if they differ.
func (r *rig) check(s *Script) (verdict, error) {
	p := r.pairs[s.Setting]
	if p == nil {
		return verdict{}, errors.New("busdiff: no setting " + s.Setting)
	}
	reference, err := play(p.reference, s, 0)
	if err != nil {
		return verdict{}, err
	}
	ours, err := play(p.ours, s, 0)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{diff: compare(reference, ours), waited: reference.waited}
	if v.diff == nil {
		return v, nil
	}
	v.kind = known
	var ok bool
	if v.name, ok = r.equal(reference, ours); ok {
		return v, nil
	}
	if v.name, ok, err = r.again(p, s, ours); ok || err != nil {
		if v.name == "" {
			v.kind = cutBound
		}
		return v, err
	}
	for _, left := range differences(r.rewritten(reference), r.rewritten(ours)) {
		for i := range r.explained {
			if e := &r.explained[i]; e.matches(s, left) {
				v.name = e.name
				return v, nil
			}
		}
	}
	v.kind = differs
	return v, nil
}

// again plays s cut in other ways. It reports whether our answer, which must be
// the same for all of them, is among those of the reference.
func (r *rig) again(p *pair, s *Script, ours *answer) (name string, equal bool, err error) {
	for _, cut := range s.otherCuts(r.hasty) {
		again, err := play(p.ours, &cut, pace)
		if err != nil {
			return "", false, err
		}
		if compare(ours, again) != nil {
			if ours.waited == again.waited {
				return "", false, nil
			}
			ours = again // a sync had not waited for long enough
		}
		if again, err = play(p.reference, &cut, pace); err != nil {
			return "", false, err
		}
		if name, equal = r.equal(again, ours); equal {
			return name, true, nil
		}
	}
	return "", false, nil
}

func (s *Script) otherCuts(hasty bool) []Script {
	if hasty {
		return []Script{s.recut(byLine)}
	}
	random := rand.New(rand.NewPCG(1, 2))
	cuts := []Script{
		*s, s.joined(), s.recut(byLine),
		s.recut(func([]byte) int { return 1 + random.IntN(12) }),
		s.recut(func([]byte) int { return 1 + random.IntN(40) }),
	}
	total := 0
	for i := range s.Steps {
		total += len(s.Steps[i].Data)
	}
	if total <= bytewise {
		cuts = append(cuts, s.recut(func([]byte) int { return 1 }))
	}
	return cuts
}
