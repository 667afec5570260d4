package monitor

import (
	"net/http"
	"time"
)

// The answers of a single server about clusters, accounts and JetStream follow.

type routez struct {
	ID     string    `json:"server_id"`
	Name   string    `json:"server_name"`
	Now    time.Time `json:"now"`
	Count  int       `json:"num_routes"`
	Routes []none    `json:"routes"`
}

func (m *monitor) routez(q query) (any, error) {
	_, err := q.subs()
	set := m.srv.Settings()
	return routez{ID: set.ServerID, Name: set.ServerName, Now: time.Now().UTC(), Routes: []none{}}, err
}

type gatewayz struct {
	ID       string    `json:"server_id"`
	Now      time.Time `json:"now"`
	Outbound none      `json:"outbound_gateways"`
	Inbound  none      `json:"inbound_gateways"`
}

func (m *monitor) gatewayz(q query) (any, error) {
	if _, err := q.subs(); err != nil {
		return nil, err
	}
	_, err := q.bool("accs")
	return gatewayz{ID: m.srv.ID(), Now: time.Now().UTC()}, err
}

type leafz struct {
	ID    string    `json:"server_id"`
	Now   time.Time `json:"now"`
	Count int       `json:"leafnodes"`
	Leafs []none    `json:"leafs"`
}

func (m *monitor) leafz(q query) (any, error) {
	_, err := q.bool("subs")
	return leafz{ID: m.srv.ID(), Now: time.Now().UTC(), Leafs: []none{}}, err
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

func (m *monitor) jsz(q query) (any, error) {
	for _, name := range []string{"accounts", "streams", "consumers", "direct-consumers", "config"} {
		if _, err := q.bool(name); err != nil {
			return nil, err
		}
	}
	if _, err := q.page(); err != nil {
		return nil, err
	}
	for _, name := range []string{"leader-only", "raft", "stream-leader-only"} {
		if _, err := q.bool(name); err != nil {
			return nil, err
		}
	}
	if leader, _ := q.bool("leader-only"); leader {
		return nil, refuse("filtered response: not leader")
	}
	return jsz{ID: m.srv.ID(), Now: time.Now().UTC(), Disabled: true}, nil
}

func ipqueuesz(q query) (any, error) {
	_, err := q.bool("all")
	return none{}, err
}

func raftz(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("No Raft nodes registered"))
}
