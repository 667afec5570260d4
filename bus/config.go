package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"
)

// Defaults of [Config].
const (
	DefaultHost           = "127.0.0.1"
	DefaultPort           = 4222
	DefaultMaxPayload     = 1 << 20  // bytes
	DefaultMaxControlLine = 4096     // bytes
	DefaultMaxPending     = 64 << 20 // bytes
	DefaultMaxConns       = 65536
	DefaultMaxSubs        = 100_000
	DefaultPingInterval   = 2 * time.Minute
	DefaultPingMax        = 2
	DefaultWriteDeadline  = 10 * time.Second
	DefaultAuthTimeout    = 2 * time.Second

	DefaultLameDuckDuration = 2 * time.Minute
	DefaultLameDuckGrace    = 10 * time.Second
)

// largePayload is the size above which messages crowd each other out.
const largePayload = 8 << 20

// ErrOpenListen refuses to listen where others than this machine can connect
// while no credentials are asked for.
var ErrOpenListen = errors.New("bus: refusing to listen beyond loopback without authentication")

// Config configures a server. A zero field means its default.
type Config struct {
	Host string `reload:"no"` // address to listen on; "" = 127.0.0.1
	Port int    `reload:"no"` // 0 = 4222, -1 = any free port
	// ServerName is the name in INFO; "" = the server's id.
	ServerName string `reload:"no"`

	MaxPayload     int   // bytes of one message with its header; 0 = 1 MiB
	MaxControlLine int   // bytes of arguments of one protocol line; 0 = 4096
	MaxPending     int64 // bytes waiting for one connection; 0 = 64 MiB
	MaxConns       int   // network connections at once; 0 = 65,536
	MaxSubs        int   // subscriptions of one connection; 0 = 100,000, -1 = no limit
	MaxClosed      int   `reload:"no"` // ended connections that are remembered; 0 = 10,000
	MaxSubTokens   int   // tokens of a subject in SUB; 0 = no limit

	// NoHeaders switches headers off in INFO: HPUB is refused, and messages reach clients without
	// their headers.
	NoHeaders bool `reload:"no"`

	SlowConsumers SlowPolicy // at MaxPending; 0 = the connection is closed

	PingInterval  time.Duration // 0 = 2 min
	PingMax       int           // unanswered PINGs before a connection is stale; 0 = 2
	WriteDeadline time.Duration // how long a byte may wait for a client that does not read; 0 = 10 s
	// AuthTimeout bounds the time from accept, or from the end of the TLS handshake, to a good
	// CONNECT; 0 = 2 s, or with TLS one second more than TLS.Timeout.
	AuthTimeout time.Duration

	// AllowOpen permits the server to listen where other machines can connect, even if it asks for
	// no credentials.
	AllowOpen bool `reload:"no"`
	// Account is the name of the account in answers to clients; "" = "$G". There is only one.
	Account string `reload:"yes"`
	// Advertise is the "host:port" under which clients reach this server if that is
	// not where it listens; "" = it is.
	Advertise string `reload:"yes"`

	// LameDuckDuration is the time in which LameDuck closes all clients; 0 = 2 min. It begins with
	// LameDuckGrace, in which they may leave by themselves; 0 = 10 s.
	LameDuckDuration time.Duration `reload:"yes"`
	LameDuckGrace    time.Duration `reload:"yes"`
	// MigrateTo lists URLs of other servers, which INFO names in lame duck mode so that clients go
	// there.
	MigrateTo []string `reload:"yes"`

	// Credentials that clients must give: a token, or a user with a password, or
	// those of one of Users; nothing set = none are asked for, and any that come
	// are ignored. Token and Password may be bcrypt hashes.
	Token, Username, Password string
	Users                     []User
	// NoAuthUser names the one of Users as which clients without credentials connect.
	NoAuthUser string
	// Lookup returns the user of a secret, a token or a password of any name, beside the configured
	// ones; nil: there is none. It is called for each connection, also by Reload. An unknown secret
	// is refused even if no credentials are asked for.
	Lookup func(secret string) *User `reload:"yes"`
	// RequireAuth asks for credentials even if none but those of Lookup are valid.
	RequireAuth bool `reload:"yes"`
	// Permissions apply to clients whose user has none of its own.
	Permissions *Permissions

	// TLS makes the port of Host secure; nil = plain.
	TLS *TLS
	// WebSocket opens a second listener; nil = none.
	WebSocket *WebSocket
	// Unix is the path of a further socket to listen on; "" = none. Only the server's user may open
	// the file. Such clients are treated as those on loopback: the port's credentials are required,
	// and TLS is not used.
	Unix string `reload:"no"`

	// DenyPublish lists patterns on which network clients must not publish, nor
	// ask for replies. Local connections are free of it.
	DenyPublish []string

	// Prefixes lists beginnings of subjects, in whole tokens ("pos", "pos.berlin"), whose messages
	// are counted separately: see [Server.PrefixTraffic].
	Prefixes []string `reload:"no"`

	Logger *slog.Logger // nil = silent
	// Trace logs each operation of connections made from now on at LevelTrace, with up to 1,024
	// bytes of each payload.
	Trace bool `reload:"yes"`

	logins *logins // made of the credentials
}

