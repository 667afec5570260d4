// Package config reads the platform's configuration: one strict YAML file, the environment over it,
// and the flags of the command line over both.
//
// Every setting is a key of one section, such as http.listen. The file spells it as two lines, the
// environment as PADDOCK_HTTP_LISTEN. All three sources are texts that set the same fields by the
// same rules, so a value means the same in each of them. All errors are reported at once, each with
// its place: file, line and column, or the variable, or the flag.
//
// The struct is the documentation: [Default] holds the defaults, and
// docs/reference/paddock.example.yaml shows every key with its default.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/process/keyring"
	"paddock/internal/process/logging"
)

// ErrInvalid is wrapped by every error about a setting.
var ErrInvalid = errors.New("invalid configuration")

// Config is the platform's whole configuration. It does not change after Load. A running platform
// takes over another value of a field with the tag reload; a change of any other takes a restart.
type Config struct {
	Data    Data    `yaml:"data"`
	Cluster Cluster `yaml:"cluster"`
	Journal Journal `yaml:"journal"`
	History History `yaml:"history"`
	HTTP    HTTP    `yaml:"http"`
	Access  Access  `yaml:"access"`
	Bus     Bus     `yaml:"bus"`
	Wire    Wire    `yaml:"wire"`
	Sets    Sets    `yaml:"sets"`
	Track   Track   `yaml:"track"`
	Limits  Limits  `yaml:"limits"`
	Log     Log     `yaml:"log"`

	Dashboard Dashboard `yaml:"dashboard"`

	// Warnings lists variables of the environment that look like settings but are not. The caller
	// logs them.
	Warnings []string `yaml:"-"`

	origins map[string]string // by key: the place of its value
}

// Data holds the settings of what the platform keeps on disk.
type Data struct {
	Dir string `yaml:"dir"` // "" is $STATE_DIRECTORY, else a directory in the user's data; off keeps nothing
}

// Cluster holds the settings of a platform that is a node of several.
type Cluster struct {
	// URL lists NATS servers with JetStream, separated by commas, whose stream is the log of the
	// cluster; "" is a platform on its own.
	URL  string `yaml:"url"`
	Name string `yaml:"name"` // of the cluster, in the names of its streams and subjects
	Node string `yaml:"node"` // name of this node; "" is that of the host
	// Advertise is the URL of this node's HTTP interface for the other nodes; "" is that of
	// http.listen.
	Advertise string `yaml:"advertise"`

	// A snapshot of the state is written once the log has grown by SnapshotBytes since the last
	// one, or by the bytes of the last one, if these are more; and once it has grown at all, after
	// the time Snapshot.
	Snapshot      time.Duration `yaml:"snapshot"`       //
	SnapshotBytes Size          `yaml:"snapshot_bytes"` //

	User     string `yaml:"user"`     // at the servers, with Password
	Password Secret `yaml:"password"` //
	Token    Secret `yaml:"token"`    // instead of User and Password
	Creds    string `yaml:"creds"`    // file of credentials, instead of both; "" is none
	RootCA   string `yaml:"root_ca"`  // PEM file of the authorities of the servers and of other nodes; "" is the system's
}

// On reports whether the platform is a node of several.
func (c Cluster) On() bool { return c.URL != "" }

// check checks the settings that must fit together.
func (c Cluster) check() error {
	ways := 0
	for _, set := range []bool{c.User != "", c.Token != "", c.Creds != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("user, token and creds are three ways to log in: set one of them")
	case (c.User == "") != (c.Password == ""):
		return errors.New("user and password are set together or not at all")
	case strings.Contains(c.URL, "@"):
		return errors.New("a name or password in a URL would be shown: use cluster.user and cluster.password, or cluster.token")
	}
	return when(strings.ContainsFunc(c.Name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) || c.Name == "", "name %q: want a-z, 0-9, - and _", c.Name)
}

// Journal holds the settings of the log in Data.Dir.
type Journal struct {
	// Durability is sync: positions are acknowledged once they are durable; off: nothing is kept;
	// or a time such as 100ms: positions are acknowledged at once, and durable and applied after
	// it.
	Durability string `yaml:"durability"`

	MinFree  Size          `yaml:"min_free"`  // on its disk; below that positions and changes are refused
	Keep     time.Duration `yaml:"keep"`      // of events; 0 is for ever
	MaxBytes Size          `yaml:"max_bytes"` // of events; 0 is a fifth of the journal and the free space
}

