package busd

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// Without credentials a page whose own name leads to this machine is not of the server's
// origin: DNS rebinding.
func TestWebSocketRefusesNamesThatLeadHere(t *testing.T) {
	r := start(t, `port: -1, ports_file_dir: "$DIR", websocket {port: -1, no_tls: true}`)
	addr := strings.TrimPrefix(r.ports().WebSocket[0], "ws://")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		addr:                   http.StatusSwitchingProtocols,
		"localhost:" + port:    http.StatusSwitchingProtocols,
		"evil.example:" + port: http.StatusForbidden,
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", host, host)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, answer.StatusCode, want)
		}
		conn.Close()
	}
	if err := r.stop(syscall.SIGINT); err != nil {
		t.Error(err)
	}
}
