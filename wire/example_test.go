package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"paddock/wire"
)

// The server logs lines. A post has no answer. The request after the posts proves that they have
// been handled: both handlers are inline, and so keep their order.
func ExampleConn_Post() {
	mux := wire.NewMux()
	wire.HandlePost(mux, "log.line", func(_ context.Context, line []byte) error {
		fmt.Printf("%s\n", line)
		return nil
	}, wire.Inline())
	wire.Handle(mux, "log.sync", func(context.Context, []byte) ([]byte, error) {
		return nil, nil
	}, wire.Inline())
	ctx, addr, stop := listen(&wire.Config{Mux: mux})
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for _, line := range []string{"one", "two", "three"} {
		if err := conn.Post(ctx, "log.line", []byte(line)); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := conn.Call(ctx, "log.sync", nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// one
	// two
	// three
}

// A request has one answer.
func Example() {
	mux := wire.NewMux()
	wire.Handle(mux, "greet", func(_ context.Context, name []byte) ([]byte, error) {
		if len(name) == 0 {
			return nil, &wire.Error{Code: wire.InvalidArgument, Msg: "the name is empty"}
		}
		return append([]byte("hello "), name...), nil
	})
	ctx, addr, stop := listen(&wire.Config{Mux: mux})
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.Call(ctx, "greet", []byte("wire"))
	fmt.Printf("%s %v\n", answer, err)

	_, err = conn.Call(ctx, "greet", nil)
	var e *wire.Error
	if errors.As(err, &e) && e.Code == wire.InvalidArgument {
		fmt.Println(err)
	}
	// Output:
	// hello wire <nil>
	// wire: INVALID_ARGUMENT: the name is empty
}

// Values of any type travel as CBOR, unless they encode themselves.
func ExampleCall() {
	type division struct{ Dividend, Divisor int }
	type result struct{ Quotient, Remainder int }
	mux := wire.NewMux()
	wire.Handle(mux, "divide", func(_ context.Context, d division) (result, error) {
		if d.Divisor == 0 {
			return result{}, &wire.Error{Code: wire.OutOfRange, Msg: "division by zero"}
		}
		return result{d.Dividend / d.Divisor, d.Dividend % d.Divisor}, nil
	}, wire.Inline())
	ctx, addr, stop := listen(&wire.Config{Mux: mux})
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	r, err := wire.Call[division, result](ctx, conn, "divide", division{17, 5})
	fmt.Println(r.Quotient, r.Remainder, err)
	_, err = wire.Call[division, result](ctx, conn, "divide", division{17, 0})
	fmt.Println(err)
	// Output:
	// 3 2 <nil>
	// wire: OUT_OF_RANGE: division by zero
}

// A stream carries bytes or messages both ways, and each side ends its half when
// it has said all.
func ExampleConn_Open() {
	mux := wire.NewMux()
	mux.HandleStream("count", func(_ context.Context, s *wire.Stream) error {
		for n := 1; ; n++ {
			msg, err := s.ReadMsg(nil)
			if errors.Is(err, io.EOF) {
				return s.WriteMsg([]byte("that is all")) // the return ends this half
			}
			if err != nil {
				return err
			}
			if err := s.WriteMsg(fmt.Appendf(nil, "%d: %s", n, msg)); err != nil {
				return err
			}
		}
	})
	ctx, addr, stop := listen(&wire.Config{Mux: mux})
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.Open(ctx, "count", wire.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for _, word := range []string{"a", "b"} {
		if err := stream.WriteMsg([]byte(word)); err != nil {
			log.Fatal(err)
		}
	}
	if err := stream.CloseWrite(); err != nil {
		log.Fatal(err)
	}
	for {
		msg, err := stream.ReadMsg(nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", msg)
	}
	// Output:
	// 1: a
	// 2: b
	// that is all
	// EOF
}

// An acknowledged post has a number; once that is acknowledged, the handler has
// completed for it and all before.
func ExampleConn_PostAck() {
	var total atomic.Int64
	mux := wire.NewMux()
	wire.HandlePost(mux, "deposit", func(_ context.Context, amount int64) error {
		total.Add(amount)
		return nil
	})
	ctx, addr, stop := listen(&wire.Config{Mux: mux})
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	var last uint64
	for range 3 {
		if last, err = conn.PostAck(ctx, "deposit", []byte{10}); err != nil { // 10 in CBOR is one byte
			log.Fatal(err)
		}
	}
	if err := conn.WaitAcked(ctx, last); err != nil {
		log.Fatal(err)
	}
	fmt.Println(last, total.Load())
	// Output: 3 30
}

// Both sides serve. Here the server, asked for a report, asks the client back over
// the connection that the client has dialed, through whatever lies in between.
func ExampleConnFrom() {
	server := wire.NewMux()
	wire.Handle(server, "report", func(ctx context.Context, _ []byte) ([]byte, error) {
		fuel, err := wire.ConnFrom(ctx).Call(ctx, "fuel", nil)
		return append([]byte("the vehicle has fuel: "), fuel...), err
	})
	ctx, addr, stop := listen(&wire.Config{Mux: server})
	defer stop()

	vehicle := wire.NewMux()
	wire.Handle(vehicle, "fuel", func(context.Context, []byte) ([]byte, error) {
		return []byte("73 %"), nil
	})
	conn, err := wire.Dial(ctx, "tcp", addr, &wire.Config{Mux: vehicle})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	report, err := conn.Call(ctx, "report", nil)
	fmt.Printf("%s %v\n", report, err)
	// Output: the vehicle has fuel: 73 % <nil>
}

// A server that shuts down takes no new work, lets what is under way come to its
// end, and closes.
func ExampleServer_Shutdown() {
	begun, goOn := make(chan struct{}), make(chan struct{})
	mux := wire.NewMux()
	wire.Handle(mux, "slow", func(context.Context, []byte) ([]byte, error) {
		close(begun)
		<-goOn
		return []byte("done"), nil
	})
	server := &wire.Server{Config: &wire.Config{Mux: mux}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(l)

	ctx := context.Background()
	conn, err := wire.Dial(ctx, "tcp", l.Addr().String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan string)
	go func() {
		answer, err := conn.Call(ctx, "slow", nil)
		answered <- fmt.Sprint(string(answer), " ", err)
	}()
	<-begun

	stopped := make(chan error)
	go func() { stopped <- server.Shutdown(ctx) }()
	<-conn.GoingAway()
	_, err = conn.Call(ctx, "slow", nil)
	fmt.Println(err, errors.Is(err, wire.ErrDraining))

	close(goOn)
	fmt.Println(<-answered)
	fmt.Println(<-stopped)
	// Output:
	// wire: connection draining true
	// done <nil>
	// <nil>
}

// A client proves over TLS that it knows the secret of a token. The server knows
// the hash of the secret only.
func ExampleTokenAuth() {
	secret := []byte("32 random bytes from crypto/rand")
	hash := wire.TokenHash(secret)

	mux := wire.NewMux()
	wire.Handle(mux, "whoami", func(ctx context.Context, _ []byte) ([]byte, error) {
		return fmt.Append(nil, wire.ConnFrom(ctx).Identity()), nil
	})
	_, addr, stop := listen(&wire.Config{
		Mux: mux,
		TLS: serverTLS(), // with the server's certificate
		Verify: wire.VerifyTokens(func(id string) (sum []byte, known bool) {
			return hash[:], id == "vehicle-17"
		}),
		Logger: slog.New(slog.DiscardHandler),
	})
	defer stop()

	ctx := context.Background()
	for _, secret := range [][]byte{secret, []byte("a guess")} {
		conn, err := wire.Dial(ctx, "tcp", addr, &wire.Config{
			TLS:  clientTLS(), // with the roots that the client trusts
			Auth: wire.TokenAuth("vehicle-17", secret),
		})
		if err != nil {
			log.Fatal(err)
		}
		who, err := wire.Call[[]byte, []byte](ctx, conn, "whoami", nil)
		var e *wire.Error
		fmt.Printf("%q %v\n", who, errors.As(err, &e) && e.Code == wire.Unauthenticated)
		_ = conn.Close()
	}
	// Output:
	// "token:vehicle-17" false
	// "" true
}

// A program behind NAT dials out and serves HTTP over the streams that the other
// side opens to it: a tunnel.
func ExampleMux_Listener() {
	public := wire.NewMux()
	wire.Handle(public, "fetch", func(ctx context.Context, path []byte) ([]byte, error) {
		conn := wire.ConnFrom(ctx)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return conn.Open(ctx, "http", wire.OpenOptions{})
		}}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get("http://backend" + string(path))
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		return io.ReadAll(res.Body)
	})
	ctx, addr, stop := listen(&wire.Config{Mux: public})
	defer stop()

	private := wire.NewMux()
	backend := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "this is %s", r.URL.Path)
	})}
	go backend.Serve(private.Listener("http"))
	defer backend.Close()

	conn, err := wire.Dial(ctx, "tcp", addr, &wire.Config{Mux: private})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	page, err := conn.Call(ctx, "fetch", []byte("/index.html"))
	fmt.Printf("%s %v\n", page, err)
	// Output: this is /index.html <nil>
}

