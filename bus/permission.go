package bus

import (
	"fmt"
	"strings"
	"time"
)

const (
	defaultAnswers       = 1
	defaultAnswerExpires = 2 * time.Minute
)

// grant is what a user may do, made from [Permissions] once. It never changes; a
// nil one permits everything. Whoever remembers a decision remembers whose it was.
type grant struct {
	publish   subjectRules
	subscribe subjectRules
	answers   *ResponsePermission // without zeros; nil = none
}

// subjectRules is a [SubjectPermission] to look things up in.
type subjectRules struct {
	limited     bool // only what allow has is permitted
	allow, deny patternSet
}

func newGrant(p *Permissions) *grant {
	if p == nil {
		return nil
	}
	g := &grant{publish: newRules(p.Publish), subscribe: newRules(p.Subscribe)}
	if p.AllowResponses != nil {
		a := *p.AllowResponses
		a.Max = orDefault(a.Max, defaultAnswers)
		a.Expires = orDefault(a.Expires, defaultAnswerExpires)
		g.answers, g.publish.limited = &a, true
	}
	return g
}

func newRules(p SubjectPermission) subjectRules {
	return subjectRules{limited: len(p.Allow) > 0, allow: newPatternSet(p.Allow), deny: newPatternSet(p.Deny)}
}

// limitsPublish reports whether there are subjects that must not be published to.
func (g *grant) limitsPublish() bool {
	return g != nil && (g.publish.limited || len(g.publish.deny.entries) > 0)
}

// mayPublish decides about a subject that is published to; answers to requests
// are another matter.
func (g *grant) mayPublish(subject []byte) bool {
	p := &g.publish
	return (!p.limited || p.allow.has(subject)) && !p.deny.has(subject)
}

// maySubscribe decides about a SUB. Where entries of a list name queues for the
// subject, a queue has to be among them. What a wildcard reaches beyond what is
// denied is left to a filter.
func (g *grant) maySubscribe(subject []byte, queue string) bool {
	p := &g.subscribe
	if p.limited {
		allowed := p.allow.covers(subject)
		if named, among := p.allow.queue(subject, queue, true); named {
			allowed = among
		}
		if !allowed {
			return false
		}
	}
	_, among := p.deny.queue(subject, queue, false)
	return !among && !p.deny.has(subject)
}

