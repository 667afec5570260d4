package inspector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// secrets are the fields whose values are never shown. Names that end in one of secretEnds are
// secrets too: X-Api-Key, Set-Cookie.
var (
	secrets    = []string{"www-authenticate", "authentication-info"}
	secretEnds = []string{"authorization", "cookie", "token", "key", "secret", "signature", "password"}
)

// field is a line of a head, as it is shown.
type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// fieldsOf are those of a head, secrets masked.
func fieldsOf(head []byte) []field {
	fields := []field{}
	lines := bytes.Split(head, []byte("\n"))
	for _, line := range lines[min(1, len(lines)):] {
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			continue // of the value above, in an old form that services may still use
		}
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r"), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if secret(name) {
			value = fmt.Sprintf("(%d bytes, masked)", len(value))
		}
		fields = append(fields, field{name, strings.ToValidUTF8(value, "\uFFFD")})
	}
	return fields
}

func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(secrets, name) || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isText reports whether bytes, which may be cut anywhere, are text.
func isText(b []byte) bool {
	for range utf8.UTFMax - 1 {
		if len(b) == 0 || utf8.Valid(b) {
			break
		}
		b = b[:len(b)-1] // the last character may be cut
	}
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' })
}
