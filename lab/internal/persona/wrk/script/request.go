package script

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"paddock/load/http1"
)

// The bounds of a script's requests.
const (
	maxRequest  = 16 << 20 // bytes of all that one call returns
	maxMessages = 1024     // requests of the same
)

var errNoRequest = errors.New("an empty text is no request")

// split finds the requests in a text: more than one are pipelined.
func split(text []byte) (list []http1.Message, err error) {
	if len(text) == 0 {
		return nil, errNoRequest
	}
	if len(text) > maxRequest {
		return nil, fmt.Errorf("%d bytes are more than %d MiB", len(text), maxRequest>>20)
	}
	for len(text) > 0 {
		if len(list) == maxMessages {
			return nil, fmt.Errorf("more than %d requests at once", maxMessages)
		}
		m, err := first(text)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", len(list)+1, err)
		}
		list, text = append(list, m), text[len(m.Bytes):]
	}
	return list, nil
}

// first returns the first request of a text. It is not internal/netio/h1, because its errors tell
// the author of a script the mistake, and it sends requests that a proxy would refuse.
func first(text []byte) (m http1.Message, err error) {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 {
		return m, fmt.Errorf("no blank line ends its head: %.60q", text)
	}
	m.Head = end + len("\r\n\r\n")
	line, header, _ := strings.Cut(string(text[:end]), "\r\n")
	method, rest, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(rest, " ")
	switch {
	case !ok || method == "" || target == "" || version != "HTTP/1.1" && version != "HTTP/1.0":
		return m, fmt.Errorf("its first line is %.60q, not like \"GET / HTTP/1.1\"", line)
	case method == "CONNECT":
		return m, errors.New("CONNECT makes a tunnel, and no answer ends it")
	case method == "HEAD":
		m.Form |= http1.NoBody
	}
	if strings.ContainsFunc(strings.ReplaceAll(string(text[:end]), "\r\n", ""), func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return m, errors.New("its head has a control character, or a line that does not end in CR LF")
	}
	length, keep := -1, false
	for field := range strings.SplitSeq(header, "\r\n") {
		name, value, ok := strings.Cut(field, ":")
		value = strings.Trim(value, " \t")
		switch {
		case field == "":
		case !ok:
			return m, fmt.Errorf("its header line %.60q has no colon", field)
		case strings.EqualFold(name, "Transfer-Encoding"):
			return m, errors.New("its body is sent with a Transfer-Encoding, and not with its Content-Length")
		case strings.EqualFold(name, "Content-Length"):
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || value[0] == '+' || value[0] == '-' {
				return m, fmt.Errorf("its Content-Length is %.60q", value)
			}
			if length >= 0 && length != n {
				return m, fmt.Errorf("its Content-Length is %d and %d", length, n)
			}
			length = n
		case strings.EqualFold(name, "Connection"):
			for token := range strings.SplitSeq(value, ",") {
				token = strings.TrimSpace(token)
				keep = keep || strings.EqualFold(token, "keep-alive")
				if strings.EqualFold(token, "close") {
					m.Form |= http1.Close
				}
			}
		}
	}
	if version == "HTTP/1.0" {
		m.Form |= http1.Version10
		if !keep {
			m.Form |= http1.Close
		}
	}
	if length = max(length, 0); length > len(text)-m.Head {
		return m, fmt.Errorf("its Content-Length says %d, and %d bytes follow", length, len(text)-m.Head)
	}
	m.Bytes = text[: m.Head+length : m.Head+length]
	return m, nil
}