// filterFor returns what a subscription that has been permitted must not be
// given; nil if it reaches nothing of that kind.
func (g *grant) filterFor(pattern, queue string) *filter {
	if g == nil || !hasWildcard(pattern) {
		return nil
	}
	var entries []string
	for _, e := range g.subscribe.deny.entries {
		subject, q, named := strings.Cut(e, " ")
		if overlap(subject, pattern) && (!named || queue != "" && covers(q, []byte(queue))) {
			entries = append(entries, subject)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return &filter{deny: newPatternSet(entries)}
}

// filter is what is not delivered to a subscription though its pattern matches.
// The lock of the subscription's owner guards it.
type filter struct {
	deny   patternSet
	latest []byte // the subject that came before, for streams of one subject
	denied bool   // what has been decided about it
}

func (f *filter) denies(subject []byte) bool {
	if string(f.latest) != string(subject) || len(subject) == 0 {
		f.latest = append(f.latest[:0], subject...)
		f.denied = f.deny.has(subject)
	}
	return f.denied
}

// patternSet is a list of patterns, each perhaps with a queue behind a space. A
// subject is looked up among the literal ones and compared only with the
// wildcards that begin as it does.
type patternSet struct {
	entries []string // all of it, in one form
	literal map[string]struct{}
	wild    map[string][]string // by their first tokens
	lead    []string            // which begin with a wildcard
	queues  [][2]string         // subject and queue
}

func newPatternSet(list []string) (p patternSet) {
	for _, e := range list {
		f := strings.Fields(e)
		e = strings.Join(f, " ")
		p.entries = append(p.entries, e)
		first, _, _ := strings.Cut(e, ".")
		switch {
		case len(f) == 2:
			p.queues = append(p.queues, [2]string{f[0], f[1]})
		case !hasWildcard(e):
			if p.literal == nil {
				p.literal = make(map[string]struct{})
			}
			p.literal[e] = struct{}{}
		case first == anyToken || first == anyTokens:
			p.lead = append(p.lead, e)
		default:
			if p.wild == nil {
				p.wild = make(map[string][]string)
			}
			p.wild[first] = append(p.wild[first], e)
		}
	}
	return p
}

// has reports whether some pattern without a queue matches subject, whose tokens
// are all literals.
//
// hot: guarded by TestPermissionsDoNotAllocate.
func (p *patternSet) has(subject []byte) bool { return p.match(subject, matchTokens) }

// covers reports whether some pattern without a queue matches all that subject, a
// pattern, matches.
func (p *patternSet) covers(subject []byte) bool { return p.match(subject, covers) }

func (p *patternSet) match(subject []byte, match func(pattern string, subject []byte) bool) bool {
	if _, ok := p.literal[string(subject)]; ok {
		return true
	}
	for _, pattern := range p.lead {
		if match(pattern, subject) {
			return true
		}
	}
	if p.wild == nil {
		return false
	}
	tok, _, _ := cutToken(subject)
	for _, pattern := range p.wild[string(tok)] {
		if match(pattern, subject) {
			return true
		}
	}
	return false
}

// queue reports whether entries name queues for subject, and queue is among
// them.
func (p *patternSet) queue(subject []byte, queue string, whole bool) (named, among bool) {
	if queue == "" {
		return false, false
	}
	match := matchTokens
	if whole {
		match = covers
	}
	for _, e := range p.queues {
		if match(e[0], subject) {
			named = true
			among = among || e[1] == queue || covers(e[1], []byte(queue))
		}
	}
	return named, among
}

// covers reports whether pattern matches all that narrower matches. A last > is
// more than one token, which * does not stand for.
func covers(pattern string, narrower []byte) bool {
	return matchTokens(pattern, narrower) && (!endsOpen(string(narrower)) || endsOpen(pattern))
}

func endsOpen(pattern string) bool { return pattern == anyTokens || strings.HasSuffix(pattern, ".>") }

// overlap reports whether some subject is matched by both patterns.
func overlap(a, b string) bool {
	for {
		atok, arest, amore := strings.Cut(a, ".")
		btok, brest, bmore := strings.Cut(b, ".")
		switch {
		case atok == anyTokens && !amore, btok == anyTokens && !bmore:
			return true
		case atok != btok && atok != anyToken && btok != anyToken, amore != bmore:
			return false
		case !amore:
			return true
		}
		a, b = arest, brest
	}
}

// check says what is wrong with p; nil permits everything.
func (p *Permissions) check() error {
	if p == nil {
		return nil
	}
	for _, list := range []struct {
		name    string
		entries []string
		queues  bool
	}{
		{"publish allow", p.Publish.Allow, false},
		{"publish deny", p.Publish.Deny, false},
		{"subscribe allow", p.Subscribe.Allow, true},
		{"subscribe deny", p.Subscribe.Deny, true},
	} {
		for _, e := range list.entries {
			if !validEntry(e, list.queues) {
				return fmt.Errorf("%s: subject %q is not a valid subject", list.name, e)
			}
		}
	}
	if a := p.AllowResponses; a != nil && (a.Max < -1 || a.Expires < -1) {
		return fmt.Errorf("allow_responses: max %d, expires %v: neither a bound nor -1", a.Max, a.Expires)
	}
	return nil
}

func validEntry(e string, queues bool) bool {
	f := strings.Fields(e)
	switch {
	case len(f) == 1 && f[0] == e:
		return ValidPattern(e)
	case len(f) == 2 && queues:
		return ValidPattern(f[0]) && ValidPattern(f[1])
	default:
		return false
	}
}
