package monitor

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"paddock/bus"
)

// varz is the answer of /varz: names, types and order are the reference's.
type varz struct {
	ID             string    `json:"server_id"`
	Name           string    `json:"server_name"`
	Version        string    `json:"version"`
	Proto          int       `json:"proto"`
	Commit         string    `json:"git_commit,omitempty"`
	Go             string    `json:"go"`
	Host           string    `json:"host"`
	Port           int       `json:"port"`
	AuthRequired   bool      `json:"auth_required,omitempty"`
	TLSRequired    bool      `json:"tls_required,omitempty"`
	TLSVerify      bool      `json:"tls_verify,omitempty"`
	MaxConnections int       `json:"max_connections"`
	MaxSubs        int       `json:"max_subscriptions,omitempty"`
	PingInterval   int64     `json:"ping_interval"` // ns
	PingMax        int       `json:"ping_max"`
	HTTPHost       string    `json:"http_host"`
	HTTPPort       int       `json:"http_port"`
	HTTPBasePath   string    `json:"http_base_path"`
	HTTPSPort      int       `json:"https_port"`
	AuthTimeout    float64   `json:"auth_timeout"` // s
	MaxControlLine int       `json:"max_control_line"`
	MaxPayload     int       `json:"max_payload"`
	MaxPending     int64     `json:"max_pending"`
	Cluster        none      `json:"cluster"`
	Gateway        none      `json:"gateway"`
	Leaf           none      `json:"leaf"`
	MQTT           none      `json:"mqtt"`
	WebSocket      webSocket `json:"websocket"`
	JetStream      none      `json:"jetstream"`
	TLSTimeout     float64   `json:"tls_timeout"`    // s
	WriteDeadline  int64     `json:"write_deadline"` // ns

	varzNow

	HTTPReqStats  map[string]uint64 `json:"http_req_stats"`
	ConfigLoaded  time.Time         `json:"config_load_time"`
	ConfigDigest  string            `json:"config_digest"`
	Tags          []string          `json:"tags,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	SystemAccount string            `json:"system_account,omitempty"`
	Slow          byKind            `json:"slow_consumer_stats"`
	Stale         byKind            `json:"stale_connection_stats"`
	Disk          diskWaits         `json:"disk_io_wait_stats"`
}

// varzNow is the part that changes by itself.
type varzNow struct {
	Start            time.Time `json:"start"`
	Now              time.Time `json:"now"`
	Uptime           string    `json:"uptime"`
	Mem              int64     `json:"mem"` // bytes, resident
	Cores            int       `json:"cores"`
	MaxProcs         int       `json:"gomaxprocs"`
	MemLimit         int64     `json:"gomemlimit,omitempty"`
	CPU              float64   `json:"cpu"` // percent of one core
	Connections      int       `json:"connections"`
	TotalConnections uint64    `json:"total_connections"`
	Routes           int       `json:"routes"`
	Remotes          int       `json:"remotes"`
	Leafs            int       `json:"leafnodes"`
	InMsgs           uint64    `json:"in_msgs"`
	InBytes          uint64    `json:"in_bytes"`
	InClientMsgs     uint64    `json:"in_client_msgs"`
	InClientBytes    uint64    `json:"in_client_bytes"`
	OutMsgs          uint64    `json:"out_msgs"`
	OutBytes         uint64    `json:"out_bytes"`
	OutClientMsgs    uint64    `json:"out_client_msgs"`
	OutClientBytes   uint64    `json:"out_client_bytes"`
	SlowConsumers    uint64    `json:"slow_consumers"`
	StaleConnections uint64    `json:"stale_connections"`
	Stalls           uint64    `json:"stalled_clients"`
	Subscriptions    int       `json:"subscriptions"`
}

// webSocket describes the listener for web pages; {} if there is none.
type webSocket struct {
	Host             string   `json:"host,omitempty"`
	Port             int      `json:"port,omitempty"`
	HandshakeTimeout int64    `json:"handshake_timeout,omitempty"` // ns
	NoTLS            bool     `json:"no_tls,omitempty"`
	SameOrigin       bool     `json:"same_origin,omitempty"`
	AllowedOrigins   []string `json:"allowed_origins,omitempty"`
	Compression      bool     `json:"compression,omitempty"`
}

func webSocketOf(w *bus.WebSocketSettings) webSocket {
	if w == nil {
		return webSocket{}
	}
	return webSocket{
		Host: w.Host, Port: w.Port, HandshakeTimeout: int64(w.HandshakeTimeout), NoTLS: !w.TLS,
		SameOrigin: w.SameOrigin, AllowedOrigins: w.AllowedOrigins, Compression: w.Compression,
	}
}

// none stands for a missing feature: {}.
type none struct{}

// byKind is a count by the kind of connection, of which this broker has one.
type byKind struct {
	Clients  uint64 `json:"clients"`
	Routes   uint64 `json:"routes"`
	Gateways uint64 `json:"gateways"`
	Leafs    uint64 `json:"leafs"`
}

// diskWaits is all zeros: the broker has no disk.
type diskWaits struct {
	Waiters     int64  `json:"waiters"`
	Waits       uint64 `json:"waits"`
	WaitTime    uint64 `json:"wait_time"`
	MaxWaitTime uint64 `json:"max_wait_time"`
}

// systemAccount is the account that servers keep for themselves.
const systemAccount = "$SYS"

func (m *monitor) varz(*query) any {
	set, st := m.srv.Settings(), m.srv.Stats()
	v := varz{
		ID: set.ServerID, Name: set.ServerName, Version: set.Version, Proto: set.Proto, Commit: set.Commit, Go: set.Go,
		Host: set.Host, Port: set.Port, AuthRequired: set.AuthRequired,
		TLSRequired: set.TLSRequired, TLSVerify: set.TLSVerify, WebSocket: webSocketOf(set.WebSocket),
		MaxConnections: set.MaxConns, MaxSubs: set.MaxSubs,
		PingInterval: int64(set.PingInterval), PingMax: set.PingMax,
		HTTPHost: m.opts.Host, HTTPPort: m.opts.Port, HTTPBasePath: m.opts.BasePath, HTTPSPort: m.opts.TLSPort,
		AuthTimeout: set.AuthTimeout.Seconds(), MaxControlLine: set.MaxControlLine,
		MaxPayload: set.MaxPayload, MaxPending: set.MaxPending,
		TLSTimeout: cmp.Or(set.TLSTimeout, bus.DefaultTLSTimeout).Seconds(), WriteDeadline: int64(set.WriteDeadline),
		varzNow:      m.varzNow(st),
		HTTPReqStats: m.counts(), SystemAccount: systemAccount, ConfigLoaded: st.Start.UTC(),
		Slow: byKind{Clients: st.SlowConsumers}, Stale: byKind{Clients: st.StaleConnections},
	}
	if m.opts.Config != nil {
		c := m.opts.Config()
		v.ConfigLoaded, v.ConfigDigest, v.Tags, v.Metadata = c.Time.UTC(), c.Digest, c.Tags, c.Metadata
	}
	return v
}

func (m *monitor) varzNow(st bus.Stats) varzNow {
	now := time.Now()
	cpu, mem := m.usage.read(now)
	v := varzNow{
		Start: st.Start.UTC(), Now: now.UTC(), Uptime: uptime(now.Sub(st.Start)),
		Mem: mem, CPU: cpu, Cores: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0),
		Connections: st.Connections, TotalConnections: st.TotalConnections,
		InMsgs: st.InMsgs, InBytes: st.InBytes, InClientMsgs: st.InMsgs, InClientBytes: st.InBytes,
		OutMsgs: st.OutMsgs, OutBytes: st.OutBytes, OutClientMsgs: st.OutMsgs, OutClientBytes: st.OutBytes,
		SlowConsumers: st.SlowConsumers, StaleConnections: st.StaleConnections, Stalls: st.Stalls,
		Subscriptions: st.Subscriptions,
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		v.MemLimit = limit
	}
	return v
}

// uptime writes d as 1y2d3h4m5s: whole seconds, without the units before the first
// that is not zero. A year has 365 days.
func uptime(d time.Duration) string {
	left := max(int64(d/time.Second), 0)
	var b strings.Builder
	for _, unit := range []struct {
		name    byte
		seconds int64
	}{{'y', 365 * 86400}, {'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}} {
		n := left / unit.seconds
		left %= unit.seconds
		if n > 0 || b.Len() > 0 || unit.name == 's' {
			fmt.Fprintf(&b, "%d%c", n, unit.name)
		}
	}
	return b.String()
}

// usageWindow is the shortest time over which CPU use is averaged. More frequent requests get the
// last answer.
const usageWindow = time.Second

// processUsage measures the resources of the process, between readings.
type processUsage struct {
	mu    sync.Mutex
	since time.Time
	spent time.Duration // CPU time until since
	cpu   float64
}

func (u *processUsage) start() { u.since, u.spent = time.Now(), cpuTime() }

// read returns percents of one core and resident bytes.
func (u *processUsage) read(now time.Time) (cpu float64, mem int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if window := now.Sub(u.since); window >= usageWindow {
		spent := cpuTime()
		u.cpu = math.Round(1000*(spent-u.spent).Seconds()/window.Seconds()) / 10
		u.since, u.spent = now, spent
	}
	return u.cpu, resident()
}
