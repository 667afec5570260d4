package website

import (
	"net"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/access"
)

// appendAnswer is the fast path: it appends the answer to a plain request for a page in memory. It
// returns nil to leave the request to ServeHTTP, which would give the same bytes.
//
// hot: BenchmarkFast, TestFastPathDoesNotAllocate.
func (s *Site) appendAnswer(dst []byte, r *plainhttp.Request) []byte {
	if r.Method == plainhttp.POST {
		return nil
	}
	p := s.cache.get(r.Path)
	if p == nil || !s.current(p, r.Now) {
		var err error
		if p, err = s.page(string(r.Path), r.Now); err != nil || !p.inMemory {
			return nil
		}
	}
	content := p.choose(r.AcceptEncoding)
	if content.head == nil {
		return nil
	}
	dst = r.AppendEnd(append(dst, content.head...))
	if r.Method == plainhttp.GET {
		dst = append(dst, content.body...)
	}
	s.requests.Add(1)
	s.short.Add(1)
	s.record(r, content)
	return dst
}

// admits reports whether the site answers for a host. There is no authentication.
func (s *Site) admits(_ net.Addr, host, _ string) (<-chan struct{}, bool) {
	return nil, s.options.AnyHost || access.LocalName(host)
}

// record adds an answer to the request log.
func (s *Site) record(r *plainhttp.Request, content *content) {
	if !s.options.Requests.wants(200) {
		return
	}
	line := request{begun: r.Now, remote: r.Remote, method: r.Method.String(), target: string(r.Target), proto: "HTTP/1.1", status: 200}
	if r.Method == plainhttp.GET {
		line.bytes = content.stamp.size
	}
	s.options.Requests.add(line)
}
