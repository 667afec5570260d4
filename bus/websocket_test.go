package bus_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// webServer has a listener for WebSocket beside the port.
func webServer(t *testing.T, cfg bus.Config, w bus.WebSocket) *bus.Server {
	t.Helper()
	w.Port = -1
	cfg.WebSocket = &w
	return startServer(t, cfg)
}

func TestWebSocketClients(t *testing.T) {
	for name, tc := range map[string]struct {
		secure, compression bool
		options             []nats.Option
	}{
		"ws":                 {false, false, nil},
		"wss":                {true, false, nil},
		"ws, deflated":       {false, true, []nats.Option{nats.Compression(true)}},
		"wss, deflated":      {true, true, []nats.Option{nats.Compression(true)}},
		"deflate not taken":  {false, false, []nats.Option{nats.Compression(true)}},
		"deflate not wanted": {false, true, nil},
		"under a path":       {false, false, []nats.Option{nats.ProxyPath("/a/b")}},
	} {
		t.Run(name, func(t *testing.T) {
			w, scheme := bus.WebSocket{Compression: tc.compression}, "ws://"
			if tc.secure {
				w.TLS, scheme = serverConfig(t), "wss://"
				tc.options = append(tc.options, nats.Secure(clientConfig()))
			}
			s := webServer(t, configForTest, w)
			nc, err := nats.Connect(scheme+s.WebSocketAddr().String(), tc.options...)
			check(t, err)
			defer nc.Close()
			echoes(t, nc)
			both := must[*nats.Subscription](t)(nc.SubscribeSync("both"))
			check(t, nc.Flush())
			check(t, connect(t, s).Publish("both", []byte("from the port")))
			if m := must[*nats.Msg](t)(both.NextMsg(patience)); string(m.Data) != "from the port" {
				t.Errorf("got %q", m.Data)
			}
		})
	}
}

// webDial is an independent client of RFC 6455.
func webDial(t *testing.T, s *bus.Server, options *websocket.DialOptions) (*websocket.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, "ws://"+s.WebSocketAddr().String(), options)
	if err == nil {
		t.Cleanup(func() { conn.CloseNow() })
		conn.SetReadLimit(1 << 20)
	} else if answer != nil {
		err = fmt.Errorf("%d: %w", answer.StatusCode, err)
	}
	return conn, err
}

// webRead returns the next message.
func webRead(t *testing.T, conn *websocket.Conn) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kind, b, err := conn.Read(ctx)
	if err == nil && kind != websocket.MessageBinary {
		t.Errorf("message of kind %v", kind)
	}
	return string(b), err
}

func webWrite(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
}

func TestWebSocketMessagesAndEnds(t *testing.T) {
	s := webServer(t, bus.Config{MaxPayload: 1000, ServerName: "here"}, bus.WebSocket{})
	conn, err := webDial(t, s, nil)
	check(t, err)
	info := must[string](t)(webRead(t, conn))
	_, port, _ := net.SplitHostPort(s.WebSocketAddr().String())
	if !strings.HasPrefix(info, "INFO {") || !strings.Contains(info, `"port":`+port) || strings.Contains(info, "tls_") {
		t.Errorf("got %q", info)
	}
	// The output of one batch is one message of WebSocket.
	webWrite(t, conn, "CONNECT {\"verbose\":false}\r\nSUB a 1\r\nPUB a 2\r\nhi\r\nPUB a 0\r\n\r\nPING\r\n")
	for _, want := range []string{"MSG a 1 2\r\nhi\r\nMSG a 1 0\r\n\r\n", "PONG\r\n"} {
		if got := must[string](t)(webRead(t, conn)); got != want {
			t.Errorf("got %q", got)
		}
	}
	read := make(chan error)
	go func() {
		_, err := webRead(t, conn)
		read <- err
	}()
	check(t, conn.Ping(t.Context()))
	webWrite(t, conn, "PING\r\n")
	check(t, <-read)
	check(t, conn.Close(websocket.StatusNormalClosure, "bye")) // waits for the answer

	conn, err = webDial(t, s, nil)
	check(t, err)
	must[string](t)(webRead(t, conn))
	webWrite(t, conn, "CONNECT {\"verbose\":false}\r\nPUB a 1001\r\n")
	if got := must[string](t)(webRead(t, conn)); got != "-ERR 'Maximum Payload Violation'\r\n" {
		t.Errorf("got %q", got)
	}
	var end websocket.CloseError
	if _, err := webRead(t, conn); !errors.As(err, &end) || end.Code != websocket.StatusMessageTooBig || end.Reason != "Maximum Message Payload Exceeded" {
		t.Errorf("ended with %v", err)
	}
	other, err := webDial(t, s, nil)
	check(t, err)
	must[string](t)(webRead(t, other))
	shutdown(t, s)
	if _, err := webRead(t, other); !errors.As(err, &end) || end.Code != websocket.StatusGoingAway || end.Reason != "Server Shutdown" {
		t.Errorf("ended with %v", err)
	}
	if st := s.Stats(); st.Closed[bus.ClientClosed] != 1 || st.Closed[bus.MaxPayloadExceeded] != 1 || st.Closed[bus.ServerShutdown] != 1 {
		t.Errorf("closed: %v", st.Closed)
	}
}

