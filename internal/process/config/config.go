// Package config reads the platform's configuration: one strict YAML file, the
// environment over it, and the command line's flags over both.
//
// Every setting is a key of one section, such as http.listen. The file spells it
// as two lines, the environment as PADDOCK_HTTP_LISTEN. All three sources are
// texts that set the same fields by the same rules, so a value means the same
// wherever it stands. Whatever is wrong is reported at once, each with its place:
// file, line and column, or the variable, or the flag.
//
// The struct is the documentation: [Default] holds the defaults, and
// docs/reference/paddock.example.yaml shows every key with them.
package config

import (
	"errors"
	"fmt"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/process/logging"
)

// ErrInvalid is wrapped by every error about a setting.
var ErrInvalid = errors.New("invalid configuration")

// Config is the platform's whole configuration. It is not changed after Load.
type Config struct {
	HTTP   HTTP   `yaml:"http"`
	Bus    Bus    `yaml:"bus"`
	Wire   Wire   `yaml:"wire"`
	Sets   Sets   `yaml:"sets"`
	Track  Track  `yaml:"track"`
	Limits Limits `yaml:"limits"`
	Log    Log    `yaml:"log"`

	// Warnings are about variables of the environment that look like settings
	// and are none. They are for the log.
	Warnings []string `yaml:"-"`

	origins map[string]string // by key: where its value was given
}

// HTTP is the API and the dashboard.
type HTTP struct {
	Listen  string `yaml:"listen"`  // host:port or unix:path; beyond loopback only with a token
	Token   Secret `yaml:"token"`   // what clients must present; "" asks for nothing
	Profile bool   `yaml:"profile"` // serve /debug/pprof
}

// Bus is the message broker for NATS clients.
type Bus struct {
	Listen         string        `yaml:"listen"`          // host:port; beyond loopback only with credentials
	User           string        `yaml:"user"`            // with Password; "" asks for none
	Password       Secret        `yaml:"password"`        //
	Token          Secret        `yaml:"token"`           // instead of User and Password
	MaxConnections int           `yaml:"max_connections"` // of the network
	MaxPayload     Size          `yaml:"max_payload"`     // of one message with its headers
	MaxPending     Size          `yaml:"max_pending"`     // that wait for one connection before it is closed
	PingInterval   time.Duration `yaml:"ping_interval"`   // of silence before a client is asked whether it is there
	WriteDeadline  time.Duration `yaml:"write_deadline"`  // for one write to a client before it is closed
}

// Wire is the door for devices and programs that speak the wire protocol.
type Wire struct {
	Listen         string `yaml:"listen"`          // host:port or unix:path; beyond loopback only with token and TLS
	Token          Secret `yaml:"token"`           // whose secret clients must prove to know; "" asks for nothing
	Cert           string `yaml:"cert"`            // PEM file with the certificate, for TLS; "" is none
	Key            string `yaml:"key"`             // PEM file with its key
	MaxConnections int    `yaml:"max_connections"` // at once; further ones are refused
}

// Sets is where the fences come from.
type Sets struct {
	Dir          string `yaml:"dir"`          // every *json file in it is a set of fences; "" starts without
	Watch        bool   `yaml:"watch"`        // look for changed files every second, and serve them
	Snapshots    string `yaml:"snapshots"`    // directory where sets are kept ready for the next start; "" is one in the user's cache, off keeps none
	Kind         string `yaml:"kind"`         // of index; "" is the default kind
	Zoom         int    `yaml:"zoom"`         // finest level of the kinds that have one, 0 to 23
	Parents      string `yaml:"parents"`      // GeoJSON file of areas by which the city kinds group fences; "" is none
	Boundary     string `yaml:"boundary"`     // half-open, closed or open: which points of its own boundary a fence holds
	Antimeridian string `yaml:"antimeridian"` // planar or unwrap: what an edge over half the world means
	IDProperty   string `yaml:"id_property"`  // property that names a fence whose feature has no id
	Strict       bool   `yaml:"strict"`       // refuse shapes that RFC 7946 calls invalid
}

// Track is how moving objects are followed.
type Track struct {
	Initial  string        `yaml:"initial"`   // what an object's first position causes: none, inside or enter
	TTL      time.Duration `yaml:"ttl"`       // of silence, after which an object leaves its fences; 0 is never
	MaxAhead time.Duration `yaml:"max_ahead"` // how far in the future a position's time may lie
	MaxGap   time.Duration `yaml:"max_gap"`   // between two positions for which a crossing is interpolated
}

// Limits bound the memory and the time that anybody can cost.
type Limits struct {
	MaxObjects  int           `yaml:"max_objects"` // further new ones are refused, known ones go on
	Connections int           `yaml:"connections"` // of HTTP at once; further ones wait to be accepted
	Body        Size          `yaml:"body"`        // of one HTTP request
	Events      int           `yaml:"events"`      // kept for replay
	EventBytes  Size          `yaml:"event_bytes"` // kept for replay, whichever comes first
	Drain       time.Duration `yaml:"drain"`       // that a stop may take
}

// Log is what the process says about itself.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // auto, text or json; auto is text on a terminal
}

