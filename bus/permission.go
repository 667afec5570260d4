package bus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/bus/internal/subjects"
)

const (
	defaultAnswers       = 1
	defaultAnswerExpires = 2 * time.Minute
)

// grant is the permissions of a user, compiled once from [Permissions]. It never changes; a nil
// grant permits everything. A remembered decision is stored with its grant.
type grant struct {
	publish   subjectRules
	subscribe subjectRules
	answers   *ResponsePermission // without zeros; nil = none
}

// subjectRules is a [SubjectPermission] to look things up in.
type subjectRules struct {
	limited     bool // only entries of allow are permitted
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

// mayPublish decides about a subject that is published to; answers to requests are another matter.
func (g *grant) mayPublish(subject []byte) bool {
	p := &g.publish
	return (!p.limited || p.allow.Has(subject)) && !p.deny.Has(subject)
}

// maySubscribe decides about a SUB. If allow entries name queues for the subject, the queue has to
// be among them; if deny entries name it, the SUB is refused. A wildcard that matches denied
// subjects gets a filter.
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

// filterFor returns the filter of a permitted subscription, with the subjects that it must not get;
// nil if there are none.
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

// filter holds the subjects that are not delivered to a subscription though its pattern matches.
// The lock of the subscription's owner guards it.
type filter struct {
	deny   subjects.Set
	latest []byte // the subject that came before, for streams of one subject
	denied bool   // the decision about it
}

func (f *filter) denies(subject []byte) bool {
	if string(f.latest) != string(subject) || len(subject) == 0 {
		f.latest = append(f.latest[:0], subject...)
		f.denied = f.deny.Has(subject)
	}
	return f.denied
}

// check returns an error if p is not valid; nil permits everything.
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

// maxAnswers and maxAnswerBytes bound how many requests, and how many bytes of
// their reply subjects, one client may have received and not answered: beyond
// them the oldest can no longer be answered. Of entries that are over, up to as many as are open
// and overAnswers more are kept.
const (
	maxAnswers     = 1 << 16
	maxAnswerBytes = 8 << 20
	overAnswers    = 1 << 10
)

// answers are the reply subjects to which a client may publish because it has got
// requests with them. The client's lock guards them.
type answers struct {
	rule  ResponsePermission
	open  map[string]*answer
	queue []*answer // in the order in which the requests came, from first on
	first int
	bytes int // of the subjects in open
}

type answer struct {
	reply string // "" once it is over
	since int64  // Unix ns
	given int
	over  bool // another request has come with the same reply, or no answer is left
}

func newAnswers(rule *ResponsePermission) *answers {
	if rule == nil {
		return nil
	}
	return &answers{rule: *rule, open: make(map[string]*answer)}
}

// request remembers that a request has been delivered at the time given.
func (a *answers) request(reply []byte, now int64) {
	if old := a.open[string(reply)]; old != nil {
		a.end(old)
	}
	r := &answer{reply: string(reply), since: now}
	a.open[r.reply] = r
	a.queue = append(a.queue, r)
	a.bytes += len(r.reply)
	a.prune(now)
}

// end takes an open request out of the bounds.
func (a *answers) end(r *answer) {
	delete(a.open, r.reply)
	a.bytes -= len(r.reply)
	r.reply, r.over = "", true
}

// prune removes entries that have expired, are used up, or exceed the bounds.
func (a *answers) prune(now int64) {
	for a.first < len(a.queue) {
		r := a.queue[a.first]
		full := len(a.open) > maxAnswers || a.bytes > maxAnswerBytes
		if !full && !r.over && !a.expired(r, now) {
			break
		}
		if !r.over {
			a.end(r)
		}
		a.queue[a.first] = nil
		a.first++
	}
	if len(a.queue) > 2*len(a.open)+overAnswers {
		a.queue, a.first = slices.DeleteFunc(a.queue, func(r *answer) bool { return r == nil || r.over }), 0
	}
}

func (a *answers) expired(r *answer, now int64) bool {
	return a.rule.Expires >= 0 && now-r.since > int64(a.rule.Expires)
}

// take uses up one answer to reply, if one is left.
func (a *answers) take(reply []byte) bool {
	r := a.open[string(reply)]
	if r == nil || a.expired(r, time.Now().UnixNano()) {
		return false
	}
	r.given++
	if a.rule.Max >= 0 && r.given >= a.rule.Max {
		a.end(r)
	}
	return true
}

// User is a user that may connect: by name and password, or by nkey.
type User struct {
	Name     string
	Password string // plain, or a bcrypt hash; "" = the empty one, or with TLS.MapUsers none
	NKey     string // public key, "U..."; in place of Name and Password

	Permissions *Permissions // nil = Config.Permissions
	// Connections lists how the user may connect; empty = in every way.
	Connections []ConnectionType
}

// Permissions list the subjects that a user may publish and subscribe to. The zero value permits
// everything.
//
// A SUB is refused if an entry of Subscribe.Deny matches its subject as it is written, or no entry
// of Subscribe.Allow matches everything that it does. A wildcard that goes beyond an entry of Deny
// is accepted, and denied messages are not delivered.
//
// Entries that name a queue are for SUBs with that queue, which may have
// wildcards as subjects have. Where entries of Allow name queues for a subject, a
// queue has to be among them; a SUB without a queue needs an entry without one.
type Permissions struct {
	Publish   SubjectPermission
	Subscribe SubjectPermission // an entry may name a queue behind the subject: "orders.* workers"
	// AllowResponses lets the receiver of a request publish to its reply subject, even if Publish
	// does not permit it. An empty Publish.Allow then permits nothing else. nil = no.
	AllowResponses *ResponsePermission
}

// SubjectPermission lists patterns of subjects. Subjects that Deny matches are refused. Of the
// others, those in Allow are permitted, or all if Allow is empty.
type SubjectPermission struct{ Allow, Deny []string }

// ResponsePermission bounds the answers to one request.
type ResponsePermission struct {
	Max     int           // answers; 0 = 1, -1 = no limit
	Expires time.Duration // from the request's delivery; 0 = 2 min, -1 = never
}

// ConnectionType is a way to connect, under the name that configurations use.
type ConnectionType string

// The ways to connect to this broker.
const (
	ConnectionStandard  ConnectionType = "STANDARD"
	ConnectionWebSocket ConnectionType = "WEBSOCKET"
	ConnectionInProcess ConnectionType = "IN_PROCESS"
)

// connectionTypes are all types that configurations may name. A user that is limited to types that
// this broker lacks cannot connect.
var connectionTypes = []ConnectionType{
	ConnectionStandard, ConnectionWebSocket, ConnectionInProcess,
	"LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS",
}

// ParseConnectionType gives the way to connect of that name, in any case of letters.
func ParseConnectionType(name string) (ConnectionType, error) {
	if t := ConnectionType(strings.ToUpper(name)); slices.Contains(connectionTypes, t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown connection type %q", name)
}