// withDefaults checks c and fills in its zeros.
func (c Config) withDefaults() (Config, error) {
	c.Host = orDefault(c.Host, DefaultHost)
	c.Port = orDefault(c.Port, DefaultPort)
	c.MaxPayload = orDefault(c.MaxPayload, DefaultMaxPayload)
	c.MaxControlLine = orDefault(c.MaxControlLine, DefaultMaxControlLine)
	c.MaxPending = orDefault(c.MaxPending, DefaultMaxPending)
	c.MaxConns = orDefault(c.MaxConns, DefaultMaxConns)
	c.MaxSubs = orDefault(c.MaxSubs, DefaultMaxSubs)
	c.MaxClosed = orDefault(c.MaxClosed, DefaultMaxClosed)
	c.PingInterval = orDefault(c.PingInterval, DefaultPingInterval)
	c.PingMax = orDefault(c.PingMax, DefaultPingMax)
	c.WriteDeadline = orDefault(c.WriteDeadline, DefaultWriteDeadline)
	c.TLS, c.WebSocket = c.TLS.withDefaults(), c.WebSocket.withDefaults(&c)
	c.AuthTimeout = orDefault(c.AuthTimeout, c.defaultAuthTimeout())
	c.Account = orDefault(c.Account, globalAccount)
	c.LameDuckDuration = orDefault(c.LameDuckDuration, DefaultLameDuckDuration)
	c.LameDuckGrace = orDefault(c.LameDuckGrace, DefaultLameDuckGrace)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.DenyPublish = slices.Clone(c.DenyPublish)
	c.MigrateTo = slices.Clone(c.MigrateTo)
	c.Prefixes = slices.Compact(slices.Sorted(slices.Values(c.Prefixes)))
	c.Users = slices.Clone(c.Users)
	if err := c.check(); err != nil {
		return c, err
	}
	c.logins = newLogins(&c)
	return c, nil
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (c *Config) check() error {
	switch {
	case c.Port < -1 || c.Port > 65535:
		return fmt.Errorf("bus: port %d is out of range", c.Port)
	case c.MaxSubs < -1, c.MaxPending < 0, min(c.MaxPayload, c.MaxControlLine, c.MaxConns, c.MaxSubTokens, c.MaxClosed, c.PingMax) < 0:
		return errors.New("bus: a limit is negative")
	case min(c.PingInterval, c.WriteDeadline, c.AuthTimeout, c.LameDuckDuration, c.LameDuckGrace) < 0:
		return errors.New("bus: a duration is negative")
	case c.LameDuckGrace >= c.LameDuckDuration:
		return fmt.Errorf("bus: lame duck grace period (%v) should be strictly lower than lame duck duration (%v)", c.LameDuckGrace, c.LameDuckDuration)
	case c.SlowConsumers > SlowStall:
		return fmt.Errorf("bus: %v for slow consumers is unknown", c.SlowConsumers)
	case int64(c.MaxPayload) > c.MaxPending:
		return fmt.Errorf("bus: max_payload (%d) cannot be higher than max_pending (%d)", c.MaxPayload, c.MaxPending)
	}
	if err := c.checkMigration(); err != nil {
		return err
	}
	for _, pattern := range c.DenyPublish {
		if !ValidPattern(pattern) {
			return fmt.Errorf("bus: %q is no pattern of subjects", pattern)
		}
	}
	for _, prefix := range c.Prefixes {
		if !ValidSubject(prefix) || !utf8.ValidString(prefix) || prefix == OtherPrefixes {
			return fmt.Errorf("bus: %q is no prefix of subjects", prefix)
		}
	}
	if err := errors.Join(c.TLS.check(), c.WebSocket.check()); err != nil {
		return err
	}
	return c.checkCredentials()
}
