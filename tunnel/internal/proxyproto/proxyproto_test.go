package proxyproto_test

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"paddock/tunnel/internal/proxyproto"
)

func TestHeader(t *testing.T) {
	const signature = "0d0a0d0a000d0a515549540a"
	at := netip.MustParseAddrPort
	for _, c := range []struct {
		what string
		h    proxyproto.Header
		want string
	}{
		{
			"IPv4",
			proxyproto.Header{Source: at("192.0.2.1:56324"), Destination: at("198.51.100.2:443")},
			"21 11 000c c0000201 c6336402 dc04 01bb",
		},
		{
			"IPv6",
			proxyproto.Header{Source: at("[2001:db8::1]:1"), Destination: at("[2001:db8::2]:2")},
			"21 21 0024 20010db8000000000000000000000001 20010db8000000000000000000000002 0001 0002",
		},
		{
			"mapped IPv4 is IPv4",
			proxyproto.Header{Source: at("[::ffff:192.0.2.1]:56324"), Destination: at("198.51.100.2:443")},
			"21 11 000c c0000201 c6336402 dc04 01bb",
		},
		{
			"families that differ",
			proxyproto.Header{Source: at("192.0.2.1:1"), Destination: at("[::1]:2")},
			"21 21 0024 00000000000000000000ffffc0000201 00000000000000000000000000000001 0001 0002",
		},
		{
			"values",
			proxyproto.Header{Source: at("192.0.2.1:1"), Destination: at("192.0.2.2:2"), ALPN: "h2", Authority: "a.b"},
			"21 11 0017 c0000201 c0000202 0001 0002 01 0002 6832 02 0003 612e62",
		},
		{
			"a value that is too long",
			proxyproto.Header{Source: at("192.0.2.1:1"), Destination: at("192.0.2.2:2"), Authority: strings.Repeat("a", 256)},
			"21 11 000c c0000201 c0000202 0001 0002",
		},
		{"nobody", proxyproto.Header{Destination: at("192.0.2.2:2"), ALPN: "h2"}, "20 00 0000"},
	} {
		want := "ff" + signature + strings.ReplaceAll(c.want, " ", "")
		if got := hex.EncodeToString(c.h.Append([]byte{0xff})); got != want {
			t.Errorf("%s:\n%s, want\n%s", c.what, got, want)
		}
	}
}
