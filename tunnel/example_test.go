package tunnel_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/server"
	"paddock/wire"
)

// A program serves visitors of a public name without a port of its own. Both ends are in
// one process here; the link is a connection over loopback.
func Example_listen() {
	server, link, stop := exampleServer()
	defer stop()
	c, err := client.New(client.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, wire.ClientConfig{Address: link}) }()

	l, err := c.Listen(ctx, client.Tunnel{Name: "greeter", Protocol: tunnel.HTTP, Host: "bus-17.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s", r.Host)
	})}
	go func() { _ = service.Serve(l) }()

	visit := httptest.NewRequest(http.MethodGet, "http://bus-17.example.com/", nil)
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, visit) // the front is an http.Handler
	fmt.Println(answer.Body)

	_ = service.Close() // the name is free
	cancel()
	<-ended
	// Output: hello from bus-17.example.com
}

// The server reaches the service of a TCP tunnel as a visitor would, with no port
// between.
func Example_dial() {
	server, link, stop := exampleServer()
	defer stop()
	c, err := client.New(client.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, wire.ClientConfig{Address: link}) }()
	l, err := c.Listen(ctx, client.Tunnel{Name: "echo", Protocol: tunnel.TCP, Remote: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()

	conn, err := server.Dial(ctx, l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	_, _ = io.WriteString(conn, "there and back")
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	text, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", text, err)

	_ = l.Close()
	cancel()
	<-ended
	// Output: there and back <nil>
}

// exampleServer allows every client every name, which is for examples alone.
func exampleServer() (s *server.Server, link string, stop func()) {
	quiet := slog.New(slog.DiscardHandler)
	s = &server.Server{Logger: quiet, Policy: tunnel.PolicyFunc(func(string, tunnel.Binding) error { return nil })}
	mux := wire.NewMux()
	s.Register(mux)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	w := &wire.Server{Config: &wire.Config{Mux: mux, Logger: quiet}}
	ended := make(chan error)
	go func() { ended <- w.Serve(l) }()
	return s, l.Addr().String(), func() {
		_ = s.Close()
		_ = w.Close()
		<-ended
	}
}
