package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/agent/spool"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
	"paddock/internal/tunneld"
)

// Settings are the contents of agent.yaml. docs/guides/agent.md shows one.
type Settings struct {
	Fleet, Object string // of positions that name none; "": positions must name the object, and the fleet is default
	Link          tunneld.Settings
	Buffer        Buffer
	HTTP          Listener      // the local endpoint
	Bus           Listener      // the local port for NATS clients
	Stdin         bool          // take positions from the standard input
	GPSD          string        // host:port of a gpsd; "": none
	Events        events.Filter // selects the platform's events that are copied here
}

// Buffer holds the settings of the spool.
type Buffer struct {
	Dir      string
	MaxBytes int64
	MaxAge   time.Duration // 0: no bound
	Refuse   bool          // at MaxBytes refuse new positions; else drop the oldest
}

// Listener holds the settings of a local port.
type Listener struct {
	Listen string // "": none
	Token  config.Secret
}

// defaults returns the settings of an empty file.
func defaults() *Settings {
	return &Settings{
		Buffer: Buffer{MaxBytes: int64(64 * config.MiB), MaxAge: 24 * time.Hour},
		HTTP:   Listener{Listen: "127.0.0.1:8090"},
	}
}

// Load reads a file. Relative names in it are relative to its directory. The error joins all
// errors, each with its line and column.
func Load(path string) (*Settings, error) {
	text, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Read(path, text, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	s.Link.Locate(dir)
	if !filepath.IsAbs(s.Buffer.Dir) {
		s.Buffer.Dir = filepath.Join(dir, s.Buffer.Dir)
	}
	return s, nil
}

// Read parses the text of a file. env looks up the variables of ${NAME}.
func Read(path string, text []byte, env func(string) (string, bool)) (*Settings, error) {
	file, root := strictyaml.Parse(path, text)
	file.Env = env
	s := defaults()
	if root != nil {
		fields := s.fields()
		entries := root.Entries("the file")
		fields.Take(entries)
		s.check(root, entries)
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return s, nil
}

// fields returns the keys of the file.
func (s *Settings) fields() strictyaml.Fields {
	f := s.Link.ClientSide()
	f["fleet"] = strictyaml.Into(&s.Fleet, name)
	f["object"] = strictyaml.Into(&s.Object, name)
	f["buffer"] = func(e strictyaml.Entry) {
		strictyaml.Fields{
			"dir":       strictyaml.Into(&s.Buffer.Dir, strictyaml.NonEmpty),
			"max_bytes": strictyaml.Into(&s.Buffer.MaxBytes, size),
			"max_age":   strictyaml.Into(&s.Buffer.MaxAge, span),
			"full":      strictyaml.Into(&s.Buffer.Refuse, strictyaml.Either("drop_oldest", "refuse")),
		}.Read(e.Value, e.Key)
	}
	f["http"] = s.HTTP.read(func(text string) (string, error) { return text, nil })
	f["bus"] = s.Bus.read(address)
	f["stdin"] = strictyaml.Into(&s.Stdin, strconv.ParseBool)
	f["gpsd"] = strictyaml.Into(&s.GPSD, address)
	f["events"] = func(e strictyaml.Entry) {
		fields := strictyaml.Fields{}
		for key, to := range map[string]*string{
			"set": &s.Events.Set, "fence": &s.Events.Fence, "event": &s.Events.Event, "fleet": &s.Events.Fleet, "object": &s.Events.Object,
		} {
			fields[key] = strictyaml.Into(to, name)
		}
		fields.Read(e.Value, e.Key)
		e.Value.Check(s.Events.Validate())
	}
	return f
}

// read returns a function that reads the section of a listener; its address with parse.
func (l *Listener) read(parse func(string) (string, error)) func(strictyaml.Entry) {
	return func(e strictyaml.Entry) {
		strictyaml.Fields{
			"listen": strictyaml.Into(&l.Listen, parse),
			"token":  strictyaml.Into(&l.Token, func(t string) (config.Secret, error) { return config.Secret(t), nil }),
		}.Read(e.Value, e.Key)
		if l.Listen != "" {
			e.Value.Check(listen.Check(l.Listen, l.Token != ""))
		}
	}
}

// check adds faults of required keys and of keys that only a tunnel's client has.
func (s *Settings) check(root *strictyaml.Node, entries []strictyaml.Entry) {
	connect := s.Link.Connect
	s.Events.Fleet, s.Events.Object = cmp.Or(s.Events.Fleet, s.Fleet), cmp.Or(s.Events.Object, s.Object)
	for _, f := range []struct {
		wrong bool
		text  string
	}{
		{
			!slices.ContainsFunc(entries, func(e strictyaml.Entry) bool { return e.Key == "connect" }),
			"connect is missing: the address of the platform",
		},
		{s.Link.Backoff.MaxTime != 0, "backoff.max_time: the agent does not give up"},
		{connect.Budget != 0, "connect.budget is of a tunnel's client; the agent's bounds are those of its guide"},
		{connect.Conns != 0, "connect.connections is of a tunnel's client; the agent has one"},
		{connect.Inspect != "", "connect.inspect is of a tunnel's client; the agent keeps no requests"},
		{
			connect.Admin != "" || connect.Token != "",
			"connect.admin and connect.admin_token are of a tunnel's client; the agent's status is at http.listen",
		},
		{
			len(s.Link.Tunnels) > 0 && connect.Plaintext && connect.TokenFile == "",
			"tunnels over connect.plaintext want connect.token_file: the platform lists the clients that may offer tunnels, and only TLS shows it a key",
		},
		{s.GPSD != "" && s.Object == "", "gpsd needs object: the object of its positions"},
		{s.Buffer.Dir == "", "buffer.dir is missing: the directory where positions wait while there is no link"},
	} {
		if f.wrong {
			root.Fault("%s", f.text)
		}
	}
}

// The values.

// name reads the name of a fleet or an object.
func name(s string) (string, error) {
	if err := ingest.CheckName("name", s); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "name: "))
	}
	return s, nil
}

func size(s string) (int64, error) {
	n, err := config.ParseSize(s)
	if err == nil && n < spool.MinBytes {
		err = fmt.Errorf("%s is too small; want at least %v", s, config.Size(spool.MinBytes))
	}
	return int64(n), err
}

func span(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration such as 90s, 15m or 24h", s)
	}
	return d, nil
}

// address reads host:port.
func address(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is not host:port", s)
	}
	return s, nil
}
