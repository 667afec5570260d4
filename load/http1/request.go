package http1

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"paddock/internal/netio/h1"
)

// Request describes a request.
type Request struct {
	Method string // "" = GET, or POST if there is a body
	URL    string // http or https, and the host
	// Header is sent in this order, behind Host, User-Agent and Accept: a field of
	// these names takes the place of the usual one, and with an empty value it is left
	// out.
	Header    []Field
	UserAgent string // "" = none
	// Body is sent with its Content-Length; nil = there is none.
	Body []byte
	// Version10 asks with HTTP/1.0.
	Version10 bool
	// Bare sends nothing but Header and the length of the body.
	Bare bool
}

// Field is a header field.
type Field struct{ Name, Value string }

// ParseField reads "Name: value", as a flag gives it.
func ParseField(text string) (Field, error) {
	name, value, ok := strings.Cut(text, ":")
	f := Field{name, strings.Trim(value, " \t")}
	if !ok {
		return f, fmt.Errorf("http1: the header %q has no colon: it is written \"Name: value\"", text)
	}
	return f, f.check()
}

func (f Field) check() error {
	for i := range len(f.Name) {
		if !h1.IsAll(f.Name[i:i+1], h1.TokenByte) {
			return fmt.Errorf("http1: the header's name %q has the character %q", f.Name, f.Name[i])
		}
	}
	if f.Name == "" {
		return errors.New("http1: a header without a name")
	}
	if !h1.IsAll(f.Value, h1.ValueByte) {
		return fmt.Errorf("http1: the header %s has a control character: %q", f.Name, f.Value)
	}
	return nil
}

// Append appends the request as it is sent, and gives the length of its head and its form.
func (r *Request) Append(dst []byte) (_ []byte, head int, form Form, err error) {
	begin := len(dst)
	u, err := parseURL(r.URL)
	if err != nil {
		return dst, 0, 0, err
	}
	method := r.method()
	if err := checkMethod(method); err != nil {
		return dst, 0, 0, err
	}
	dst = append(append(append(dst, method...), ' '), u.RequestURI()...)
	if r.Version10 {
		dst = append(dst, " HTTP/1.0\r\n"...)
	} else {
		dst = append(dst, " HTTP/1.1\r\n"...)
	}
	if dst, err = r.appendHeader(dst, u); err != nil {
		return dst[:begin], 0, 0, err
	}
	dst = append(dst, "\r\n"...)
	head = len(dst) - begin
	return append(dst, r.Body...), head, r.form(method), nil
}

func (r *Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body != nil:
		return "POST"
	}
	return "GET"
}

func checkMethod(method string) error {
	for i := range len(method) {
		if !h1.IsAll(method[i:i+1], h1.TokenByte) {
			return fmt.Errorf("http1: the method %q has the character %q", method, method[i])
		}
	}
	if method == "CONNECT" {
		return errors.New("http1: CONNECT makes a tunnel, and no answer ends it")
	}
	return nil
}

// parseURL reads the URL of a service.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("http1: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("http1: %q is no URL of the form http://host/path", text)
	}
	return u, nil
}

// appendHeader appends the header without the blank line.
func (r *Request) appendHeader(dst []byte, u *url.URL) ([]byte, error) {
	var usual []Field
	if !r.Bare {
		usual = []Field{{"Host", u.Host}, {"User-Agent", r.UserAgent}, {"Accept", "*/*"}, {"Authorization", basic(u.User)}}
	}
	for _, f := range usual {
		if f.Value == "" || r.has(f.Name) {
			continue
		}
		if err := f.check(); err != nil {
			return dst, err
		}
		dst = appendField(dst, f)
	}
	length := r.Body != nil
	for _, f := range r.Header {
		if err := f.check(); err != nil {
			return dst, err
		}
		switch {
		case strings.EqualFold(f.Name, "Transfer-Encoding"):
			return dst, errors.New("http1: a request's body is sent with its Content-Length, not with a Transfer-Encoding")
		case strings.EqualFold(f.Name, "Content-Length"):
			if f.Value != strconv.Itoa(len(r.Body)) {
				return dst, fmt.Errorf("http1: the header Content-Length says %q, and the body has %d bytes", f.Value, len(r.Body))
			}
			length = false
		case f.Value == "" && !r.Bare && isUsual(f.Name):
			continue
		}
		dst = appendField(dst, f)
	}
	if length {
		dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(r.Body)), 10), "\r\n"...)
	}
	return dst, nil
}

func isUsual(name string) bool {
	return strings.EqualFold(name, "Host") || strings.EqualFold(name, "User-Agent") || strings.EqualFold(name, "Accept")
}

func appendField(dst []byte, f Field) []byte {
	dst = append(append(dst, f.Name...), ": "...)
	return append(append(dst, f.Value...), "\r\n"...)
}

// basic is the value of Authorization for the user of a URL.
func basic(user *url.Userinfo) string {
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// has reports whether the caller's header has a field.
func (r *Request) has(name string) bool {
	return slices.ContainsFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// form says how the answer is to be read.
func (r *Request) form(method string) (form Form) {
	if method == "HEAD" {
		form |= NoBody
	}
	keep := false
	for _, f := range r.Header {
		if !strings.EqualFold(f.Name, "Connection") {
			continue
		}
		for token := range strings.SplitSeq(f.Value, ",") {
			token = strings.TrimSpace(token)
			keep = keep || strings.EqualFold(token, "keep-alive")
			if strings.EqualFold(token, "close") {
				form |= Close
			}
		}
	}
	if r.Version10 {
		form |= Version10
		if !keep {
			form |= Close
		}
	}
	return form
}
