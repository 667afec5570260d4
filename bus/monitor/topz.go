package monitor

import "time"

// topz is the answer of /topz, which is ours: the busiest subjects, and the traffic
// of prefixes as /metrics has it.
type topz struct {
	ID       string       `json:"server_id"`
	Now      time.Time    `json:"now"`
	Subjects []subjectRow `json:"subjects"`
	Prefixes []prefixRow  `json:"prefixes"`
}

type subjectRow struct {
	Subject string `json:"subject"`
	Msgs    uint64 `json:"msgs"`           // at least; recent traffic counts most
	Error   uint64 `json:"max_undercount"` // so many more at most
}

type prefixRow struct {
	Prefix  string `json:"prefix"`
	InMsgs  uint64 `json:"in_msgs"`
	OutMsgs uint64 `json:"out_msgs"`
}

// topSubjects bounds the subjects if the query does not.
const topSubjects = 32

func (m *monitor) topz(q *query) any {
	limit := q.int("limit")
	if limit <= 0 {
		limit = topSubjects
	}
	z := topz{ID: m.srv.ID(), Now: time.Now().UTC(), Subjects: []subjectRow{}}
	for _, s := range m.srv.BusySubjects(limit) {
		z.Subjects = append(z.Subjects, subjectRow{s.Subject, s.Messages, s.Over})
	}
	for _, p := range m.srv.PrefixTraffic() {
		z.Prefixes = append(z.Prefixes, prefixRow{p.Prefix, p.In, p.Out})
	}
	return z
}