func TestWebSocketTurnsAway(t *testing.T) {
	s := webServer(t, bus.Config{MaxConns: 1}, bus.WebSocket{})
	connect(t, s)
	conn, err := webDial(t, s, nil)
	check(t, err)
	var all strings.Builder
	for err == nil {
		var text string
		text, err = webRead(t, conn)
		all.WriteString(text)
	}
	if !strings.HasPrefix(all.String(), "INFO ") || !strings.HasSuffix(all.String(), "-ERR 'maximum connections exceeded'\r\n") ||
		websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("%q, then %v", &all, err)
	}
}

func TestWebSocketOrigins(t *testing.T) {
	for name, tc := range map[string]struct {
		w      bus.WebSocket
		origin string
		taken  bool
	}{
		"any":             {bus.WebSocket{}, "http://elsewhere.org", true},
		"no page":         {bus.WebSocket{SameOrigin: true}, "", true},
		"same":            {bus.WebSocket{SameOrigin: true}, "http://HOST", true},
		"other":           {bus.WebSocket{SameOrigin: true}, "http://elsewhere.org", false},
		"same, https":     {bus.WebSocket{SameOrigin: true}, "https://HOST", false},
		"no origin":       {bus.WebSocket{SameOrigin: true}, "null", false},
		"allowed":         {bus.WebSocket{AllowedOrigins: []string{"https://A.org"}}, "https://a.org:443", true},
		"another scheme":  {bus.WebSocket{AllowedOrigins: []string{"https://a.org"}}, "http://a.org", false},
		"another port":    {bus.WebSocket{AllowedOrigins: []string{"https://a.org"}}, "https://a.org:444", false},
		"of several":      {bus.WebSocket{AllowedOrigins: []string{"https://a.org", "http://b.org:80"}}, "http://b.org", true},
		"a name within":   {bus.WebSocket{AllowedOrigins: []string{"https://a.org"}}, "https://a.org.evil.org", false},
		"same and listed": {bus.WebSocket{SameOrigin: true, AllowedOrigins: []string{"https://a.org"}}, "https://a.org", false},
	} {
		s := webServer(t, configForTest, tc.w)
		header := http.Header{}
		if tc.origin != "" {
			header.Set("Origin", strings.Replace(tc.origin, "HOST", s.WebSocketAddr().String(), 1))
		}
		if _, err := webDial(t, s, &websocket.DialOptions{HTTPHeader: header}); (err == nil) != tc.taken || err != nil && !strings.HasPrefix(err.Error(), "403") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// upgradeOf is a good handshake but for one line, which is replaced.
func upgradeOf(old, with string) string {
	return strings.Replace("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", old, with, 1)
}

func TestWebSocketHandshake(t *testing.T) {
	s := webServer(t, configForTest, bus.WebSocket{Compression: true, HandshakeTimeout: 200 * time.Millisecond})
	for name, tc := range map[string]struct {
		send   string
		status int // 0 = no answer
		header string
	}{
		"good":              {upgradeOf("", ""), 101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
		"method":            {upgradeOf("GET", "POST"), 405, ""},
		"old HTTP":          {upgradeOf("HTTP/1.1", "HTTP/1.0"), 400, ""},
		"no host":           {upgradeOf("Host: x\r\n", ""), 400, ""},
		"no upgrade":        {upgradeOf("Upgrade: websocket\r\n", ""), 400, ""},
		"other upgrade":     {upgradeOf("Upgrade: websocket", "Upgrade: h2c"), 400, ""},
		"connection":        {upgradeOf("Connection: keep-alive, Upgrade", "Connection: close"), 400, ""},
		"no key":            {upgradeOf("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), 400, ""},
		"short key":         {upgradeOf("dGhlIHNhbXBsZSBub25jZQ==", "YWJj"), 400, ""},
		"version":           {upgradeOf("Version: 13", "Version: 8"), 400, ""},
		"mqtt":              {upgradeOf("GET /", "GET /mqtt"), 404, ""},
		"too eager":         {upgradeOf("", "") + "PING\r\n", 400, ""},
		"NATS":              {"CONNECT {}\r\nPING\r\n", 400, ""},
		"TLS":               {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, ""},
		"endless":           {upgradeOf("Host", "Cookie: "+strings.Repeat("x", 40<<10)+"\r\nHost"), 400, ""},
		"slow":              {"GET / HTTP/1.1\r\nHo", 0, ""},
		"silent":            {"", 0, ""},
		"deflate":           {upgradeOf("Host", "Sec-WebSocket-Extensions: foo, permessage-deflate; client_max_window_bits\r\nHost"), 101, "server_no_context_takeover; client_no_context_takeover"},
		"window of its own": {upgradeOf("Host", "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\nHost"), 101, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := must[net.Conn](t)(net.Dial("tcp", s.WebSocketAddr().String()))
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(patience))
			go io.WriteString(conn, tc.send) //nolint:errcheck // ends with the connection
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if tc.status == 0 {
				if err == nil {
					t.Errorf("answer %d", answer.StatusCode)
				}
				return
			}
			check(t, err)
			if answer.StatusCode != tc.status {
				t.Errorf("status %d, want %d", answer.StatusCode, tc.status)
			}
			extensions := answer.Header.Get("Sec-Websocket-Extensions")
			if tc.header == "none" && extensions != "" || tc.header != "none" && !strings.Contains(answer.Header.Get("Sec-Websocket-Accept")+extensions, tc.header) {
				t.Errorf("%v", answer.Header)
			}
		})
	}
}

// A message that grows a thousandfold when it is inflated is cut off: before authentication at the
// length of a CONNECT. Other clients do not notice.
func TestWebSocketBombs(t *testing.T) {
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, flate.BestCompression)
	connects := strings.Repeat(" ", 32<<20)
	io.WriteString(w, "CONNECT ")
	io.WriteString(w, connects)
	w.Flush()
	for name, tc := range map[string]struct {
		cfg     bus.Config
		first   []byte
		payload []byte
	}{
		"before the client is known": {bus.Config{Token: "x"}, []byte{0xc2}, bomb.Bytes()},
		"after it":                   {bus.Config{}, []byte{0xc2}, bomb.Bytes()},
		"64-bit length":              {bus.Config{Token: "x"}, nil, append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<63), "key!"...)},
		"63-bit length":              {bus.Config{Token: "x"}, nil, append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<63-1), strings.Repeat("C", 10000)...)},
		"63-bit length, deflated":    {bus.Config{Token: "x"}, nil, append(binary.BigEndian.AppendUint64([]byte{0xc2, 0xff}, 1<<63-1), strings.Repeat("C", 10000)...)},
	} {
		t.Run(name, func(t *testing.T) {
			s := webServer(t, tc.cfg, bus.WebSocket{Compression: true})
			conn := must[net.Conn](t)(net.Dial("tcp", s.WebSocketAddr().String()))
			io.WriteString(conn, upgradeOf("Host", "Sec-WebSocket-Extensions: permessage-deflate\r\nHost"))
			r := bufio.NewReader(conn)
			for line := ""; line != "\r\n"; {
				line = must[string](t)(r.ReadString('\n'))
			}
			before := heap()
			frame := tc.payload
			if tc.first != nil { // with a key of zeros
				frame = binary.BigEndian.AppendUint64(append(tc.first, 0xff), uint64(len(frame)))
				frame = append(append(frame, 0, 0, 0, 0), tc.payload...)
			}
			p := &peer{t: t, conn: conn, in: make(chan []byte, 64), wait: patience}
			go p.pump()
			t.Cleanup(p.close)
			go conn.Write(frame) //nolint:errcheck // ends with the connection
			for p.more() {       //nolint:revive // the server closes
			}
			if after := heap(); after > before+16<<20 {
				t.Errorf("the heap grew from %d to %d", before, after)
			}
			connect(t, s, nats.Token(tc.cfg.Token))
		})
	}
}

