package bus

import (
	"fmt"
	"strings"
	"time"

	"paddock/bus/internal/subjects"
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
	allow, deny subjects.Set
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
	return subjectRules{limited: len(p.Allow) > 0, allow: subjects.NewSet(p.Allow), deny: subjects.NewSet(p.Deny)}
}

// limitsPublish reports whether there are subjects that must not be published to.
func (g *grant) limitsPublish() bool {
	return g != nil && (g.publish.limited || len(g.publish.deny.Entries) > 0)
}

// mayPublish decides about a subject that is published to; answers to requests
// are another matter.
func (g *grant) mayPublish(subject []byte) bool {
	p := &g.publish
	return (!p.limited || p.allow.Has(subject)) && !p.deny.Has(subject)
}

// maySubscribe decides about a SUB. Where entries of a list name queues for the
// subject, a queue has to be among them. What a wildcard reaches beyond what is
// denied is left to a filter.
func (g *grant) maySubscribe(subject []byte, queue string) bool {
	p := &g.subscribe
	if p.limited {
		allowed := p.allow.Covers(subject)
		if named, among := p.allow.Queue(subject, queue, true); named {
			allowed = among
		}
		if !allowed {
			return false
		}
	}
	_, among := p.deny.Queue(subject, queue, false)
	return !among && !p.deny.Has(subject)
}

// filterFor returns what a subscription that has been permitted must not be
// given; nil if it reaches nothing of that kind.
func (g *grant) filterFor(pattern, queue string) *filter {
	if g == nil || !subjects.HasWildcard(pattern) {
		return nil
	}
	var entries []string
	for _, e := range g.subscribe.deny.Entries {
		subject, q, named := strings.Cut(e, " ")
		if subjects.Overlap(subject, pattern) && (!named || queue != "" && subjects.Covers(q, []byte(queue))) {
			entries = append(entries, subject)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return &filter{deny: subjects.NewSet(entries)}
}

// filter is what is not delivered to a subscription though its pattern matches.
// The lock of the subscription's owner guards it.
type filter struct {
	deny   subjects.Set
	latest []byte // the subject that came before, for streams of one subject
	denied bool   // what has been decided about it
}

func (f *filter) denies(subject []byte) bool {
	if string(f.latest) != string(subject) || len(subject) == 0 {
		f.latest = append(f.latest[:0], subject...)
		f.denied = f.deny.Has(subject)
	}
	return f.denied
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
