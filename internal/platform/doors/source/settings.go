package source

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/strictyaml"
)

// Settings are those of one source. One of MQTT, GTFS and Lines is set.
type Settings struct {
	Name  string // of its door, and the value of the label source
	Fleet string // of positions that name none; "": the default fleet

	MQTT  *MQTT
	GTFS  *GTFS
	Lines *Lines
}

// MQTT is a broker, which is spoken to by MQTT 5.
type MQTT struct {
	URL            *url.URL // mqtt or mqtts; without credentials
	User, Password string   // "": none
	CA             string   // file of PEM certificates that sign the broker's; "": those of the system
	Topics         []string
	Format         string // owntracks, hfp or json
	Fields         format.Paths
	// ClientID is that of a session, which the broker keeps for a day while this process is away.
	// "": a random one, and the broker forgets it with the connection.
	ClientID string
}

// GTFS is a feed of GTFS-realtime.
type GTFS struct {
	URL     string
	Every   time.Duration // between two requests
	Headers map[string]string
}

// Lines is a receiver that writes lines.
type Lines struct {
	URL    *url.URL // tcp, to which this process connects, tcp-listen or udp, on which it listens
	Format string   // sbs, nmea or ais
	Object string   // id of the object, for nmea
	From   []netip.Prefix
}

const (
	maxSources = 100
	maxTopics  = 100
	maxHeaders = 20
	maxText    = 1024
	minEvery   = time.Second
	maxEvery   = 24 * time.Hour
)

// reserved are the names of doors that are no sources.
var reserved = []string{"http", "bus", "wire", "osmand", "traccar", "owntracks"}

// Address returns the address of the source for people: without credentials, and without a query,
// in which feeds have keys.
func (s *Settings) Address() string {
	switch {
	case s.MQTT != nil:
		return s.MQTT.URL.Scheme + "://" + s.MQTT.URL.Host
	case s.Lines != nil:
		return s.Lines.URL.Scheme + "://" + s.Lines.URL.Host
	}
	u, err := url.Parse(s.GTFS.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// Locate makes the names of files those of files in a directory.
func (s *Settings) Locate(dir string) {
	if m := s.MQTT; m != nil && m.CA != "" && !filepath.IsAbs(m.CA) {
		m.CA = filepath.Join(dir, m.CA)
	}
}

// Read reads the section sources: a list. Faults are added to the node's file.
func Read(n *strictyaml.Node) (all []Settings) {
	names := map[string]bool{}
	for i, item := range n.Items("sources") {
		if i == maxSources {
			item.Fault("more than %d sources", maxSources)
			break
		}
		r := reader{item: item, keys: map[string]strictyaml.Entry{}}
		s, ok := r.read()
		if !ok {
			continue
		}
		if s.Name == "" {
			s.Name = unused(cmp.Or(s.format(), r.kind), names)
		}
		if names[s.Name] || slices.Contains(reserved, s.Name) {
			r.keys[r.kind].At.Fault("another door has the name %s: set name", s.Name)
		}
		names[s.Name] = true
		all = append(all, s)
	}
	return all
}

// format returns that of lines, by which they are named.
func (s *Settings) format() string {
	if s.Lines != nil {
		return s.Lines.Format
	}
	return ""
}

// unused returns a kind as a name, with a number if there is one already.
func unused(kind string, names map[string]bool) string {
	name := kind
	for i := 2; names[name]; i++ {
		name = fmt.Sprintf("%s-%d", kind, i)
	}
	return name
}

// reader reads one item of the list.
type reader struct {
	item   *strictyaml.Node
	keys   map[string]strictyaml.Entry
	kind   string // mqtt, gtfs_rt or lines
	s      Settings
	failed bool
}

// keysOf are the keys of each kind, beside name and fleet.
var keysOf = map[string][]string{
	"mqtt":    {"mqtt", "topics", "format", "fields", "speed_unit", "user", "password", "ca", "client_id"},
	"gtfs_rt": {"gtfs_rt", "every", "headers"},
	"lines":   {"lines", "format", "object", "from"},
}

func (r *reader) read() (Settings, bool) {
	kinds := []string{}
	for _, e := range r.item.Entries("a source") {
		r.keys[e.Key] = e
		if keysOf[e.Key] != nil {
			kinds = append(kinds, e.Key)
		}
	}
	if len(kinds) != 1 {
		r.item.Fault("a source has one of the keys mqtt, gtfs_rt and lines, with its address")
		return r.s, false
	}
	known := append([]string{"name", "fleet"}, keysOf[kinds[0]]...)
	for key, e := range r.keys {
		if !slices.Contains(known, key) {
			e.Unknown(known)
			r.failed = true
		}
	}
	r.kind = kinds[0]
	r.text("name", &r.s.Name, checkName)
	r.text("fleet", &r.s.Fleet, func(s string) error { return ingest.CheckName("fleet", s) })
	switch r.kind {
	case "mqtt":
		r.mqtt()
	case "gtfs_rt":
		r.gtfs()
	case "lines":
		r.lines()
	}
	return r.s, !r.failed
}

func (r *reader) fault(e strictyaml.Entry, err error) {
	e.Value.Fault("%s: %w", e.Key, err)
	r.failed = true
}

// missing adds the fault that a key is needed.
func (r *reader) missing(key, what string) {
	if !r.failed {
		r.keys[r.kind].At.Fault("%s is missing: %s", key, what)
		r.failed = true
	}
}

// text reads a key, if it is there.
func (r *reader) text(key string, to *string, check func(string) error) {
	e, there := r.keys[key]
	if !there {
		return
	}
	text, ok := e.Text(key)
	if !ok {
		r.failed = true
		return
	}
	err := errors.New("longer than 1024 bytes")
	if len(text) <= maxText {
		err = check(text)
	}
	if err != nil {
		r.fault(e, err)
		return
	}
	*to = text
}

func checkName(s string) error {
	if s == "" || len(s) > 40 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("%.64q is not made of a-z, 0-9, _ and -, at most 40", s)
	}
	return nil
}

func anyText(string) error { return nil }

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%.64q is none of %s", s, strings.Join(words, ", "))
		}
		return nil
	}
}

