package bridge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nkeys"

	"paddock/bus"
)

// Bounds of a configuration.
const (
	MaxBridges  = 16 // of a broker
	MaxURLs     = 16 // of a bridge
	MaxPatterns = 64 // of a list
	maxName     = 32 // bytes

	MinPending     = 64 << 10 // bytes
	DefaultPending = 16 << 20 // bytes
	LargestPending = 1 << 30  // bytes
)

// Config is one bridge. [Check] and the functions beside it say what its fields may be.
type Config struct {
	Name string   // of metrics and log lines
	URLs []string // of the servers of one cluster, of which one is connected at a time

	User, Password string
	Token          string
	Creds          string // file of credentials; "" = none
	TLS            *TLS   // nil = TLS if the URL or the server asks for it

	Import []string // patterns of the subjects that come from the other server
	Queue  string   // group of bridges that share the imported messages; "" = none
	Export []string // patterns of the subjects that go there
	// MaxPending bounds the bytes that wait for the other server, and those from it that wait for
	// the broker: so many in each direction.
	MaxPending int64
}

// TLS asks for TLS. Its files are read for each connection, so a renewed certificate needs no
// reload.
type TLS struct {
	CA             string // file of the certificates that sign the server's; "" = the system's
	Cert, Key      string // files of the client's certificate and key; "" = none
	HandshakeFirst bool   // the server speaks TLS before INFO
}

// Check returns a fault that no single field shows, or nil.
func (c *Config) Check() error {
	switch {
	case c.Name == "":
		return errors.New("a bridge needs a name")
	case len(c.URLs) == 0:
		return fmt.Errorf("bridge %s needs urls", c.Name)
	case len(c.Import)+len(c.Export) == 0:
		return fmt.Errorf("bridge %s needs import or export", c.Name)
	case c.Password != "" && c.User == "":
		return fmt.Errorf("bridge %s has a password without a user", c.Name)
	}
	ways := 0
	for _, given := range []string{c.User, c.Token, c.Creds} {
		if given != "" {
			ways++
		}
	}
	if ways > 1 {
		return fmt.Errorf("bridge %s: set one of user, token and creds", c.Name)
	}
	return nil
}

// CheckName returns why a name is none of a bridge, or nil.
func CheckName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%q is longer than %d bytes", name, maxName)
	}
	for _, c := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", c) {
			return fmt.Errorf("%q: want letters, digits, - and _", name)
		}
	}
	return nil
}

// CheckURLs returns why URLs are none of the servers of a bridge, or nil. They have no passwords,
// as logs and states show them.
func CheckURLs(urls []string) error {
	if len(urls) > MaxURLs {
		return fmt.Errorf("%d URLs, of at most %d", len(urls), MaxURLs)
	}
	web := 0
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return errors.New("a URL cannot be read: want nats://host:port")
		}
		switch {
		case u.User != nil:
			return errors.New("a name or password in a URL would be shown: use user and password, or token")
		case u.Host == "" || u.Path != "" && u.Path != "/" && !webSocket(u):
			return fmt.Errorf("%q: want nats://host:port", text)
		case u.Scheme != "nats" && u.Scheme != "tls" && !webSocket(u):
			return fmt.Errorf("%q: want nats, tls, ws or wss as the scheme", text)
		case webSocket(u):
			web++
		}
	}
	if web != 0 && web != len(urls) {
		return errors.New("URLs of WebSocket and others exclude each other")
	}
	return nil
}

func webSocket(u *url.URL) bool { return u.Scheme == "ws" || u.Scheme == "wss" }

// CheckPatterns returns why patterns are no list of subjects, or nil. A subject that two patterns
// match would pass twice.
func CheckPatterns(patterns []string) error {
	if len(patterns) > MaxPatterns {
		return fmt.Errorf("%d subjects, of at most %d", len(patterns), MaxPatterns)
	}
	for i, p := range patterns {
		if !bus.ValidPattern(p) {
			return fmt.Errorf("%q is no pattern of subjects", p)
		}
		for _, other := range patterns[:i] {
			if overlap(p, other) {
				return fmt.Errorf("%q and %q overlap: a message that both match would pass twice", other, p)
			}
		}
	}
	return nil
}

// CheckQueue returns why a name is none of a queue, or nil.
func CheckQueue(name string) error {
	if !bus.ValidSubject(name) {
		return fmt.Errorf("%q is no name of a queue", name)
	}
	return nil
}

// overlap reports whether a subject is matched by both patterns.
func overlap(a, b string) bool {
	for {
		at, arest, amore := strings.Cut(a, ".")
		bt, brest, bmore := strings.Cut(b, ".")
		switch {
		case at == ">" && !amore, bt == ">" && !bmore:
			return true
		case at != bt && at != "*" && bt != "*", amore != bmore:
			return false
		case !amore:
			return true
		}
		a, b = arest, brest
	}
}

// DeniedBy returns the pattern of deny that matches all subjects of a pattern, or "". Messages that
// clients of the broker cannot publish are not imported either.
func DeniedBy(pattern string, deny []string) string {
	for _, d := range deny {
		if bus.Match(d, pattern) && (!strings.HasSuffix("."+pattern, ".>") || strings.HasSuffix("."+d, ".>")) {
			return d
		}
	}
	return ""
}

// CheckCreds returns why a file is none of credentials, or nil.
func CheckCreds(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := nkeys.ParseDecoratedUserNKey(text); err != nil {
		return fmt.Errorf("%s holds no credentials of a user", file)
	}
	return nil
}

// Check returns why the files are of no use, or nil.
func (t *TLS) Check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("cert_file and key_file need each other")
	}
	if t.Cert != "" {
		if _, err := tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
			return err
		}
	}
	if t.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", t.CA)
	}
	return nil
}
