package ab

import (
	"crypto/tls"
	"testing"
)

// The names are OpenSSL's, which ab prints.
func TestAgreed(t *testing.T) {
	for _, tc := range []struct {
		state         tls.ConnectionState
		protocol, key string
	}{
		{
			tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_256_GCM_SHA384, CurveID: tls.X25519},
			"TLSv1.3,TLS_AES_256_GCM_SHA384,0,256", "X25519 253 bits",
		},
		{
			tls.ConnectionState{Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, CurveID: tls.CurveP256},
			"TLSv1.2,ECDHE-RSA-AES256-GCM-SHA384,0,256", "ECDH prime256v1 256 bits",
		},
		{
			tls.ConnectionState{Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, CurveID: tls.CurveP384},
			"TLSv1.2,ECDHE-ECDSA-CHACHA20-POLY1305,0,256", "ECDH secp384r1 384 bits",
		},
		{
			tls.ConnectionState{Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, CurveID: tls.X25519MLKEM768},
			"TLSv1.2,ECDHE-RSA-AES128-SHA,0,128", "",
		},
	} {
		if got := agreed(tc.state); got.protocol != tc.protocol || got.key != tc.key {
			t.Errorf("%+v, want %s, %s", got, tc.protocol, tc.key)
		}
	}
}
