package ab

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"paddock/load/http1"
)

// Request is the request that is sent over and over.
type Request struct {
	Bytes []byte
	head  int // of them
	form  http1.Form
}

// Thread returns r, which all threads read.
func (r *Request) Thread(int, int) http1.Source { return r }

// Make gives the request.
func (r *Request) Make(int64) (http1.Message, error) {
	return http1.Message{Bytes: r.Bytes, Head: r.head, Form: r.form}, nil
}

// userAgent is ab's: a service that treats it in its own way does so here too.
const userAgent = "ApacheBench/2.3"

// Request makes the request: HTTP/1.0, with the fields in ab's order. body is the content of the
// file of -p or -u, if there is one. Several cookies are one field, of which ab sends only the
// last.
func (o *Options) Request(body []byte) (*Request, error) {
	fields, err := o.fields(body)
	if err != nil {
		return nil, err
	}
	u := o.target()
	r := http1.Request{Method: o.method(), URL: o.URL, Header: fields, Bare: true, Version10: true}
	if body != nil {
		r.Body = body
	}
	bytes, head, form, err := r.Append(nil)
	if err != nil {
		return nil, err
	}
	if o.Proxy != "" { // which is asked with the whole URL
		line := fmt.Sprintf("%s %s://%s", r.Method, u.Scheme, u.Host)
		bytes = append([]byte(line), bytes[len(r.Method)+len(" "):]...)
		head += len(line) - len(r.Method) - len(" ")
	}
	return &Request{bytes, head, form}, nil
}

// fields are the header.
func (o *Options) fields(body []byte) (list []http1.Field, err error) {
	add := func(name, value string) { list = append(list, http1.Field{Name: name, Value: value}) }
	if o.KeepAlive {
		add("Connection", "Keep-Alive")
	}
	if len(o.Cookies) > 0 {
		add("Cookie", strings.Join(o.Cookies, "; "))
	}
	for _, who := range []struct{ flag, name, value string }{
		{"-A", "Authorization", o.Auth}, {"-P", "Proxy-Authorization", o.ProxyAuth},
	} {
		if who.value == "" {
			continue
		}
		if !strings.Contains(who.value, ":") {
			return nil, errors.New(who.flag + " has no colon: it is written USER:PASSWORD")
		}
		add(who.name, "Basic "+base64.StdEncoding.EncodeToString([]byte(who.value)))
	}
	var own []http1.Field
	for _, text := range o.Headers {
		f, err := http1.ParseField(text)
		if err != nil {
			return nil, fmt.Errorf("-H: %w", err)
		}
		own = append(own, f)
	}
	if body != nil {
		if !has(own, "Content-Length") {
			add("Content-Length", strconv.Itoa(len(body)))
		}
		if o.ContentType != "" || !has(own, "Content-Type") {
			add("Content-Type", cmp.Or(o.ContentType, "text/plain"))
		}
	}
	list = append(list, own...)
	for _, f := range []http1.Field{{Name: "Host", Value: o.target().Host}, {Name: "User-Agent", Value: userAgent}, {Name: "Accept", Value: "*/*"}} {
		if !has(own, f.Name) {
			list = append(list, f)
		}
	}
	return list, nil
}

func has(list []http1.Field, name string) bool {
	return slices.ContainsFunc(list, func(f http1.Field) bool { return strings.EqualFold(f.Name, name) })
}
