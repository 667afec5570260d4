package monitor

import (
	"net/http"
	"time"
)

// A server of this package has no routes, gateways, leaf nodes and JetStream. Monitoring tools ask
// for them all the same. Each endpoint below checks its parameters as the protocol's reference
// server does, so that a wrong one is refused, and then answers that there are none.

type routez struct {
	ID     string    `json:"server_id"`
	Name   string    `json:"server_name"`
	Now    time.Time `json:"now"`
	Count  int       `json:"num_routes"`
	Routes []none    `json:"routes"`
}

func (m *monitor) routez(q *query) any {
	q.subs()
	set := m.srv.Settings()
	return routez{ID: set.ServerID, Name: set.ServerName, Now: time.Now().UTC(), Routes: []none{}}
}

type gatewayz struct {
	ID       string    `json:"server_id"`
	Now      time.Time `json:"now"`
	Outbound none      `json:"outbound_gateways"`
	Inbound  none      `json:"inbound_gateways"`
}

func (m *monitor) gatewayz(q *query) any {
	q.subs()
	q.bool("accs")
	return gatewayz{ID: m.srv.ID(), Now: time.Now().UTC()}
}

type leafz struct {
	ID    string    `json:"server_id"`
	Now   time.Time `json:"now"`
	Count int       `json:"leafnodes"`
	Leafs []none    `json:"leafs"`
}

func (m *monitor) leafz(q *query) any {
	q.bool("subs")
	return leafz{ID: m.srv.ID(), Now: time.Now().UTC(), Leafs: []none{}}
}

type jsz struct {
	Memory          uint64 `json:"memory"`
	Storage         uint64 `json:"storage"`
	ReservedMemory  uint64 `json:"reserved_memory"`
	ReservedStorage uint64 `json:"reserved_storage"`
	Accounts        int    `json:"accounts"`
	HAAssets        int    `json:"ha_assets"`
	API             struct {
		Level  int    `json:"level"`
		Total  uint64 `json:"total"`
		Errors uint64 `json:"errors"`
	} `json:"api"`
	ID       string    `json:"server_id"`
	Now      time.Time `json:"now"`
	Disabled bool      `json:"disabled"`
	Config   struct {
		MaxMemory  int64 `json:"max_memory"`
		MaxStorage int64 `json:"max_storage"`
	} `json:"config"`
	Streams   int    `json:"streams"`
	Consumers int    `json:"consumers"`
	Messages  uint64 `json:"messages"`
	Bytes     uint64 `json:"bytes"`
	Total     int    `json:"total"`
}

func (m *monitor) jsz(q *query) any {
	q.bools("accounts", "streams", "consumers", "direct-consumers", "config")
	q.page()
	q.bools("leader-only", "raft", "stream-leader-only")
	if q.bool("leader-only") {
		q.refuse("filtered response: not leader")
	}
	return jsz{ID: m.srv.ID(), Now: time.Now().UTC(), Disabled: true}
}

func ipqueuesz(q *query) any {
	q.bool("all")
	return none{}
}

func raftz(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("No Raft nodes registered"))
}
