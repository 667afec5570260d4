package bus

import "encoding/json"

// connectOptions are what a client says in CONNECT. A later CONNECT changes
// only the fields that it names.
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
func (c *client) OnConnect(options []byte) error {
	c.finishBatch() // what was routed so far went to the connection as it was
	if c.greeted {
		c.dropSubscriptions()
	}
	if json.Unmarshal(options, &c.opts) != nil {
		return errArguments
	}
	c.mu.Lock()
	c.who = c.opts.identity() // also if it is turned away
	c.mu.Unlock()
	if err := c.authenticate(c.opts.credentials()); err != nil {
		return err
	}
	headers := c.opts.Headers && !c.srv.cfg().NoHeaders
	switch o := &c.opts; {
	case o.Account != "", o.NewAccount:
		return errAuthorization
	case o.Protocol < 0 || o.Protocol > 1:
		return errProtoVersion
	case o.NoResponders && !headers:
		return errNoResponders
	}
	c.greeted = true
	c.parse.Headers, c.parse.Pedantic = headers, c.opts.Pedantic
	c.mu.Lock()
	c.headers, c.noEcho = headers, !c.opts.Echo
	c.named()
	c.mu.Unlock()
	c.usage.rtt.CompareAndSwap(0, max(c.route.now-c.usage.start.UnixNano(), 1)) // until a PING tells better
	c.acknowledge()
	return nil
}
