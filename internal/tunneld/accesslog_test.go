package tunneld

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/process/logbound"
	"paddock/tunnel"
	"paddock/tunnel/server"
)

// Each refusal is a line, up to a number in each second; the next line has the number of omitted
// ones.
func TestAccessLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &accessLog{log: slog.New(slog.NewJSONHandler(&out, nil))}
		f := server.Refusal{
			Reason: server.Overloaded, Status: 503, Tunnel: "app.example", Identity: "bus-17", Peer: "192.0.2.1:5", Host: "app.example\nx",
			Waited: 7 * time.Millisecond,
		}
		for range logbound.PerSecond + 7 {
			a.refused(f)
		}
		if n := strings.Count(out.String(), "\n"); n != logbound.PerSecond {
			t.Errorf("%d lines", n)
		}
		for _, want := range []string{
			`"stage":"permit"`, `"reason":"overloaded"`, `"status":503`, `"tunnel":"app.example"`, `"client":"bus-17"`,
			`"peer":"192.0.2.1:5"`, `"host":"app.example\nx"`, `"waited_ms":7`, `"left_out":0`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s", want)
			}
		}
		out.Reset()
		time.Sleep(time.Second)
		a.refused(f)
		a.refused(f)
		if text := out.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"left_out":7`) || !strings.Contains(text, `"left_out":0`) {
			t.Errorf("a second later: %s", text)
		}
		out.Reset()
		for range logbound.PerSecond + 7 { // these lines are not bounded: the operator asked for all
			a.served(server.Served{Method: "GET", Path: "/a\nb", Status: 200, Sent: 3, RequestID: "id-7", Took: 5 * time.Millisecond})
		}
		a.served(server.Served{Protocol: tunnel.HTTP, Method: "GET", Status: 101, Received: 4, Sent: 5, End: tunnel.CutLost})
		a.served(server.Served{Protocol: tunnel.SNI, Tunnel: "a", Host: "b", Received: 4, Sent: 5, Took: time.Second, End: tunnel.Closed, Direct: true})
		for _, want := range []string{
			`"msg":"visitor served","end":"lost","status":101,`,
			`"msg":"visitor carried","protocol":"sni","tunnel":"a","client":"","peer":"","host":"b","received":4,"sent":5,"ms":1000,"end":"closed","direct":true}`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s: %s", want, out.String())
			}
		}
		if n := strings.Count(out.String(), `"status":200,"tunnel":"","client":"","peer":"","host":"","method":"GET","path":"/a\nb","received":0,"sent":3,"ms":5,"request_id":"id-7"}`); n != logbound.PerSecond+7 {
			t.Errorf("%d lines of those who were served: %s", n, out.String())
		}
	})
}