// address reads an address with one of the schemes. Faults do not show it, as it may have a
// password.
func (r *reader) address(key string, schemes ...string) *url.URL {
	var text string
	r.text(key, &text, anyText)
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
		if e := r.keys[key]; !r.failed {
			r.fault(e, fmt.Errorf("not an address that begins with %s://", strings.Join(schemes, ":// or ")))
		}
		return &url.URL{}
	}
	return u
}

func (r *reader) mqtt() {
	m := &MQTT{URL: r.address("mqtt", "mqtt", "mqtts")}
	r.s.MQTT = m
	if m.URL.User != nil {
		m.User = m.URL.User.Username()
		m.Password, _ = m.URL.User.Password()
		m.URL.User = nil
	}
	if m.URL.Port() == "" {
		m.URL.Host = net.JoinHostPort(m.URL.Hostname(), map[string]string{"mqtts": "8883"}[m.URL.Scheme])
		if m.URL.Scheme != "mqtts" {
			m.URL.Host = net.JoinHostPort(m.URL.Hostname(), "1883")
		}
	}
	r.text("user", &m.User, anyText)
	r.text("password", &m.Password, anyText)
	r.text("client_id", &m.ClientID, anyText)
	r.text("ca", &m.CA, func(string) error {
		if m.URL.Scheme != "mqtts" {
			return errors.New("is for mqtts")
		}
		return nil
	})
	r.text("format", &m.Format, oneOf("owntracks", "hfp", "json"))
	r.text("speed_unit", &m.Fields.SpeedUnit, format.SpeedUnit)
	if e, there := r.keys["topics"]; there {
		strictyaml.ListInto(&m.Topics, strictyaml.NonEmpty)(e)
	}
	r.fields(m)
	switch {
	case m.Format == "":
		r.missing("format", "owntracks, hfp or json")
	case len(m.Topics) == 0:
		r.missing("topics", "the list of topics to subscribe to, such as owntracks/+/+")
	case len(m.Topics) > maxTopics:
		r.fault(r.keys["topics"], fmt.Errorf("more than %d topics", maxTopics))
	}
}