// Many publications in one deflated message, whether they become smaller or not, are as good as in
// many. nats.go sends so what it has kept while it was away: up to 8 MiB and the last publication.
func TestWebSocketTakesWhatAClientHasGathered(t *testing.T) {
	const size = 60 << 10
	random := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(random)
	for name, tc := range map[string]struct {
		cfg   bus.Config
		data  []byte
		count int
	}{
		"small when packed":   {bus.Config{}, make([]byte, size), 8 << 20 / size},
		"large when packed":   {bus.Config{}, random, 8 << 20 / size},
		"a small max_payload": {bus.Config{MaxPayload: size}, random, 8 << 20 / size},
		"a large max_payload": {bus.Config{MaxPayload: 2 << 20}, random, 16 << 20 / size},
	} {
		t.Run(name, func(t *testing.T) {
			s := webServer(t, tc.cfg, bus.WebSocket{Compression: true})
			conn, err := webDial(t, s, &websocket.DialOptions{CompressionMode: websocket.CompressionNoContextTakeover})
			check(t, err)
			must[string](t)(webRead(t, conn)) // INFO
			webWrite(t, conn, "CONNECT {\"verbose\":false}\r\nPING\r\n")
			for _, then := range []string{"", strings.Repeat(fmt.Sprintf("PUB a %d\r\n%s\r\n", size, tc.data), tc.count) + "PING\r\n"} {
				if then != "" {
					webWrite(t, conn, then)
				}
				got := must[string](t)(webRead(t, conn))
				if got == "PING\r\n" { // for the round trip
					got = must[string](t)(webRead(t, conn))
				}
				if got != "PONG\r\n" {
					t.Errorf("got %q", got)
				}
			}
			if st := s.Stats(); st.InMsgs != uint64(tc.count) {
				t.Errorf("%d messages came, want %d", st.InMsgs, tc.count)
			}
		})
	}
}

