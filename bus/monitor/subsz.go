package monitor

import (
	"time"

	"paddock/bus"
)

// subsz is the answer of /subsz: names, types and order are the reference's.
type subsz struct {
	ID  string    `json:"server_id"`
	Now time.Time `json:"now"`
	indexRow
	Total  int      `json:"total"`
	Offset int      `json:"offset"`
	Limit  int      `json:"limit"`
	Subs   []subRow `json:"subscriptions_list,omitempty"`
}

// indexRow describes the subject index. The connections' caches are not counted: num_cache is 0.
type indexRow struct {
	Subscriptions int     `json:"num_subscriptions"`
	Cached        int     `json:"num_cache"`
	Inserts       uint64  `json:"num_inserts"`
	Removes       uint64  `json:"num_removes"`
	Matches       uint64  `json:"num_matches"`
	HitRate       float64 `json:"cache_hit_rate"`
	MaxFanout     int     `json:"max_fanout"`
	AvgFanout     float64 `json:"avg_fanout"`
}

// subRow is one subscription.
type subRow struct {
	Account    string `json:"account,omitempty"`
	AccountTag string `json:"account_tag,omitempty"`
	Subject    string `json:"subject"`
	Queue      string `json:"qgroup,omitempty"`
	SID        string `json:"sid"`
	Msgs       uint64 `json:"msgs"`
	Max        uint64 `json:"max,omitempty"`
	Conn       uint64 `json:"cid"`
}

func detail(s bus.SubInfo) subRow {
	return subRow{Subject: s.Subject, Queue: s.Queue, SID: s.SID, Msgs: s.Delivered, Max: s.Max, Conn: s.Conn}
}

func (m *monitor) subsz(q *query) any {
	list, p, test := q.bool("subs"), q.page(), q.Get("test")
	if test != "" && !bus.ValidSubject(test) {
		q.refuse("invalid test subject, must be valid publish subject: %s", test)
		return nil
	}
	set := m.srv.Settings()
	z := subsz{ID: set.ServerID, Now: time.Now().UTC(), Offset: p.offset, Limit: p.limit}
	if acc := q.Get("acc"); acc != "" && acc != set.Account {
		return z
	}
	z.indexRow = m.indexRow()
	if !list {
		return z
	}
	var subs []bus.SubInfo
	subs, z.Total = m.srv.Subscriptions(test, p.offset, p.limit)
	for _, s := range subs {
		row := detail(s)
		row.Account, row.AccountTag = set.Account, set.Account
		z.Subs = append(z.Subs, row)
	}
	return z
}

func (m *monitor) indexRow() indexRow {
	x, st := m.srv.IndexStats(), m.srv.Stats()
	r := indexRow{
		Subscriptions: x.Subscriptions, Inserts: x.Inserts, Removes: x.Removes,
		Matches: x.Lookups, MaxFanout: x.MaxFanout,
	}
	if x.Lookups > 0 {
		r.HitRate = 1 - float64(min(x.Searches, x.Lookups))/float64(x.Lookups)
	}
	if st.InMsgs > 0 {
		r.AvgFanout = float64(st.OutMsgs) / float64(st.InMsgs)
	}
	return r
}
