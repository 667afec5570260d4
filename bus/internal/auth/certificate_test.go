package auth

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

func TestCanonicalNames(t *testing.T) {
	for _, same := range [][2]string{
		{`CN=a\,b,O=x`, `O=x, CN=a\2Cb`},
		{`CN=a+OU=b,O=x`, `O=x,OU=b+CN=a`},
		{`CN=M\C3\BCller`, `cn=Müller`},
		{`CN=a\+b`, `CN=a\2bb`},
	} {
		if a, b := CanonicalDN(same[0]), CanonicalDN(same[1]); a != b || a == "" {
			t.Errorf("%q and %q", a, b)
		}
	}
	for _, none := range []string{"", "ann", "CN=a,,O=b", "=a", `a\`} {
		if got := CanonicalDN(none); got != "" {
			t.Errorf("%q is read as %q", none, got)
		}
	}
}

// A value that looks like further parts of a name is no further part.
func TestCanonicalNamesAreUnambiguous(t *testing.T) {
	one := func(value string) string {
		return canonicalRDNs(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: value}}})
	}
	for value, text := range map[string]string{
		"ann,O=Fleet": `CN=ann\,O=Fleet`, "ann+O=Fleet": `CN=ann\+O=Fleet`, `ann\`: `CN=ann\\`, "ann": "CN=ann",
	} {
		if got, want := one(value), CanonicalDN(text); got != want || got == "" {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	for value, text := range map[string]string{"ann,O=Fleet": "CN=ann,O=Fleet", "ann+O=Fleet": "CN=ann+O=Fleet"} {
		if one(value) == CanonicalDN(text) {
			t.Errorf("the value %s is taken for %s", value, text)
		}
	}
}
