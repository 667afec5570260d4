package h1

import (
	"net/netip"
	"testing"
)

// BenchmarkHead parses the heads of a typical request and its answer and writes the forwarded
// heads, as a tunnel does for each exchange.
func BenchmarkHead(b *testing.B) {
	visitor := []byte("GET /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\nCookie: a=b; c=d\r\n\r\n")
	target := []byte("HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/html\r\nContent-Length: 3488\r\nConnection: keep-alive\r\nETag: \"1\"\r\n\r\n")
	var h, answer Head
	how := Forward{Head: &h, Peer: netip.MustParseAddrPort("192.0.2.1:80")}
	if err := h.ParseVisitor(visitor); err != nil {
		b.Fatal(err)
	}
	link, err := how.Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := answer.Parse(target, TargetAnswer); err != nil {
		b.Fatal(err)
	}
	b.Run("visitor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = h.ParseVisitor(visitor)
		}
	})
	b.Run("forward", func(b *testing.B) {
		b.ReportAllocs()
		_ = h.ParseVisitor(visitor)
		for b.Loop() {
			link, _ = how.Append(link[:0])
		}
	})
	b.Run("link", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = h.Parse(link, LinkRequest)
		}
	})
	b.Run("target", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = answer.Parse(target, TargetAnswer)
		}
	})
	b.Run("answer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			link = AppendAnswerHead(link[:0], &answer, false, -1)
		}
	})
}
