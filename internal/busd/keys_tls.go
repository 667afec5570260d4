package busd

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// handshakeFallback is how long a server waits for a handshake before it sends INFO
// if handshake_first is "auto".
const handshakeFallback = 50 * time.Millisecond

// errNoCertificate and errNoKey are the words that tools know.
var (
	errNoCertificate = errors.New("TLS Server certificate must be present and valid")
	errNoKey         = errors.New("TLS Server private key must be present and valid")
)

// tlsFiles are the parts of a TLS configuration that are named in a file or flags.
type tlsFiles struct {
	pairs  []keyPair
	ca     string // for the certificates of clients
	verify bool
}

type keyPair struct{ cert, key string }

// config reads the files.
func (t tlsFiles) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	for _, pair := range t.pairs {
		switch {
		case pair.cert == "":
			return nil, errNoCertificate
		case pair.key == "":
			return nil, errNoKey
		}
		c, err := tls.LoadX509KeyPair(pair.cert, pair.key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = append(cfg.Certificates, c)
	}
	if t.verify {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if t.ca == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(t.ca)
	if err != nil {
		return nil, err
	}
	cfg.ClientCAs = x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", t.ca)
	}
	return cfg, nil
}

// tlsBlock reads a tls map; it returns nil if there is something wrong with it.
func (d *decoder) tlsBlock(f *natsconf.Field) *bus.TLS {
	var files tlsFiles
	var single keyPair
	var suites []uint16
	var curves []tls.CurveID
	version, clean := uint16(tls.VersionTLS12), len(d.problems)
	t := new(bus.TLS)
	d.mapping(f, setters{
		"cert_file": d.path(&single.cert),
		"key_file":  d.path(&single.key),
		"ca_file":   d.path(&files.ca),
		"certs": d.maps("a certificate is a map with cert_file and key_file", func(n *natsconf.Node) {
			var pair keyPair
			d.fields(n, setters{"cert_file": d.path(&pair.cert), "key_file": d.path(&pair.key)})
			files.pairs = append(files.pairs, pair)
		}),
		"verify":                d.boolean(&files.verify),
		"verify_and_map":        d.boolean(&t.MapUsers),
		"timeout":               d.seconds(&t.Timeout),
		"connection_rate_limit": number(d, 0, &t.Rate),
		"pinned_certs":          func(f *natsconf.Field) { t.PinnedCerts = d.pins(f) },
		"handshake_first":       func(f *natsconf.Field) { d.handshakeFirst(t, f) },
		"min_version":           func(f *natsconf.Field) { version = d.tlsVersion(f) },
		"cipher_suites":         chosen(d, &suites, suiteIDs, "cipher_suites: %q is unknown or insecure"),
		"curve_preferences":     chosen(d, &curves, curveIDs, "curve_preferences: unknown curve %q"),
		"insecure":              d.silent, // about connections that the server makes
	}.alias("first", "handshake_first", "immediate", "handshake_first", "certificates", "certs").
		with(d.refused, "allow_insecure_cipher_suites", "ocsp_peer", "cert_store", "cert_match", "cert_match_by", "cert_match_skip_invalid", "ca_certs_match"))
	if len(d.problems) > clean {
		return nil
	}
	files.verify = files.verify || t.MapUsers
	switch {
	case len(files.pairs) == 0:
		files.pairs = []keyPair{single}
	case single != keyPair{}:
		d.fail(f.Pos, "cert_file and certs exclude each other")
		return nil
	}
	cfg, err := files.config()
	if err != nil {
		d.fail(f.Pos, "%v", err)
		return nil
	}
	cfg.MinVersion, cfg.CipherSuites, cfg.CurvePreferences = version, suites, curves
	t.Config = cfg
	return t
}

func (d *decoder) handshakeFirst(t *bus.TLS, f *natsconf.Field) {
	if f.Value.Kind != natsconf.String {
		d.boolean(&t.HandshakeFirst)(f)
		return
	}
	switch strings.ToLower(f.Value.Text) {
	case "true", "on":
		t.HandshakeFirst = true
	case "false", "off":
		t.HandshakeFirst = false
	case "auto", "auto_fallback":
		t.HandshakeFirst, t.Fallback = true, handshakeFallback
	default:
		t.HandshakeFirst = true
		d.seconds(&t.Fallback)(f)
	}
}

// pins reads SHA-256 sums in hex.
func (d *decoder) pins(f *natsconf.Field) (pins []string) {
	d.texts(&pins)(f)
	for i, pin := range pins {
		if sum, err := hex.DecodeString(pin); err != nil || len(sum) != 32 {
			d.fail(f.Pos, "pinned_certs: %q is no SHA-256 in hex", pin)
		}
		pins[i] = strings.ToLower(pin)
	}
	return pins
}

func (d *decoder) tlsVersion(f *natsconf.Field) uint16 {
	var name string
	d.text(&name)(f)
	switch name {
	case "1.2":
		return tls.VersionTLS12
	case "1.3":
		return tls.VersionTLS13
	}
	d.fail(f.Pos, "min_version is \"1.2\" or \"1.3\", not %q", name)
	return tls.VersionTLS12
}

// chosen reads names of what is known; unknown is what is said of another.
func chosen[T any](d *decoder, dst *[]T, known map[string]T, unknown string) setter {
	return func(f *natsconf.Field) {
		var names []string
		d.texts(&names)(f)
		for _, name := range names {
			v, ok := known[name]
			if !ok {
				d.fail(f.Pos, unknown, name)
			}
			*dst = append(*dst, v)
		}
	}
}

var curveIDs = map[string]tls.CurveID{
	"X25519MLKEM768": tls.X25519MLKEM768, "X25519": tls.X25519,
	"CurveP256": tls.CurveP256, "CurveP384": tls.CurveP384, "CurveP521": tls.CurveP521,
}

var suiteIDs = func() map[string]uint16 {
	known := map[string]uint16{}
	for _, s := range tls.CipherSuites() {
		known[s.Name] = s.ID
	}
	return known
}()
