package bus

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// certNames are the names in a client's certificate that may name a user. Each is a candidate for a
// User.Name, in the order in which they are tried.
type certNames struct {
	exact []string // e-mail, DNS and URI names, then the subject as texts
	// subject is the distinguished name in canonical form; "" = it has attributes
	// that have no usual name.
	subject string
}

// certificateNames reads them.
func certificateNames(cert *x509.Certificate) *certNames {
	names := &certNames{}
	names.exact = append(names.exact, cert.EmailAddresses...)
	names.exact = append(names.exact, cert.DNSNames...)
	for _, u := range cert.URIs {
		names.exact = append(names.exact, u.String())
	}
	text := cert.Subject.ToRDNSequence().String()
	var rdns pkix.RDNSequence
	if _, err := asn1.Unmarshal(cert.RawSubject, &rdns); err == nil {
		names.subject = canonicalRDNs(rdns)
		if dcs := domainComponents(rdns); dcs != "" {
			names.exact = append(names.exact, text+","+dcs)
		}
	}
	if text != "" {
		names.exact = append(names.exact, text)
	}
	return names
}

// find returns the first of users that has one of the names. may reports whether a user can be
// chosen at all. The subject names a user whose name is a distinguished name with the same parts,
// in any order.
func (n *certNames) find(users []User, may func(u *User) bool) *User {
	for _, name := range n.exact {
		for i := range users {
			if u := &users[i]; u.Name == name && may(u) {
				return u
			}
		}
	}
	if n.subject == "" {
		return nil
	}
	for i := range users {
		if u := &users[i]; canonicalDN(u.Name) == n.subject && may(u) {
			return u
		}
	}
	return nil
}

// attributes are the names of RFC 4514 section 3, and two more that certificates
// have, by their object identifiers.
var attributes = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.5":                    "SERIALNUMBER",
	"2.5.4.6":                    "C",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.9":                    "STREET",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"2.5.4.17":                   "POSTALCODE",
	"0.9.2342.19200300.100.1.1":  "UID",
	"0.9.2342.19200300.100.1.25": "DC",
}

const domainComponent = "0.9.2342.19200300.100.1.25"

// domainComponents are those of a subject as text, the most special first: the
// package crypto/x509/pkix leaves them out of its own.
func domainComponents(rdns pkix.RDNSequence) string {
	var parts []string
	for _, rdn := range slices.Backward(rdns) {
		for _, a := range rdn {
			if text, ok := a.Value.(string); ok && a.Type.String() == domainComponent {
				parts = append(parts, "DC="+text)
			}
		}
	}
	return strings.Join(parts, ",")
}

// canonicalRDNs is a name's parts, sorted; "" if one has no usual name.
func canonicalRDNs(rdns pkix.RDNSequence) string {
	var parts []string
	for _, rdn := range rdns {
		var values []string
		for _, a := range rdn {
			name, known := attributes[a.Type.String()]
			text, ok := a.Value.(string)
			if !known || !ok {
				return ""
			}
			values = append(values, name+"="+text)
		}
		parts = append(parts, joinSorted(values, "+"))
	}
	return joinSorted(parts, ",")
}

func joinSorted(parts []string, separator string) string {
	slices.Sort(parts)
	return strings.Join(parts, separator)
}

// canonicalDN is the same of a text of RFC 4514, such as "CN=ann,OU=fleet"; "" if
// it is none.
func canonicalDN(text string) string {
	var parts []string
	for _, rdn := range splitUnescaped(text, ',') {
		var values []string
		for _, a := range splitUnescaped(rdn, '+') {
			name, value, ok := strings.Cut(a, "=")
			name = strings.TrimSpace(name)
			if !ok || name == "" {
				return ""
			}
			values = append(values, strings.ToUpper(name)+"="+unescapeDN(strings.TrimSpace(value)))
		}
		parts = append(parts, joinSorted(values, "+"))
	}
	return joinSorted(parts, ",")
}

// splitUnescaped splits at each sep that no backslash stands before.
func splitUnescaped(s string, sep byte) (parts []string) {
	begin := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case sep:
			parts = append(parts, s[begin:i])
			begin = i + 1
		}
	}
	return append(parts, s[begin:])
}

// unescapeDN undoes the backslashes of RFC 4514 section 2.4: before a character,
// or before two hexadecimal digits that stand for a byte.
func unescapeDN(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i+1 < len(s) && hexDigit(s[i]) >= 0 && hexDigit(s[i+1]) >= 0 {
			b.WriteByte(byte(hexDigit(s[i])<<4 | hexDigit(s[i+1])))
			i++
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hexDigit is the value of a hexadecimal digit, -1 of anything else.
func hexDigit(b byte) int {
	if 'A' <= b && b <= 'F' {
		b += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", b)
}

// TLSInfo is the result of a connection's handshake.
type TLSInfo struct {
	Version uint16 // as in crypto/tls
	Cipher  uint16 // likewise
	First   bool   // it came before INFO
	Peers   []PeerCert
}

// PeerCert is a certificate that a client has shown, the client's own first.
type PeerCert struct {
	Subject string
	// SHA256 is that of the certificate, KeySHA256 that of its public key, which
	// TLS.PinnedCerts lists: in hex.
	SHA256, KeySHA256 string
}

func describe(state *tls.ConnectionState, first bool) *TLSInfo {
	i := &TLSInfo{Version: state.Version, Cipher: state.CipherSuite, First: first}
	for _, cert := range state.PeerCertificates {
		i.Peers = append(i.Peers, PeerCert{
			Subject: cert.Subject.String(), SHA256: hexSum(cert.Raw), KeySHA256: keySum(cert),
		})
	}
	return i
}

func keySum(cert *x509.Certificate) string { return hexSum(cert.RawSubjectPublicKeyInfo) }

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
