package bus

import (
	"encoding/json"
	"net"
	"runtime"
	"strconv"
)

// connectOptions are the options of CONNECT. A later CONNECT changes only the fields that it names.
type connectOptions struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Echo         bool   `json:"echo"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	Protocol     int    `json:"protocol"`
	Token        string `json:"auth_token"`
	User         string `json:"user"`
	Pass         string `json:"pass"`
	NKey         string `json:"nkey"`
	Sig          string `json:"sig"`
	Account      string `json:"account"`
	NewAccount   bool   `json:"new_account"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	otherOptions
}

// otherOptions change nothing here, but must be of their type to be legal.
type otherOptions struct {
	TLSRequired   bool         `json:"tls_required"`
	JWT           string       `json:"jwt"`
	ProxySig      string       `json:"proxy_sig"`
	RemoteAccount string       `json:"remote_account"`
	Import        *otherFilter `json:"import"`
	Export        *otherFilter `json:"export"`
}

type otherFilter struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// defaultOptions hold until CONNECT comes, if it comes at all.
func defaultOptions() connectOptions {
	return connectOptions{Verbose: true, Pedantic: true, Echo: true}
}

func (o *connectOptions) credentials() credentials {
	return credentials{user: o.User, pass: o.Pass, token: o.Token, nkey: o.NKey, sig: o.Sig}
}

// OnConnect handles the first CONNECT and any later one, which starts the
// connection afresh: its subscriptions are dropped and it must authenticate.
func (rd *reader) OnConnect(options []byte) error {
	c, o := rd.c, &rd.opts
	rd.finishBatch() // earlier messages belong to the connection as it was
	if rd.connected {
		c.dropSubscriptions()
	}
	if json.Unmarshal(options, o) != nil {
		return errArguments
	}
	c.mu.Lock()
	c.identity = o.identity() // also if it is turned away
	c.mu.Unlock()
	if err := c.auth.authenticate(o.credentials()); err != nil {
		return err
	}
	headers := o.Headers && !c.srv.cfg().NoHeaders
	switch {
	case o.Account != "", o.NewAccount:
		return errAuthorization
	case o.Protocol < 0 || o.Protocol > 1:
		return errProtoVersion
	case o.NoResponders && !headers:
		return errNoResponders
	}
	rd.connected = true
	rd.parse.Headers, rd.parse.Pedantic = headers, o.Pedantic
	c.mu.Lock()
	c.headers, c.noEcho = headers, !o.Echo
	c.mu.Unlock()
	c.timers.rtt.CompareAndSwap(0, max(rd.route.now-c.usage.start.UnixNano(), 1)) // until a PING is answered
	rd.acknowledge()
	return nil
}

const (
	// protocolVersion is the release of the reference server whose client protocol this is: clients
	// switch features on by it. The product's own name stands in gitCommit.
	protocolVersion = "2.12.0"
	gitCommit       = "paddock"
	// apiLevel is the level of JetStream's requests that this release announces, with or without
	// JetStream.
	apiLevel = 2
	// globalAccount is the name of the one account that there is, unless it has another.
	globalAccount = "$G"
)

// info is the INFO message, in the order and with the names of the protocol.
type info struct {
	ServerID      string   `json:"server_id"`
	ServerName    string   `json:"server_name"`
	Version       string   `json:"version"`
	Proto         int      `json:"proto"`
	GitCommit     string   `json:"git_commit,omitempty"`
	Go            string   `json:"go"`
	Host          string   `json:"host"`
	Port          int      `json:"port"`
	Headers       bool     `json:"headers"`
	AuthRequired  bool     `json:"auth_required,omitempty"`
	TLSRequired   bool     `json:"tls_required,omitempty"`
	TLSVerify     bool     `json:"tls_verify,omitempty"`
	TLSAvailable  bool     `json:"tls_available,omitempty"`
	MaxPayload    int      `json:"max_payload"`
	ClientID      uint64   `json:"client_id,omitempty"`
	ClientIP      string   `json:"client_ip,omitempty"`
	Nonce         string   `json:"nonce,omitempty"`
	ConnectURLs   []string `json:"connect_urls,omitempty"`
	WSConnectURLs []string `json:"ws_connect_urls,omitempty"`
	LameDuck      bool     `json:"ldm,omitempty"`
	ConnectInfo   bool     `json:"connect_info,omitempty"`
	RemoteAccount string   `json:"remote_account,omitempty"`
	APILevel      int      `json:"api_lvl"`
}

// infoLine returns the INFO for c; connected makes it the second one, which names the user of the
// connection.
func (s *Server) infoLine(c *client, connected bool) []byte {
	i := info{
		ServerID:     s.id,
		ServerName:   s.cfg().ServerName,
		Version:      protocolVersion,
		Proto:        1,
		GitCommit:    gitCommit,
		Go:           runtime.Version(),
		Host:         s.cfg().Host,
		Port:         orDefault(s.listenPort(onTCP), max(s.cfg().Port, 0)),
		Headers:      !s.cfg().NoHeaders,
		AuthRequired: s.cfg().asksForCredentials(),
		MaxPayload:   s.cfg().MaxPayload,
		ClientID:     c.id,
		ClientIP:     c.host,
		APILevel:     apiLevel,
	}
	s.infoListener(&i, c)
	s.cfg().advertise(&i)
	s.infoLameDuck(&i)
	if !connected {
		i.Nonce = c.auth.nonce
	} else {
		i.ConnectInfo, i.RemoteAccount = true, s.cfg().Account
		i.AuthRequired = s.cfg().authRequired() // also with a no_auth_user, as the reference has it
	}
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(append([]byte("INFO "), text...), " \r\n"...)
}

// advertise puts the address under which clients reach the server in the place of
// the one where it listens.
func (c *Config) advertise(i *info) {
	if host, port, err := net.SplitHostPort(c.Advertise); err == nil {
		i.Host = host
		if n, err := strconv.Atoi(port); err == nil {
			i.Port = n
		}
	} else if c.Advertise != "" {
		i.Host = c.Advertise
	}
}

// infoListener sets the fields that depend on the listener of c.
func (s *Server) infoListener(i *info, c *client) {
	cfg := s.cfg()
	switch c.from {
	case onWebSocket:
		w := cfg.WebSocket
		i.Host, i.Port = w.Host, orDefault(s.listenPort(onWebSocket), max(w.Port, 0))
		i.TLSRequired = w.TLS != nil
		i.TLSAvailable = w.TLS != nil
	case onTCP, inProcess:
		if cfg.TLS == nil {
			return
		}
		required := c.from == onTCP && (!cfg.TLS.AllowNonTLS || c.tlsFirst.Load())
		i.TLSRequired, i.TLSAvailable = required, !required
		i.TLSVerify = cfg.TLS.verifies()
	}
}

// ProtocolVersion is the server's version in INFO: the release of the reference server whose
// protocol this is. Clients switch features on by it.
const ProtocolVersion = protocolVersion