// History holds the settings of the past positions and visits in Data.Dir.
type History struct {
	Keep     time.Duration `yaml:"keep"`      // of positions and visits; 0 is for ever
	MaxBytes Size          `yaml:"max_bytes"` // of positions; 0 is a fifth of the disk
}

// HTTP holds the settings of the API and the dashboard.
type HTTP struct {
	Listen  string `yaml:"listen"`  // host:port or unix:path; beyond loopback only with a token
	Token   Secret `yaml:"token"`   // required of clients; "" requires none
	Profile bool   `yaml:"profile"` // serve /debug/pprof

	Cert string `yaml:"cert"` // PEM file with the certificate, for TLS; "" is none
	Key  string `yaml:"key"`  // PEM file with its key

	// ACME lists the names, separated by commas, for which an authority is asked for a certificate,
	// in place of Cert. Port 443 of each has to reach Listen.
	ACME          string `yaml:"acme"`
	ACMEEmail     string `yaml:"acme_email"`     // for the authority's notices; "" is none
	ACMEDirectory string `yaml:"acme_directory"` // https URL of the authority; "" is Let's Encrypt
	ACMERoot      string `yaml:"acme_root"`      // PEM file with the roots to trust for the connection to it; "" is the system's

	// CORSOrigins lists the origins of pages that may read answers, with a key: as
	// https://example.org, separated by commas.
	CORSOrigins string `yaml:"cors_origins"`
}

// Origins returns the origins of CORSOrigins.
func (h HTTP) Origins() []string { return list(h.CORSOrigins) }

// Domains returns the names of ACME.
func (h HTTP) Domains() []string { return list(h.ACME) }

// list returns the texts between commas.
func list(text string) (all []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// certificates checks the settings of TLS.
func (h HTTP) certificates(kept bool) error {
	switch {
	case (h.Cert == "") != (h.Key == ""):
		return errors.New("cert and key are set together or not at all")
	case h.ACME == "":
		return when(h.ACMEEmail+h.ACMEDirectory+h.ACMERoot != "", "acme_email, acme_directory and acme_root need acme, the names of the certificate")
	case h.Cert != "":
		return errors.New("acme and cert are two sources of the certificate: set one of them")
	case listen.IsUnix(h.Listen):
		return fmt.Errorf("%q is a unix socket, which an authority does not reach", h.Listen)
	}
	return when(!kept, "acme needs a data directory, where the certificate is kept")
}

// Access holds the keys, which one secret each has at every interface.
type Access struct {
	// Required makes loopback addresses ask for a key too.
	Required bool `yaml:"required"`
	// Keys are those of the file. Further ones are added while the platform runs.
	Keys []keyring.Key `yaml:"-"`
}

// Bus holds the settings of the message broker for NATS clients.
type Bus struct {
	Listen         string        `yaml:"listen"`                       // host:port; beyond loopback only with credentials
	User           string        `yaml:"user" reload:"yes"`            // with Password; "" requires none
	Password       Secret        `yaml:"password" reload:"yes"`        //
	Token          Secret        `yaml:"token" reload:"yes"`           // instead of User and Password
	MaxConnections int           `yaml:"max_connections" reload:"yes"` // open at once
	MaxPayload     Size          `yaml:"max_payload"`                  // of one message with its headers
	MaxPending     Size          `yaml:"max_pending" reload:"yes"`     // queued for one connection before it is closed
	PingInterval   time.Duration `yaml:"ping_interval" reload:"yes"`   // without traffic before the server pings a client
	WriteDeadline  time.Duration `yaml:"write_deadline" reload:"yes"`  // for one write to a client before it is closed

	// Users reports that the keys of the section that only a file has require credentials of all
	// clients.
	Users bool `yaml:"-"`
}

// Wire holds the settings of the listener for devices and programs that speak the wire protocol.
type Wire struct {
	Listen         string `yaml:"listen"`          // host:port or unix:path; beyond loopback only with token and TLS
	Token          Secret `yaml:"token"`           // clients prove that they know it; "" requires none
	Cert           string `yaml:"cert"`            // PEM file with the certificate, for TLS; "" is none
	Key            string `yaml:"key"`             // PEM file with its key
	MaxConnections int    `yaml:"max_connections"` // at once; further ones are refused
}

// Sets holds the settings of the sets of fences.
type Sets struct {
	Dir          string `yaml:"dir"`          // each *json file in it is a set of fences; "" starts without sets
	Watch        bool   `yaml:"watch"`        // check the files for changes every second, and reload them
	Snapshots    string `yaml:"snapshots"`    // directory of prepared sets for a faster start; "" is one in the user's cache, off keeps none
	Kind         string `yaml:"kind"`         // of index; "" is the default kind
	Zoom         int    `yaml:"zoom"`         // finest level of the kinds that have one, 0 to 23
	Parents      string `yaml:"parents"`      // GeoJSON file of areas by which the city kinds group fences; "" is none
	Boundary     string `yaml:"boundary"`     // half-open, closed or open: whether a fence contains the points of its boundary
	Antimeridian string `yaml:"antimeridian"` // planar or unwrap: the meaning of an edge over half the world
	IDProperty   string `yaml:"id_property"`  // property that names a fence whose feature has no id
	Strict       bool   `yaml:"strict"`       // refuse shapes that RFC 7946 calls invalid
}

// Track holds the settings for moving objects.
type Track struct {
	Policy   string        `yaml:"policy"`    // of sets without one of their own: raw, steady, accuracy or dwell:DURATION
	Initial  string        `yaml:"initial"`   // effect of an object's first position, in all sets: none, inside or enter; "": by the policy
	TTL      time.Duration `yaml:"ttl"`       // silence after which an object leaves its fences, in all sets; 0 is that of the policy
	MaxAhead time.Duration `yaml:"max_ahead"` // largest distance of a position's time into the future
	MaxGap   time.Duration `yaml:"max_gap"`   // between positions for which a crossing is interpolated, in all sets; 0: by the policy
}

// Limits bounds the memory and the time that clients can use.
type Limits struct {
	MaxObjects  int           `yaml:"max_objects"` // further new objects are refused, known ones are still updated
	Connections int           `yaml:"connections"` // of HTTP at once; further ones wait in the accept queue
	Body        Size          `yaml:"body"`        // of one HTTP request
	Events      int           `yaml:"events"`      // kept for replay
	EventBytes  Size          `yaml:"event_bytes"` // kept for replay; the smaller bound applies
	Drain       time.Duration `yaml:"drain"`       // longest duration of a shutdown
}

// Log holds the settings of the process's own log.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // auto, text or json; auto is text on a terminal
}