// fields reads the paths of the format json.
func (r *reader) fields(m *MQTT) {
	p := &m.Fields
	e, there := r.keys["fields"]
	switch {
	case r.failed:
	case m.Format == "json" && !there:
		r.missing("fields", "where the messages have id, lat and lon, as {id: device.id, lat: gps.lat, lon: gps.lon}")
	case m.Format != "json" && there:
		r.fault(e, errors.New("is for the format json"))
	}
	if !there {
		return
	}
	known := strictyaml.Fields{}
	for name, to := range map[string]*string{
		"id": &p.ID, "fleet": &p.Fleet, "lat": &p.Lat, "lon": &p.Lon, "t": &p.Time, "accuracy": &p.Accuracy, "speed": &p.Speed,
		"heading": &p.Heading, "altitude": &p.Altitude, "props": &p.Props,
	} {
		known[name] = strictyaml.Into(to, strictyaml.NonEmpty)
	}
	known.Read(e.Value, "fields")
	if err := p.Check(); err != nil && !r.failed {
		r.fault(e, err)
	}
}

func (r *reader) gtfs() {
	u := r.address("gtfs_rt", "http", "https")
	g := &GTFS{URL: u.String(), Every: 15 * time.Second, Headers: map[string]string{}}
	r.s.GTFS = g
	var every string
	r.text("every", &every, func(s string) (err error) {
		if g.Every, err = time.ParseDuration(s); err != nil || g.Every < minEvery || g.Every > maxEvery {
			return fmt.Errorf("%.64q is no duration from %v to %v, such as 15s", s, minEvery, maxEvery)
		}
		return nil
	})
	e, there := r.keys["headers"]
	if !there {
		return
	}
	for i, h := range e.Value.Entries("headers") {
		text, ok := h.Text(h.Key)
		switch {
		case !ok:
			r.failed = true
		case i == maxHeaders || len(text) > maxText || strings.ContainsAny(text, "\r\n") || strings.ContainsAny(h.Key, " :\r\n"):
			r.fault(h, errors.New("no header of HTTP, or one too many"))
		default:
			g.Headers[h.Key] = text
		}
	}
}

func (r *reader) lines() {
	l := &Lines{URL: r.address("lines", "tcp", "tcp-listen", "udp")}
	r.s.Lines = l
	r.text("format", &l.Format, oneOf("sbs", "nmea", "ais"))
	r.text("object", &l.Object, func(s string) error { return ingest.CheckName("object", s) })
	if e, there := r.keys["from"]; there {
		strictyaml.ListInto(&l.From, func(s string) (netip.Prefix, error) {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				r.failed = true
				return p, fmt.Errorf("%.64q is no network such as 10.0.0.0/8", s)
			}
			return p.Masked(), nil
		})(e)
	}
	if r.failed {
		return
	}
	_, port, err := net.SplitHostPort(l.URL.Host)
	switch {
	case err != nil || port == "":
		r.fault(r.keys["lines"], errors.New("a port is missing, as in "+l.URL.Scheme+"://127.0.0.1:30003"))
	case l.Format == "":
		r.missing("format", "sbs, nmea or ais")
	case l.Format == "nmea" && l.Object == "":
		r.missing("object", "the id of the object, as the sentences have none")
	case l.URL.Scheme != "tcp" && len(l.From) == 0 && listen.Check(l.URL.Host, false) != nil:
		r.missing("from", "the networks that may send, as "+l.URL.Host+" is not loopback and the format has no key")
	}
}
