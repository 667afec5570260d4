package access

import "testing"

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