// Dashboard holds the settings of the live map.
type Dashboard struct {
	// Basemap is the path of a PMTiles archive, or the URL of a server for raster tiles with {z},
	// {x} and {y} in it; "" is none.
	Basemap string `yaml:"basemap"`
	// Attribution is the text that names the source of the base map; "" is that of the archive.
	Attribution string `yaml:"attribution"`
	// Runs is the directory in which `paddock bench ... --out DIR/NAME` puts runs; "" is no page of
	// runs.
	Runs string `yaml:"runs"`
}

// Default returns the configuration without any source.
func Default() *Config {
	return &Config{
		Cluster: Cluster{Name: "paddock", Snapshot: 24 * time.Hour, SnapshotBytes: 256 * MiB},
		Journal: Journal{Durability: "sync", MinFree: 256 * MiB, Keep: 7 * 24 * time.Hour},
		History: History{Keep: 30 * 24 * time.Hour},
		HTTP:    HTTP{Listen: "127.0.0.1:8080"},
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
			Policy:   "steady",
			MaxAhead: time.Minute,
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

// Off reports whether nothing is kept.
func (j Journal) Off() bool { return j.Durability == "off" }

// Interval returns the time after which acknowledged positions are durable, 0 for sync and off.
func (j Journal) Interval() (time.Duration, error) {
	if j.Durability == "sync" || j.Off() {
		return 0, nil
	}
	d, err := time.ParseDuration(j.Durability)
	if err != nil || d <= 0 || d > time.Minute {
		return 0, fmt.Errorf("%q is neither sync, nor off, nor a time up to 1m such as 100ms", j.Durability)
	}
	return d, nil
}

// Authenticated reports whether HTTP clients must present a token.
func (h HTTP) Authenticated() bool { return h.Token != "" }

// Authenticated reports whether bus clients must present credentials.
func (b Bus) Authenticated() bool { return b.Token != "" || b.User != "" || b.Users }

// Authenticated reports whether wire clients must present a token.
func (w Wire) Authenticated() bool { return w.Token != "" }

// Place returns the place of a key's value, "" if it is the default.
func (c *Config) Place(key string) string { return c.origins[key] }

// Fault returns err as an error about a key, with the place of its value. It is for checks that
// only the code behind a setting can make.
func (c *Config) Fault(key string, err error) error {
	return &Error{Place: c.origins[key], Key: key, Err: err}
}

// Failure returns err as an error about a key whose value is well formed but unavailable, such as
// an address in use. The error has a place, but does not wrap ErrInvalid.
func (c *Config) Failure(key string, err error) error {
	return &Error{Place: c.origins[key], Key: key, Err: err, valid: true}
}

// Error is one invalid setting.
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

// Validate checks each value, and values that must fit together. The returned error joins all
// errors.
func (c *Config) Validate() error {
	var faults []error
	check := func(key string, err error) {
		if err != nil {
			faults = append(faults, c.Fault(key, err))
		}
	}
	check("http.listen", listen.CheckOr(c.HTTP.Listen, c.HTTP.Authenticated() || c.Keyed(), "set http.token"))
	check("bus.listen", listen.CheckOr(c.Bus.Listen, c.Bus.Authenticated() || c.Keyed(), "set bus.token, bus.user and bus.password, or bus.authorization"))
	check("bus.listen", when(listen.IsUnix(c.Bus.Listen), "%q is a unix socket; the bus listens on host:port", c.Bus.Listen))
	check("wire.listen", listen.CheckOr(c.Wire.Listen, c.Wire.Authenticated() || c.Keyed(), "set wire.token"))
	check("wire.listen", c.Wire.exposed(c.Keyed()))
	check("wire.cert", when((c.Wire.Cert == "") != (c.Wire.Key == ""), "cert and key are set together or not at all"))
	check("bus.user", c.Bus.credentials())
	check("bus.max_payload", when(c.Bus.MaxPayload > c.Bus.MaxPending,
		"%v does not fit into bus.max_pending, which is %v", c.Bus.MaxPayload, c.Bus.MaxPending))
	check("http.cert", c.HTTP.certificates(c.Durable()))
	for _, origin := range c.HTTP.Origins() {
		check("http.cors_origins", http.NewCrossOriginProtection().AddTrustedOrigin(origin))
	}
	if c.Cluster.On() {
		check("cluster.url", c.Cluster.check())
		check("data.dir", when(!c.Durable(), "a node of a cluster keeps its state in a data directory"))
		check("sets.dir", when(c.Sets.Dir != "", "a cluster has no files of sets: put them by the API, as paddock sets put"))
	}
	_, err := c.Journal.Interval()
	check("journal.durability", err)
	check("track.initial", oneOf(cmp.Or(c.Track.Initial, "none"), "none", "inside", "enter"))
	_, err = logging.ParseLevel(c.Log.Level)
	check("log.level", err)
	_, err = logging.ParseFormat(c.Log.Format)
	check("log.format", err)
	for _, s := range settings(c) {
		check(s.key, s.bounds())
	}
	return errors.Join(faults...)
}

// credentials checks that the credentials are complete, and of one kind.
func (b Bus) credentials() error {
	if b.Token != "" && b.User != "" {
		return errors.New("a token is set as well; clients can be asked for only one of the two")
	}
	return when((b.User == "") != (b.Password == ""), "user and password are set together or not at all")
}

// Keyed reports whether clients can be asked for keys: the file has some, or those of the API are
// kept, of which the first one is made when there is none.
func (c *Config) Keyed() bool {
	return len(c.Access.Keys) > 0 || c.Durable()
}

// Durable reports whether there is a journal in a data directory.
func (c *Config) Durable() bool { return c.Data.Dir != "off" && !c.Journal.Off() }

// exposed checks that a token or a key is not sent over a network without TLS. The proof that a
// client knows it is bound to one connection only with TLS.
func (w Wire) exposed(keyed bool) error {
	if w.Token == "" && !keyed || w.Cert != "" || listen.Check(w.Listen, false) == nil || listen.Check(w.Listen, true) != nil {
		return nil
	}
	return fmt.Errorf("%w: a token or a key needs TLS: set wire.cert and wire.key", listen.ErrExposed)
}

// when returns an error if the condition holds.
func when(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}
