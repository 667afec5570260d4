// Package tunnelpeers holds the tunnel against the programs of others whose protocols
// pass through it: gRPC's client and server, and h2spec.
package tunnelpeers

import (
	"context"
	"crypto/tls"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/interop"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"paddock/tunnel/client"
)

// failing is gRPC's log: failures of its cases end the test, not the process.
type failing struct {
	grpclog.LoggerV2
}

// running is the test whose case runs.
var running atomic.Pointer[testing.T]

func (failing) Fatal(args ...any)                 { running.Load().Fatal(args...) }
func (failing) Fatalln(args ...any)               { running.Load().Fatal(args...) }
func (failing) Fatalf(format string, args ...any) { running.Load().Fatalf(format, args...) }

func init() {
	grpclog.SetLoggerV2(failing{grpclog.NewLoggerV2(nothing{}, nothing{}, nothing{})})
}

// calls are the interoperability cases of the gRPC project that need no accounts.
var calls = map[string]func(ctx context.Context, conn *grpc.ClientConn){
	"empty_unary":                 service(interop.DoEmptyUnaryCall),
	"large_unary":                 service(interop.DoLargeUnaryCall),
	"client_compressed_unary":     service(interop.DoLargeUnaryCall, grpc.UseCompressor(gzip.Name)),
	"client_streaming":            service(interop.DoClientStreaming),
	"timeout_on_sleeping_server":  service(interop.DoTimeoutOnSleepingServer),
	"client_compressed_streaming": service(interop.DoClientStreaming, grpc.UseCompressor(gzip.Name)),
	"server_streaming":            service(interop.DoServerStreaming),
	"ping_pong":                   service(interop.DoPingPong),
	"ping_pong compressed":        service(interop.DoPingPong, grpc.UseCompressor(gzip.Name)),
	"empty_stream":                service(interop.DoEmptyStream),
	"cancel_after_begin":          service(interop.DoCancelAfterBegin),
	"cancel_after_first_response": service(interop.DoCancelAfterFirstResponse),
	"status_code_and_message":     service(interop.DoStatusCodeAndMessage),
	"special_status_message":      service(interop.DoSpecialStatusMessage),
	"custom_metadata":             service(interop.DoCustomMetadata),
	"unimplemented_method":        interop.DoUnimplementedMethod,
	"unimplemented_service": func(ctx context.Context, conn *grpc.ClientConn) {
		interop.DoUnimplementedService(ctx, pb.NewUnimplementedServiceClient(conn))
	},
}

func service(do func(context.Context, pb.TestServiceClient, ...grpc.CallOption), options ...grpc.CallOption) func(context.Context, *grpc.ClientConn) {
	return func(ctx context.Context, conn *grpc.ClientConn) { do(ctx, pb.NewTestServiceClient(conn), options...) }
}

// gRPC passes through the tunnel as if it were not there: from visitors with and without
// TLS, to services with and without.
func TestGRPC(t *testing.T) {
	own, roots := certificate(t)
	for _, target := range []struct {
		name   string
		scheme string
		server []grpc.ServerOption
		tunnel client.Tunnel
	}{
		{name: "h2c", scheme: "h2c://"},
		{
			name: "https", scheme: "https://", server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&own))},
			tunnel: client.Tunnel{TLS: &tls.Config{RootCAs: roots, ServerName: certificateName}},
		},
	} {
		l := listen(t)
		server := grpc.NewServer(target.server...)
		pb.RegisterTestServiceServer(server, interop.NewTestServer())
		go func() { _ = server.Serve(l) }() // ends with Stop
		t.Cleanup(server.Stop)
		target.tunnel.Target = target.scheme + l.Addr().String()
		plain, secure := carry(t, target.tunnel, own)
		for front, credential := range map[string]credentials.TransportCredentials{
			plain:  insecure.NewCredentials(),
			secure: credentials.NewTLS(&tls.Config{RootCAs: roots}),
		} {
			via := " from TLS"
			if front == plain {
				via = " from h2c"
			}
			conn, err := grpc.NewClient("passthrough:///"+front, grpc.WithTransportCredentials(credential), grpc.WithAuthority(certificateName))
			if err != nil {
				t.Fatal(err)
			}
			for name, call := range calls {
				t.Run(name+" to "+target.name+via, func(t *testing.T) {
					running.Store(t)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					call(ctx, conn)
				})
			}
			_ = conn.Close()
		}
	}
}

// nothing discards the log.
type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }

// sleeper tells when a call that it has begun is over.
type sleeper struct {
	pb.UnimplementedTestServiceServer
	begun, over chan struct{}
}

func (s *sleeper) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.begun <- struct{}{}
	<-ctx.Done()
	s.over <- struct{}{}
	return nil, ctx.Err()
}

// A call that is cancelled, or whose deadline passes, is over at the service too.
func TestGRPCCancel(t *testing.T) {
	own, _ := certificate(t)
	l := listen(t)
	server := grpc.NewServer()
	s := &sleeper{begun: make(chan struct{}, 1), over: make(chan struct{}, 1)}
	pb.RegisterTestServiceServer(server, s)
	go func() { _ = server.Serve(l) }() // ends with Stop
	t.Cleanup(server.Stop)
	plain, _ := carry(t, client.Tunnel{Target: "h2c://" + l.Addr().String()}, own)
	conn, err := grpc.NewClient("passthrough:///"+plain, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, want := range map[string]codes.Code{"cancelled": codes.Canceled, "late": codes.DeadlineExceeded} {
		ctx, cancel := context.WithCancel(t.Context())
		if want == codes.DeadlineExceeded {
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := pb.NewTestServiceClient(conn).UnaryCall(ctx, &pb.SimpleRequest{})
			ended <- err
		}()
		<-s.begun
		if want == codes.Canceled {
			cancel()
		}
		if err := <-ended; status.Code(err) != want { // whichever clock is first, that of the service or of the client
			t.Errorf("%s: %v", name, err)
		}
		<-s.over
		cancel()
	}
}
