package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"paddock/lab/perf"
)

// GRPC is grpc-go with one ClientConn. Bodies are raw bytes, so that protobuf
// costs it nothing. Its buffers and windows are the defaults (32 KiB of write
// buffer, windows that grow by its own estimate); no statistics handlers, no
// interceptors, no retries; stream workers on the server, as its own benchmarks
// use them.
var GRPC = Peer{
	Name:  "grpc",
	About: "google.golang.org/grpc; raw-bytes codec, default buffers, stream workers; posts share a client stream",
	Serve: serveGRPC,
	Dial:  dialGRPC,
}

const (
	grpcEcho  = "/bench.Bench/Echo"
	grpcPosts = "/bench.Bench/Posts"
	grpcBulk  = "/bench.Bench/Bulk"
)

// message is a body of raw bytes.
type message struct{ body []byte }

// rawCodec carries a message's bytes as they are. Like the codec of protobuf it
// gives gRPC a copy, which the transport keeps until it has been written.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("not a message: %T", v)
	}
	return mem.BufferSlice{mem.Copy(m.body, mem.DefaultBufferPool())}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("not a message: %T", v)
	}
	size := data.Len()
	if cap(m.body) < size {
		m.body = make([]byte, size)
	}
	m.body = m.body[:size]
	data.CopyTo(m.body)
	return nil
}

func serveGRPC(svc *Service) (func() error, error) {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(rawCodec{}),
		grpc.NumStreamWorkers(uint32(runtime.NumCPU())),
	}
	if svc.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(svc.TLS)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(grpcDescription(), svc.Sink)
	served := make(chan error, 1)
	go func() { served <- server.Serve(svc.Listener) }()
	return func() error {
		server.Stop()
		return <-served
	}, nil
}

func grpcDescription() *grpc.ServiceDesc {
	receive := func(srv any, stream grpc.ServerStream) error {
		return receiveGRPC(srv.(*Sink), stream)
	}
	return &grpc.ServiceDesc{
		ServiceName: "bench.Bench",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: echoGRPC}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Posts", Handler: receive, ClientStreams: true},
			{StreamName: "Bulk", Handler: receive, ClientStreams: true},
		},
	}
}

func echoGRPC(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	m := &message{}
	if err := decode(m); err != nil {
		return nil, err
	}
	return m, nil
}

func receiveGRPC(counter *Sink, stream grpc.ServerStream) error {
	m := &message{}
	for {
		if err := stream.RecvMsg(m); errors.Is(err, io.EOF) {
			return stream.SendMsg(&message{})
		} else if err != nil {
			return err
		}
		counter.Add(1, len(m.body))
	}
}

func dialGRPC(_ context.Context, t Target) (Session, error) {
	creds := insecure.NewCredentials()
	if t.TLS != nil {
		creds = credentials.NewTLS(t.TLS)
	}
	t.TLS = nil // gRPC does it itself
	conn, err := grpc.NewClient("passthrough:///"+t.Addr,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.StaticMethod()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, t) }),
		grpc.WithDisableRetry(),
	)
	if err != nil {
		return nil, err
	}
	return &grpcSession{conn: conn}, nil
}

type grpcSession struct {
	conn *grpc.ClientConn

	mu    sync.Mutex // also held around the SendMsg of posts
	posts Sender
}

func (s *grpcSession) Requester(context.Context) (Requester, error) {
	return &grpcRequester{conn: s.conn}, nil
}

// Poster returns a sender on the one client stream of all posters. SendMsg may
// not be called twice at once, so there is a lock; with a stream for each of 100
// posters gRPC carried a third less.
func (s *grpcSession) Poster(ctx context.Context) (Sender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts == nil {
		var err error
		if s.posts, err = s.sender(ctx, grpcPosts); err != nil {
			return nil, err
		}
	}
	return &grpcPoster{session: s}, nil
}

func (s *grpcSession) Bulk(ctx context.Context) (Sender, error) { return s.sender(ctx, grpcBulk) }

// sender opens a stream, which ends with the connection.
func (s *grpcSession) sender(ctx context.Context, method string) (Sender, error) {
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
	if err != nil {
		return nil, err
	}
	return &grpcSender{stream: stream}, nil
}

func (s *grpcSession) Close() error { return s.conn.Close() }

type grpcRequester struct {
	conn        *grpc.ClientConn
	out, answer message
}

func (r *grpcRequester) Request(ctx context.Context, body []byte) ([]byte, error) {
	r.out.body = body
	err := r.conn.Invoke(ctx, grpcEcho, &r.out, &r.answer)
	return r.answer.body, err
}

type grpcSender struct {
	stream grpc.ClientStream
	out    message
}

func (s *grpcSender) Send(_ context.Context, body []byte) error {
	s.out.body = body
	return s.stream.SendMsg(&s.out)
}

type grpcPoster struct{ session *grpcSession }

func (p *grpcPoster) Send(ctx context.Context, body []byte) error {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	return p.session.posts.Send(ctx, body)
}

// NewCertificate makes a certificate that lives as long as the process, and returns its DER beside
// the configuration of a server that shows it.
func NewCertificate() (*tls.Config, []byte, error) {
	cert, err := perf.SelfSigned()
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, cert.Certificate[0], nil
}

// ClientTLS returns the configuration that trusts the certificate der alone.
func ClientTLS(der []byte) (*tls.Config, error) {
	return perf.Pinned(perf.Fingerprint(tls.Certificate{Certificate: [][]byte{der}}))
}
