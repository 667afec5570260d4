package webhook

import (
	"net/netip"
	"testing"
)

// Only addresses of the public internet are dialled, however they are written.
func TestAddresses(t *testing.T) {
	n := &Network{}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1",
		"2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	} {
		if n.Check(netip.MustParseAddr(text)) == nil {
			t.Errorf("%s was allowed", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "100.128.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		if err := n.Check(netip.MustParseAddr(text)); err != nil {
			t.Error(err)
		}
	}
}

// The configuration allows further blocks.
func TestAllowedAddresses(t *testing.T) {
	n := &Network{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("64:ff9b:1::/48")}}
	for text, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "fe80::1%eth0": true, "64:ff9b:1::1": true, "192.168.1.1": false, "::1": false,
		"64:ff9b::a00:1": false, // the block of the embedded address is not that of this one
	} {
		if got := n.Check(netip.MustParseAddr(text)) == nil; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
