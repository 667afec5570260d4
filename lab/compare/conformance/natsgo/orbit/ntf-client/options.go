package ntf

import (
	"time"

	"github.com/synadia-io/orbit.go/internal/spawn"
)

// CreateOption is an option of CreateServer and CreateCluster.
type CreateOption interface{ create(*spawn.Config) }

// UpdateOption is an option of UpdateServer.
type UpdateOption interface{ update(*update) }

// TLSOpt is an option of WithGeneratedTLS.
type TLSOpt func(*spawn.TLS)

// update is the configuration that takes the place of the present one.
type update struct {
	config     spawn.Config
	tlsTimeout float64 // seconds; 0 = as it is
}

// snippet puts a text into a slot of the configuration.
type snippet struct{ slot, text string }

func (s snippet) create(c *spawn.Config) {
	if c.Snippets == nil {
		c.Snippets = map[string]string{}
	}
	c.Snippets[s.slot] = s.text
}

func (s snippet) update(u *update) { s.create(&u.config) }

// WithAccounts gives the accounts.
func WithAccounts(text string) snippet { return snippet{"accounts", text} }

// WithAuthorization gives the users.
func WithAuthorization(text string) snippet { return snippet{"authorization", text} }

// WithSystemAccount names the system account.
func WithSystemAccount(text string) snippet { return snippet{"system_account", text} }

// WithTopLevel gives any other lines.
func WithTopLevel(text string) snippet { return snippet{"top", text} }

// WithJetStream gives lines within the jetstream block.
func WithJetStream(text string) snippet { return snippet{"jetstream", text} }

// WithWebSocket gives the websocket block; its port is .Ports.websocket.
func WithWebSocket(text string) snippet { return snippet{"websocket", text} }

// WithLeafNode gives the leafnodes block; its port is .Ports.leafnode.
func WithLeafNode(text string) snippet { return snippet{"leafnode", text} }

// generatedTLS is WithGeneratedTLS.
type generatedTLS []TLSOpt

func (g generatedTLS) create(c *spawn.Config) {
	c.TLS = &spawn.TLS{Mutual: true}
	for _, opt := range g {
		opt(c.TLS)
	}
}

// WithGeneratedTLS has certificates made for the servers and their clients.
func WithGeneratedTLS(opts ...TLSOpt) CreateOption { return generatedTLS(opts) }

// TLSMutual has the server ask for the client's certificate: the default.
func TLSMutual() TLSOpt { return func(t *spawn.TLS) { t.Mutual = true } }

// TLSServerOnly has it not ask.
func TLSServerOnly() TLSOpt { return func(t *spawn.TLS) { t.Mutual = false } }

// TLSSANs gives the names in the server's certificate.
func TLSSANs(names ...string) TLSOpt { return func(t *spawn.TLS) { t.Names = names } }

// TLSHandshakeFirst has the server wait for the handshake before INFO.
func TLSHandshakeFirst() TLSOpt { return func(t *spawn.TLS) { t.HandshakeFirst = true } }

// TLSTimeout bounds the handshake.
func TLSTimeout(d time.Duration) TLSOpt { return func(t *spawn.TLS) { t.Timeout = d.Seconds() } }

type tlsTimeout time.Duration

func (d tlsTimeout) update(u *update) { u.tlsTimeout = time.Duration(d).Seconds() }

// WithTLSTimeout changes the handshake's bound.
func WithTLSTimeout(d time.Duration) UpdateOption { return tlsTimeout(d) }