// Default returns what holds where nothing is set.
func Default() *Config {
	return &Config{
		HTTP: HTTP{Listen: "127.0.0.1:8080"},
		Bus: Bus{
			Listen:         "127.0.0.1:4222",
			MaxConnections: 65_536,
			MaxPayload:     1 * MiB,
			MaxPending:     64 * MiB,
			PingInterval:   2 * time.Minute,
			WriteDeadline:  10 * time.Second,
		},
		Wire: Wire{Listen: "127.0.0.1:7400", MaxConnections: 16_384},
		Sets: Sets{Watch: true, Zoom: 14, Boundary: "half-open", Antimeridian: "planar"},
		Track: Track{
			Initial:  "none",
			TTL:      15 * time.Minute,
			MaxAhead: time.Minute,
			MaxGap:   10 * time.Minute,
		},
		Limits: Limits{
			MaxObjects:  10_000_000,
			Connections: 65_536,
			Body:        64 * MiB,
			Events:      100_000,
			EventBytes:  32 * MiB,
			Drain:       25 * time.Second,
		},
		Log: Log{Level: "info", Format: "auto"},
	}
}

// Authenticated reports whether HTTP clients must present a token.
func (h HTTP) Authenticated() bool { return h.Token != "" }

// Authenticated reports whether bus clients must present credentials.
func (b Bus) Authenticated() bool { return b.Token != "" || b.User != "" }

// Authenticated reports whether wire clients must present a token.
func (w Wire) Authenticated() bool { return w.Token != "" }

// Fault returns err as an error about a key, with the place where its value was
// given. It is for checks that only the user of a setting can make.
func (c *Config) Fault(key string, err error) error {
	return &Error{Place: c.origins[key], Key: key, Err: err}
}

// Failure returns err as an error about a key whose value is well formed but
// could not be had, such as an address that is in use: it has its place, but
// does not wrap ErrInvalid.
func (c *Config) Failure(key string, err error) error {
	return &Error{Place: c.origins[key], Key: key, Err: err, valid: true}
}

// Error is one wrong setting.
type Error struct {
	Place string // "paddock.yaml:12:5", "$PADDOCK_LOG_LEVEL", "--level"; "" is the default
	Key   string // "log.level"; "" if the place holds none
	Err   error

	valid bool // see Failure
}

func (e *Error) Error() string {
	text := e.Err.Error()
	if e.Key != "" {
		text = e.Key + ": " + text
	}
	if e.Place != "" {
		text = e.Place + ": " + text
	}
	return text
}

func (e *Error) Unwrap() []error {
	if e.valid {
		return []error{e.Err}
	}
	return []error{ErrInvalid, e.Err}
}

// Validate checks each value by itself and those that must fit together. The
// error joins all that is wrong.
func (c *Config) Validate() error {
	var faults []error
	check := func(key string, err error) {
		if err != nil {
			faults = append(faults, c.Fault(key, err))
		}
	}
	check("http.listen", listen.CheckOr(c.HTTP.Listen, c.HTTP.Authenticated(), "set http.token"))
	check("bus.listen", listen.CheckOr(c.Bus.Listen, c.Bus.Authenticated(), "set bus.token, or bus.user and bus.password"))
	check("bus.listen", when(listen.IsUnix(c.Bus.Listen), "%q is a unix socket; the bus listens on host:port", c.Bus.Listen))
	check("wire.listen", listen.CheckOr(c.Wire.Listen, c.Wire.Authenticated(), "set wire.token"))
	check("wire.listen", c.Wire.exposed())
	check("wire.cert", when((c.Wire.Cert == "") != (c.Wire.Key == ""), "cert and key are set together or not at all"))
	check("bus.user", c.Bus.credentials())
	check("bus.max_payload", when(c.Bus.MaxPayload > c.Bus.MaxPending,
		"%v does not fit into bus.max_pending, which is %v", c.Bus.MaxPayload, c.Bus.MaxPending))
	check("track.initial", oneOf(c.Track.Initial, "none", "inside", "enter"))
	_, err := logging.ParseLevel(c.Log.Level)
	check("log.level", err)
	_, err = logging.ParseFormat(c.Log.Format)
	check("log.format", err)
	for _, s := range settings(c) {
		check(s.key, s.bounds())
	}
	return errors.Join(faults...)
}

// credentials checks that there is one complete way to log in, or none.
func (b Bus) credentials() error {
	if b.Token != "" && b.User != "" {
		return errors.New("a token is set as well; clients can be asked for only one of the two")
	}
	return when((b.User == "") != (b.Password == ""), "user and password are set together or not at all")
}

// exposed checks that a token is not sent over a network in the clear: the proof
// that a client knows it holds for one connection only with TLS.
func (w Wire) exposed() error {
	if w.Token == "" || w.Cert != "" || listen.Check(w.Listen, false) == nil || listen.Check(w.Listen, true) != nil {
		return nil
	}
	return fmt.Errorf("%w: a token needs TLS: set wire.cert and wire.key", listen.ErrExposed)
}

// when returns an error if the condition holds.
func when(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}