// A Client makes a new connection when one ends. What was not sent yet goes on the
// next one; acknowledged posts are sent again until they are acknowledged.
func ExampleClient() {
	mux := wire.NewMux()
	wire.Handle(mux, "hang-up", func(ctx context.Context, _ []byte) ([]byte, error) {
		wire.ConnFrom(ctx).Abort(wire.Unavailable)
		return nil, nil
	})
	wire.HandlePost(mux, "pos", func(_ context.Context, pos []byte) error {
		fmt.Printf("%s\n", pos)
		return nil
	})
	ctx, addr, stop := listen(&wire.Config{
		Mux: mux, Sessions: new(wire.Sessions), Logger: slog.New(slog.DiscardHandler),
	})
	defer stop()

	client, err := wire.NewClient(wire.ClientConfig{Address: addr})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = client.Call(ctx, "hang-up", nil)
	fmt.Println(errors.Is(err, wire.ErrMaybeSent))

	number, err := client.PostAck(ctx, "pos", []byte("52.5 13.4"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.WaitAcked(ctx, number))
	// Output:
	// true
	// 52.5 13.4
	// <nil>
}

// listen serves on a free port of loopback until stop is called.
func listen(cfg *wire.Config) (ctx context.Context, addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &wire.Server{Config: cfg}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	return context.Background(), l.Addr().String(), func() {
		_ = server.Close()
		if err := <-served; err != nil {
			log.Fatal(err)
		}
	}
}
