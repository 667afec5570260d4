package proxyproto

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Version 1 is one line, of at most maxText bytes with its end.
const (
	textStart = "PROXY "
	maxText   = 107
)

// parseText is Parse of version 1.
func parseText(b []byte) (h Header, n int, err error) {
	end := bytes.IndexByte(b[:min(len(b), maxText)], '\n')
	switch {
	case end < 0 && len(b) < maxText:
		return h, 0, nil
	case end < 0:
		return h, 0, fmt.Errorf("%w: no end of the line in %d bytes", ErrTooLong, maxText)
	case b[end-1] != '\r':
		return h, 0, malformed("LF without CR")
	}
	n = end + 1
	line := string(b[len(textStart) : end-1])
	if line == "UNKNOWN" || strings.HasPrefix(line, "UNKNOWN ") {
		return h, n, nil // the rest of the line means nothing
	}
	words := strings.Split(line, " ")
	if len(words) != 5 || words[0] != "TCP4" && words[0] != "TCP6" {
		return h, 0, malformed("%.60q", line)
	}
	if h.Source, err = textAddress(words[0], words[1], words[3]); err != nil {
		return Header{}, 0, err
	}
	if h.Destination, err = textAddress(words[0], words[2], words[4]); err != nil {
		return Header{}, 0, err
	}
	return h, n, nil
}

// textAddress reads an address of a family, and its port.
func textAddress(family, address, port string) (at netip.AddrPort, err error) {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() != (family == "TCP4") || a.Zone() != "" {
		return at, malformed("%.60q is no address of %s", address, family)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || len(port) > 1 && port[0] == '0' {
		return at, malformed("port %.60q", port)
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(number)), nil
}
