//go:build !race

package server

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// A small exchange costs the server few allocations: reading the request, carrying it
// and writing the answer, which has its room beforehand: garbage costs more than its making.
// The far side is a handler that makes none of its own.
func TestSmallExchangeAllocations(t *testing.T) {
	const most, mostBytes, times = 8, 1 << 10, 2000
	p := newPair(t, &Server{})
	page := bytes.Repeat([]byte("0123456789abcdef"), 3500/16)
	head := []byte("HTTP/1.1 200 OK\r\nContent-Length: 3488\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n")
	answer := message.AppendAnswer(nil, head, page)
	mux := wire.NewMux()
	wire.Handle(mux, message.KindHTTP, func(context.Context, []byte) ([]byte, error) { return answer, nil }, wire.Inline())
	conn, err := wire.Dial(t.Context(), "tcp", p.Link.Addr().String(), &wire.Config{Mux: mux, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := message.BindRequest{Version: message.Version, Tunnels: []message.BindAsk{{ID: 1, Protocol: tunnel.HTTP, Host: "example.com"}}}
	if _, err := wire.Call[message.BindRequest, message.BindAnswer](t.Context(), conn, message.KindBind, ask); err != nil {
		t.Fatal(err)
	}
	visitor, err := net.Dial("tcp", p.Front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer visitor.Close()
	request := []byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	in, want := make([]byte, 8<<10), len(head)+len(page)
	exchange := func() {
		_, _ = visitor.Write(request)
		for n := 0; n < want; {
			got, err := visitor.Read(in[n:])
			if n += got; err != nil || n > want {
				t.Fatalf("%d bytes, want %d: %v", n, want, err)
			}
		}
	}
	for range 500 {
		exchange()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := testing.AllocsPerRun(times, exchange)
	runtime.ReadMemStats(&after)
	size := (after.TotalAlloc - before.TotalAlloc) / times
	if t.Logf("%.1f allocations of %d bytes", got, size); got > most || size > mostBytes {
		t.Errorf("want at most %d of %d bytes", most, mostBytes)
	}
}
