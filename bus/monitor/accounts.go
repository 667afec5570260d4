package monitor

import "time"

// accountz is the answer of /accountz: the names, or the detail of one.
type accountz struct {
	ID            string         `json:"server_id"`
	Now           time.Time      `json:"now"`
	SystemAccount string         `json:"system_account"`
	Accounts      []string       `json:"accounts,omitempty"`
	Detail        *accountDetail `json:"account_detail,omitempty"`
}

type accountDetail struct {
	Name          string    `json:"account_name"`
	Updated       time.Time `json:"update_time"`
	IsSystem      bool      `json:"is_system,omitempty"`
	Expired       bool      `json:"expired"`
	Complete      bool      `json:"complete"`
	JetStream     bool      `json:"jetstream_enabled"`
	Leafs         int       `json:"leafnode_connections"`
	Clients       int       `json:"client_connections"`
	Subscriptions int       `json:"subscriptions"`
	NameTag       string    `json:"name_tag"`
	Index         *indexRow `json:"sublist_stats,omitempty"`
}

func (m *monitor) accountz(q *query) any {
	set, st := m.srv.Settings(), m.srv.Stats()
	z := accountz{ID: set.ServerID, Now: time.Now().UTC(), SystemAccount: systemAccount}
	name := q.Get("acc")
	d := accountDetail{Name: name, NameTag: name, Updated: st.Start.UTC(), Complete: true}
	switch name {
	case "":
		z.Accounts = []string{set.Account, systemAccount}
		return z
	case set.Account:
		row := m.indexRow()
		d.Clients, d.Subscriptions, d.Index = st.Connections, st.Subscriptions, &row
	case systemAccount:
		d.IsSystem = true
	default:
		q.refuse("Account %s does not exist", name)
	}
	z.Detail = &d
	return z
}

// accstatz is the answer of /accstatz.
type accstatz struct {
	ID       string       `json:"server_id"`
	Now      time.Time    `json:"now"`
	Accounts []accountRow `json:"account_statz"`
}

type accountRow struct {
	Account       string     `json:"acc"`
	Name          string     `json:"name"`
	Conns         int        `json:"conns"`
	Leafs         int        `json:"leafnodes"`
	TotalConns    int        `json:"total_conns"` // clients and leaf nodes that are connected
	Subscriptions int        `json:"num_subscriptions"`
	Sent          accountSum `json:"sent"`
	Received      accountSum `json:"received"`
	SlowConsumers uint64     `json:"slow_consumers"`
}

type sum struct {
	Msgs  uint64 `json:"msgs"`
	Bytes uint64 `json:"bytes"`
}

type accountSum struct {
	sum
	Gateways sum `json:"gateways"`
	Routes   sum `json:"routes"`
	Leafs    sum `json:"leafs"`
}

func (m *monitor) accstatz(q *query) any {
	unused := q.bool("unused")
	set, st := m.srv.Settings(), m.srv.Stats()
	z := accstatz{ID: set.ServerID, Now: time.Now().UTC(), Accounts: []accountRow{}}
	if unused || st.Connections > 0 {
		z.Accounts = append(z.Accounts, accountRow{
			Account: set.Account, Name: set.Account, Conns: st.Connections, TotalConns: st.Connections,
			Subscriptions: st.Subscriptions, SlowConsumers: st.SlowConsumers,
			Sent: accountSum{sum: sum{st.OutMsgs, st.OutBytes}}, Received: accountSum{sum: sum{st.InMsgs, st.InBytes}},
		})
	}
	if unused {
		z.Accounts = append(z.Accounts, accountRow{Account: systemAccount, Name: systemAccount})
	}
	return z
}
