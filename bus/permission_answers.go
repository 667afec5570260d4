package bus

import "time"

// maxAnswers and maxAnswerBytes bound how many requests, and how many bytes of
// their reply subjects, one client may have received and not answered: beyond
// them the oldest can no longer be answered.
const (
	maxAnswers     = 1 << 16
	maxAnswerBytes = 8 << 20
)

// answers are the reply subjects to which a client may publish because it has got
// requests with them. The client's lock guards them.
type answers struct {
	rule  ResponsePermission
	open  map[string]*answer
	queue []*answer // in the order in which the requests came, from first on
	first int
	bytes int // of the subjects in queue
}

type answer struct {
	reply string
	since int64 // Unix ns
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
		old.over = true
	}
	r := &answer{reply: string(reply), since: now}
	a.open[r.reply] = r
	a.queue = append(a.queue, r)
	a.bytes += len(r.reply)
	a.prune(now)
}

// prune lets go of what has expired, is over, or is beyond the bounds.
func (a *answers) prune(now int64) {
	for a.first < len(a.queue) {
		r := a.queue[a.first]
		full := len(a.queue)-a.first > maxAnswers || a.bytes > maxAnswerBytes
		if !full && !r.over && !a.expired(r, now) {
			break
		}
		a.bytes -= len(r.reply)
		if !r.over {
			delete(a.open, r.reply)
		}
		a.queue[a.first] = nil
		a.first++
	}
	if a.first > len(a.queue)/2 {
		a.queue = append(a.queue[:0], a.queue[a.first:]...)
		clear(a.queue[len(a.queue) : len(a.queue)+a.first])
		a.first = 0
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
		r.over = true
		delete(a.open, r.reply)
	}
	return true
}