// Pings without end of one that does not read gather nothing.
func TestWebSocketPingsAreAnsweredAtMostOnceEach(t *testing.T) {
	s := webServer(t, bus.Config{WriteDeadline: time.Hour}, bus.WebSocket{})
	conn := must[net.Conn](t)(net.Dial("tcp", s.WebSocketAddr().String()))
	defer conn.Close()
	io.WriteString(conn, upgradeOf("", ""))
	ping := append([]byte{0x89, 0x80 | 100, 0, 0, 0, 0}, strings.Repeat("x", 100)...)
	pings := bytes.Repeat(ping, 1000)
	before := heap()
	for range 200 { // 20 MB of answers, which the kernel does not take
		conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(pings); err != nil {
			t.Fatal(err)
		}
	}
	if after := heap(); after > before+10<<20 {
		t.Errorf("the heap grew from %d to %d", before, after)
	}
}

// door opens a subscriber behind TLS, WebSocket or both, that never reads.
func stallBehind(t *testing.T, s *bus.Server, scheme string) net.Conn {
	t.Helper()
	addr := s.Addr()
	if scheme != "tls" {
		addr = s.WebSocketAddr()
	}
	conn := must[net.Conn](t)(net.Dial("tcp", addr.String()))
	t.Cleanup(func() { conn.Close() })
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	text := "CONNECT {\"verbose\":false}\r\nSUB a.> 1\r\nPING\r\n"
	stream := conn
	switch scheme {
	case "tls":
		must[int](t)(conn.Read(make([]byte, 4096))) // INFO
		stream = tls.Client(conn, clientConfig())
	case "wss":
		stream = tls.Client(conn, clientConfig())
		fallthrough
	case "ws":
		io.WriteString(stream, upgradeOf("", ""))
		for answer := ""; !strings.HasSuffix(answer, "\r\n\r\n"); {
			b := make([]byte, 1)
			must[int](t)(stream.Read(b))
			answer += string(b)
		}
		text = string([]byte{0x82, 0x80 | byte(len(text)), 0, 0, 0, 0}) + text
	}
	io.WriteString(stream, text)
	var got []byte
	for !bytes.Contains(got, []byte("PONG\r\n")) {
		b := make([]byte, 256)
		n, err := stream.Read(b)
		check(t, err)
		got = append(got, b[:n]...)
	}
	return conn
}

