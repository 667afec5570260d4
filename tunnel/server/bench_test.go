package server

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// BenchmarkExchange measures one GET with an answer of 3.5 kB over a kept connection, by 16
// visitors at a time, all in one process: at the service itself, through a reverse proxy of
// net/http in front of it, and through an HTTP and a TCP tunnel, whose link is plain TCP. The cost
// of a tunnel is its time less the first.
func BenchmarkExchange(b *testing.B) {
	page := bytes.Repeat([]byte("0123456789abcde\n"), 3500/16)
	backend := benchListener(b)
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	})}
	go func() { _ = service.Serve(backend) }()
	defer service.Close()
	at := backend.Addr().String()

	b.Run("direct", func(b *testing.B) { visit16(b, at) })
	b.Run("reverse-proxy", func(b *testing.B) {
		l := benchListener(b)
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: at})
		proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
		front := &http.Server{Handler: proxy}
		go func() { _ = front.Serve(l) }()
		defer front.Close()
		visit16(b, l.Addr().String())
		proxy.Transport.(*http.Transport).CloseIdleConnections()
	})
	b.Run("tunnel", func(b *testing.B) {
		s := &Server{Policy: everybody, Logger: silent}
		mux := wire.NewMux()
		s.Register(mux)
		link, front := benchListener(b), benchListener(b)
		w := &wire.Server{Config: &wire.Config{Mux: mux, Logger: silent}}
		go func() { _ = w.Serve(link) }()
		go func() { _ = s.Serve(front, nil) }()
		bound := make(chan client.Bound, 8)
		c, err := client.New(client.Config{
			Logger: silent, OnBound: func(r client.Bound) { bound <- r },
			Tunnels: []client.Tunnel{
				{Name: "http", Protocol: tunnel.HTTP, Host: "example.com", Target: at},
				{Name: "tcp", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: at},
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		m := wire.NewMux()
		c.Register(m)
		conn, err := wire.Dial(b.Context(), "tcp", link.Addr().String(), &wire.Config{Mux: m, Logger: silent})
		if err != nil {
			b.Fatal(err)
		}
		c.Connected(b.Context(), conn)
		for range 2 {
			if r := <-bound; r.Err != nil {
				b.Fatal(r.Err)
			}
		}
		b.Run("http", func(b *testing.B) { visit16(b, front.Addr().String()) })
		b.Run("tcp", func(b *testing.B) { visit16(b, c.Bindings()[1].Where) })
		_ = conn.Close()
		_ = s.Close()
		_ = w.Close()
		c.CloseIdle()
	})
}

func benchListener(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// visit16 asks and reads, over 16 connections for each processor.
func visit16(b *testing.B, at string) {
	request := []byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		buf := make([]byte, 8<<10)
		size := 0
		for pb.Next() {
			_, _ = conn.Write(request)
			n := 0
			for size == 0 || n < size {
				got, err := conn.Read(buf[n:])
				if n += got; err != nil {
					b.Error(err, io.EOF)
					return
				}
				if end := bytes.Index(buf[:n], []byte("\r\n\r\n")); size == 0 && end > 0 {
					size = end + 4 + 3500/16*16
				}
			}
			if !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200")) {
				b.Error(string(buf[:n]))
				return
			}
		}
	})
}
