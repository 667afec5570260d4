package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
)

// Names are the names in a client's certificate that may name a user.
type Names struct {
	// Exact lists e-mail, DNS and URI names, then the subject as texts, in the order in which they
	// are tried.
	Exact []string
	// Subject is the distinguished name in canonical form; "" = an attribute has no usual name,
	// or is not text.
	Subject string
}

// CertificateNames reads the names of a certificate.
func CertificateNames(cert *x509.Certificate) *Names {
	names := &Names{Exact: slices.Concat(cert.EmailAddresses, cert.DNSNames)}
	for _, u := range cert.URIs {
		names.Exact = append(names.Exact, u.String())
	}
	text := cert.Subject.ToRDNSequence().String()
	var rdns pkix.RDNSequence
	if _, err := asn1.Unmarshal(cert.RawSubject, &rdns); err == nil {
		names.Subject = canonicalRDNs(rdns)
		if dcs := domainComponents(rdns); dcs != "" {
			names.Exact = append(names.Exact, strings.TrimPrefix(text+","+dcs, ","))
		}
	}
	if text != "" {
		names.Exact = append(names.Exact, text)
	}
	return names
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

// domainComponents returns the domain components of a subject as text, the most specific first:
// package pkix omits them from its text of a subject.
func domainComponents(rdns pkix.RDNSequence) string {
	var parts []string
	for _, rdn := range slices.Backward(rdns) {
		for _, a := range rdn {
			if text, ok := a.Value.(string); ok && a.Type.String() == domainComponent {
				parts = append(parts, "DC="+escapeDN.Replace(text))
			}
		}
	}
	return strings.Join(parts, ",")
}

// canonicalRDNs returns a name's parts, sorted; "" if one has no usual name.
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
			values = append(values, name+"="+escapeDN.Replace(text))
		}
		parts = append(parts, joinSorted(values, "+"))
	}
	return joinSorted(parts, ",")
}

// escapeDN makes the parts of a canonical form unambiguous, whatever their values contain.
var escapeDN = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `+`, `\+`)

func joinSorted(parts []string, separator string) string {
	slices.Sort(parts)
	return strings.Join(parts, separator)
}

// CanonicalDN returns the canonical form of a distinguished name in the form of RFC 4514, such as
// "CN=ann,OU=fleet". Names with the same parts, in any order, have the same form, and other names
// have another one; "" = it is no such name.
func CanonicalDN(text string) string {
	var parts []string
	for _, rdn := range splitUnescaped(text, ',') {
		var values []string
		for _, a := range splitUnescaped(rdn, '+') {
			name, value, ok := strings.Cut(a, "=")
			name = strings.TrimSpace(name)
			if !ok || name == "" {
				return ""
			}
			values = append(values, strings.ToUpper(name)+"="+escapeDN.Replace(unescapeDN(strings.TrimSpace(value))))
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

// hexDigit returns the value of a hexadecimal digit, -1 for other bytes.
func hexDigit(b byte) int {
	if 'A' <= b && b <= 'F' {
		b += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", b)
}
