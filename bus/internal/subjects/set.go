package subjects

import "strings"

// Set is a list of patterns, each perhaps with a queue behind a space. A subject is looked up among
// the literal ones and compared only with the wildcards that begin as it does.
type Set struct {
	Entries []string // all of it, in one form
	literal map[string]struct{}
	wild    map[string][]string // by their first tokens
	lead    []string            // which begin with a wildcard
	queues  [][2]string         // subject and queue
}

// NewSet returns the set of the patterns in list.
func NewSet(list []string) (p Set) {
	for _, e := range list {
		f := strings.Fields(e)
		e = strings.Join(f, " ")
		p.Entries = append(p.Entries, e)
		first, _, _ := strings.Cut(e, ".")
		switch {
		case len(f) == 2:
			p.queues = append(p.queues, [2]string{f[0], f[1]})
		case !HasWildcard(e):
			if p.literal == nil {
				p.literal = make(map[string]struct{})
			}
			p.literal[e] = struct{}{}
		case first == AnyToken || first == AnyTokens:
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

// Has reports whether some pattern without a queue matches subject, whose tokens are all literals.
//
// hot: guarded by TestPermissionsDoNotAllocate.
func (p *Set) Has(subject []byte) bool { return p.match(subject, Match) }

// Covers reports whether some pattern without a queue matches all that subject, a pattern, matches.
func (p *Set) Covers(subject []byte) bool { return p.match(subject, Covers) }

func (p *Set) match(subject []byte, match func(pattern string, subject []byte) bool) bool {
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
	tok, _, _ := Cut(subject)
	for _, pattern := range p.wild[string(tok)] {
		if match(pattern, subject) {
			return true
		}
	}
	return false
}

// Queue reports whether entries name queues for subject, and queue is among them.
func (p *Set) Queue(subject []byte, queue string, whole bool) (named, among bool) {
	if queue == "" {
		return false, false
	}
	match := Match
	if whole {
		match = Covers
	}
	for _, e := range p.queues {
		if match(e[0], subject) {
			named = true
			among = among || e[1] == queue || Covers(e[1], []byte(queue))
		}
	}
	return named, among
}

// Covers reports whether pattern matches all that narrower matches. A last > is
// more than one token, which * does not stand for.
func Covers(pattern string, narrower []byte) bool {
	return Match(pattern, narrower) && (!endsOpen(string(narrower)) || endsOpen(pattern))
}

func endsOpen(pattern string) bool { return pattern == AnyTokens || strings.HasSuffix(pattern, ".>") }

// Overlap reports whether some subject is matched by both patterns.
func Overlap(a, b string) bool {
	for {
		atok, arest, amore := strings.Cut(a, ".")
		btok, brest, bmore := strings.Cut(b, ".")
		switch {
		case atok == AnyTokens && !amore, btok == AnyTokens && !bmore:
			return true
		case atok != btok && atok != AnyToken && btok != AnyToken, amore != bmore:
			return false
		case !amore:
			return true
		}
		a, b = arest, brest
	}
}
