package access

import (
	"encoding/base64"
	"net/http"
	"testing"
)

func TestToken(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		header string
		want   bool
	}{
		{"Bearer s3cret", true},
		{"bearer s3cret", true},
		{basic(":s3cret"), true},
		{basic("anybody:s3cret"), true},
		{"", false},
		{"s3cret", false},
		{"Bearer", false},
		{"Bearer ", false},
		{"Bearer  s3cret", false},
		{"Bearer s3cre", false},
		{"Bearer s3cret2", false},
		{"Bearer S3CRET", false},
		{"Token s3cret", false},
		{basic("s3cret"), false},
		{basic("s3cret:"), false},
		{"Basic !", false},
	} {
		r, err := http.NewRequest(http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		if got := NewToken("s3cret").Allows(r); got != c.want {
			t.Errorf("%q: %v", c.header, got)
		}
		if !NewToken("").Allows(r) || NewToken("").Required() || !NewToken("s3cret").Required() {
			t.Errorf("%q: an empty token asks for something, or another one does not", c.header)
		}
	}
}

func TestLocalName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "x.localhost": true, "127.0.0.1": true, "[::1]": true, "[::1]:80": true, "192.0.2.1:80": true, "": true,
		"example.org": false, "localhost.example.org:80": false, "127.0.0.1.example.org": false, "notlocalhost": false,
	} {
		if LocalName(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