// Subscribers of every kind of transport never read: they are closed at max_pending, the others get
// every message, and memory is bounded.
func TestStalledBehindADoor(t *testing.T) {
	const maxPending, size, count = 1 << 20, 16 << 10, 1000
	for _, scheme := range []string{"tls", "ws", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			cfg := bus.Config{MaxPending: maxPending, MaxPayload: 64 << 10, TLS: &bus.TLS{Config: serverConfig(t), AllowNonTLS: true}}
			w := bus.WebSocket{Compression: true}
			if scheme == "wss" {
				w.TLS = serverConfig(t)
			}
			s := webServer(t, cfg, w)
			for range 2 {
				stallBehind(t, s, scheme)
			}
			p := dialPeer(t, s)
			p.write("CONNECT {\"verbose\":false}\r\nSUB a.* 1\r\n")
			p.sync()
			body := strings.Repeat("x", size)
			before, peak := heap(), uint64(0)
			l := s.Local("publisher")
			for i := range count {
				check(t, l.Publish("a.b", "", nil, []byte(body)))
				if i%16 == 15 {
					if got := len(p.sync()); got != 16 {
						t.Fatalf("healthy subscriber got %d of 16 messages", got)
					}
					peak = max(peak, heap())
				}
			}
			if st := s.Stats(); st.Closed[bus.SlowConsumerPendingBytes] != 2 {
				t.Errorf("%+v", st)
			}
			if limit := before + 8*maxPending; peak > limit {
				t.Errorf("the heap grew from %d to %d bytes", before, peak)
			}
		})
	}
}

func TestWebSocketConfigIsChecked(t *testing.T) {
	for name, w := range map[string]bus.WebSocket{
		"no port":  {},
		"port":     {Port: 65536},
		"time":     {Port: -1, HandshakeTimeout: -1},
		"no certs": {Port: -1, TLS: &tls.Config{}},
		"origin":   {Port: -1, AllowedOrigins: []string{"a.org"}},
		"scheme":   {Port: -1, AllowedOrigins: []string{"ftp://a.org"}},
	} {
		if _, err := bus.New(bus.Config{WebSocket: &w}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := newServer(t, bus.Config{Port: -1, WebSocket: &bus.WebSocket{Host: "0.0.0.0", Port: -1}})
	if err := s.Start(); !errors.Is(err, bus.ErrOpenListen) {
		t.Errorf("open to all: %v", err)
	}
}
