package bus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"strings"
	"testing"

	"paddock/bus/internal/auth"
)

var oidDC = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}

// selfSigned is a certificate that has been encoded and read again.
func selfSigned(t *testing.T, template x509.Certificate) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestUsersOfCertificates(t *testing.T) {
	subject := pkix.Name{CommonName: "ann", Organization: []string{"Fleet"}, OrganizationalUnit: []string{"Ops"}, Country: []string{"NL"}}
	components := pkix.Name{CommonName: "ann", ExtraNames: []pkix.AttributeTypeAndValue{
		{Type: oidDC, Value: "org"}, {Type: oidDC, Value: "example"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "ann"},
	}}
	spiffe, _ := url.Parse("spiffe://example.org/ann")
	names := x509.Certificate{
		Subject: subject, EmailAddresses: []string{"ann@example.org"},
		DNSNames: []string{"ann.example.org"}, URIs: []*url.URL{spiffe},
	}
	for name, tc := range map[string]struct {
		cert  x509.Certificate
		users []string
		want  string
	}{
		"e-mail first":       {names, []string{"ann.example.org", "ann@example.org"}, "ann@example.org"},
		"then DNS":           {names, []string{"spiffe://example.org/ann", "ann.example.org"}, "ann.example.org"},
		"then URI":           {names, []string{"CN=ann,OU=Ops,O=Fleet,C=NL", "spiffe://example.org/ann"}, "spiffe://example.org/ann"},
		"then the subject":   {names, []string{"ann", "CN=ann,OU=Ops,O=Fleet,C=NL"}, "CN=ann,OU=Ops,O=Fleet,C=NL"},
		"in another order":   {names, []string{"C=NL, O=Fleet, CN=ann, OU=Ops"}, "C=NL, O=Fleet, CN=ann, OU=Ops"},
		"types in any case":  {names, []string{"cn=ann,ou=Ops,o=Fleet,c=NL"}, "cn=ann,ou=Ops,o=Fleet,c=NL"},
		"a part less":        {names, []string{"CN=ann,OU=Ops,O=Fleet"}, ""},
		"another value":      {names, []string{"CN=Ann,OU=Ops,O=Fleet,C=NL"}, ""},
		"the name alone":     {names, []string{"ann"}, ""},
		"one that must not":  {names, []string{"no ann@example.org", "ann@example.org"}, "ann@example.org"},
		"domain components":  {x509.Certificate{Subject: components}, []string{"CN=ann,DC=example,DC=org"}, "CN=ann,DC=example,DC=org"},
		"components, mixed":  {x509.Certificate{Subject: components}, []string{"DC=org,DC=example,CN=ann"}, "DC=org,DC=example,CN=ann"},
		"nobody":             {names, nil, ""},
		"no names, no users": {x509.Certificate{}, []string{""}, ""},
	} {
		var users []User
		for _, name := range tc.users {
			u := User{Name: name}
			if strings.HasPrefix(name, "no ") {
				u.Connections = []ConnectionType{ConnectionWebSocket}
			}
			users = append(users, u)
		}
		got := ""
		names := auth.CertificateNames(selfSigned(t, tc.cert))
		if l := newLogins(&Config{Users: users}).byCertificate(names, ConnectionStandard); l != nil {
			got = l.name
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
