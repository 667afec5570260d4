package server

import (
	"bytes"
	"net"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// A small exchange costs the client a few allocations, whatever its size: all that is
// counted here, as both neighbours make none.
func TestSmallExchangeAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	answer := append([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\nContent-Type: text/plain\r\n\r\n"), make([]byte, 3_000)...)
	service := tunneltest.Listen(t)
	defer service.Close()
	go func() {
		conn, err := service.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for b := make([]byte, 4<<10); ; {
			if n, err := conn.Read(b); err != nil || !bytes.HasSuffix(b[:n], []byte("\r\n\r\n")) {
				return
			}
			_, _ = conn.Write(answer)
		}
	}()
	c, err := client.New(client.Config{Logger: silent, Tunnels: []client.Tunnel{
		{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: service.Addr().String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	mux := wire.NewMux()
	c.Register(mux)
	link := tunneltest.Listen(t)
	defer link.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := link.Accept()
		if err == nil {
			accepted <- conn
		}
	}()
	client, err := wire.Dial(t.Context(), "tcp", link.Addr().String(), &wire.Config{Mux: mux, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := wire.AcceptConn(<-accepted, &wire.Config{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	request := message.AppendOpening(nil, &message.Opening{Tunnel: 1, Flags: message.FlagIdempotent, Head: []byte(
		"GET /page?x=1 HTTP/1.1\r\nHost: example.com\r\nUser-Agent: test\r\nAccept: */*\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")})
	room := make([]byte, 0, 8<<10)
	ask := func() {
		got, err := server.CallAppend(t.Context(), room, message.KindHTTP, request)
		if err != nil || len(got) < 3_000 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	ask() // dials
	if n := testing.AllocsPerRun(500, ask); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
