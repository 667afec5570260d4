package bus_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"paddock/bus"
	"paddock/internal/process/logbound"
)

// logLines is a log that tests may read while it is written.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: bus.LevelTrace}))
}

// With Trace the log has each operation both ways, but no secret; without, connections alone.
func TestTrace(t *testing.T) {
	long := strings.Repeat("x", 2000)
	sent := []string{
		"CONNECT {\"verbose\":false,\"headers\":true,\"user\":\"u\",\"pass\":\"hidden\"}\r\nSUB a 1\r\nPU",
		"B a 3\r\nh", "\r\n\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
		"PUB a 2000\r\n" + long + "\r\nPING\r\n",
	}
	for _, traced := range []bool{true, false} {
		var log logLines
		s := startServer(t, bus.Config{Username: "u", Password: "hidden", Logger: log.logger(), Trace: traced})
		p := dialRaw(t, s)
		p.greeting()
		for _, part := range sent {
			p.write("%s", part)
		}
		p.expect("answers", "MSG a 1 3\r\nh\r\n\r\nHMSG a 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\nMSG a 1 2000\r\n"+long+"\r\nPONG\r\n")
		p.write("nonsense\r\n")
		for p.more() { //nolint:revive // until it is closed
		}
		shutdown(t, s)
		for _, part := range []string{
			`<<- [CONNECT {\"headers\":true,\"pass\":\"[REDACTED]\",\"user\":\"u\",\"verbose\":false}]`, "<<- [SUB a 1]", "<<- [PUB a 3]",
			`<<- MSG_PAYLOAD: [\"h\\r\\n\"]`, "<<- [HPUB a 12 14]", "<<- [PING]", "->> [MSG a 1 3]", "->> [HMSG a 1 12 14]",
			`->> MSG_PAYLOAD: [\"h\\r\\n\"]`, "->> [PONG]", `->> MSG_PAYLOAD: [\"` + long[:1024] + `\"]`,
		} {
			if strings.Contains(log.String(), part) != traced {
				t.Errorf("traced %t, %q:\n%s", traced, part, &log)
			}
		}
		for _, part := range []string{"Client connection created", "Client connection closed: Protocol Violation"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("traced %t, no %q:\n%s", traced, part, &log)
			}
		}
		if strings.Contains(log.String(), "hidden") || strings.Contains(log.String(), long) {
			t.Errorf("a secret or a long payload is in the log:\n%s", &log)
		}
	}
}

// A message that only asks for a report of its way is not delivered.
func TestTraceOnlyIsNotDelivered(t *testing.T) {
	s := startServer(t, configForTest)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB a 1\r\n")
	var want string
	for _, c := range []struct {
		header    string
		delivered bool
	}{
		{"Nats-Trace-Dest: t\r\nNats-Trace-Only: true\r\n", false},
		{"Nats-Trace-Only:1\r\nX: y\r\nNats-Trace-Dest: t\r\n", false},
		{"Nats-Trace-Dest: t\r\n", true},
		{"Nats-Trace-Only: true\r\n", true}, // no report was asked for
		{"Nats-Trace-Dest: t\r\nNats-Trace-Only: false\r\n", true},
	} {
		text := fmt.Sprintf("NATS/1.0\r\n%s\r\n", c.header)
		p.write("HPUB a %d %d\r\n%shi\r\n", len(text), len(text)+2, text)
		if c.delivered {
			want += fmt.Sprintf("HMSG a 1 %d %d\r\n%shi\r\n", len(text), len(text)+2, text)
		}
	}
	p.write("PING\r\n")
	p.expect("what is delivered", want+"PONG\r\n")
	if n := s.Stats().TraceOnly; n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}

// A flood of clients that break the protocol does not become one of lines.
func TestLinesAboutFaultsAreBounded(t *testing.T) {
	var log logLines
	s := startServer(t, bus.Config{Logger: log.logger()})
	const clients = 4 * logbound.PerSecond
	for range clients {
		p := dialRaw(t, s)
		p.write("nonsense\r\n")
		for p.more() { //nolint:revive // until it is closed
		}
		p.close()
	}
	shutdown(t, s)
	if n := strings.Count(log.String(), "level=ERROR"); n == 0 || n >= clients {
		t.Errorf("%d lines about %d clients", n, clients)
	}
}

// The parser takes options in any case, and on a line of their own: neither shows a secret.
func TestTraceHidesSecretsInAnyForm(t *testing.T) {
	for _, connect := range []string{
		`CONNECT {"verbose":false,"User":"u","PASS":"hidden"}`,
		"CONNECT\n{\"verbose\":false,\"user\":\"u\",\"pass\":\"hidden\"}",
		"connect \t\n{\"verbose\":false,\"user\":\"u\",\"pass\":\"hidden\"}",
	} {
		var log logLines
		s := startServer(t, bus.Config{Username: "u", Password: "hidden", Logger: log.logger(), Trace: true})
		p := dialPeer(t, s)
		p.write("%s\r\nPING\r\n", connect)
		p.expect(connect, "PONG\r\n")
		shutdown(t, s)
		if text := log.String(); strings.Contains(text, "hidden") || !strings.Contains(text, "[REDACTED]") {
			t.Errorf("%q:\n%s", connect, text)
		}
	}
}

// Neither do refused pages and broken frames at the listener for web pages.
func TestLinesAboutWebSocketFaultsAreBounded(t *testing.T) {
	for name, send := range map[string]string{
		"handshake": upgradeOf("Version: 13", "Version: 8"),
		"frame":     upgradeOf("", ""),
	} {
		var log logLines
		s := webServer(t, bus.Config{Logger: log.logger()}, bus.WebSocket{})
		const clients = 4 * logbound.PerSecond
		for range clients {
			conn := must[net.Conn](t)(net.Dial("tcp", s.WebSocketAddr().String()))
			p := newPeer(t, conn)
			p.write("%s", send)
			if name == "frame" {
				for p.line() != "\r\n" { //nolint:revive // the rest of the answer
				}
				p.write("\xff\xff\xff\xff")
			}
			for p.more() { //nolint:revive // until it is closed
			}
			p.close()
		}
		shutdown(t, s)
		if n := strings.Count(log.String(), "level=ERROR"); n == 0 || n >= clients {
			t.Errorf("%s: %d lines about %d clients", name, n, clients)
		}
	}
}
