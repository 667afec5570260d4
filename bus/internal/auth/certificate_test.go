package auth

import "testing"

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
