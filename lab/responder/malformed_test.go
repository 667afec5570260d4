package responder_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"paddock/load"
)

const good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// misbehave answers connections one way until the test ends: each with the answers in turn, behind
// the last of which it ends, or is reset.
func misbehave(t *testing.T, reset bool, answers ...string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { l.Close() })
	running.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			running.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for _, answer := range answers {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					_, _ = io.WriteString(c, answer)
				}
				if reset {
					_, _ = in.ReadByte()
					_ = c.(*net.TCPConn).SetLinger(0)
				}
			})
		}
	})
	return l.Addr().String()
}

// The load generator counts each ending under its class, and goes on.
func TestEndingsUnderLoad(t *testing.T) {
	for name, c := range map[string]struct {
		reset bool
		last  []string
		class load.Class
		bad   int64
	}{
		"saying":  {false, []string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}, load.ClassOK, 50},
		"reset":   {true, []string{good}, load.ClassReset, 10},
		"partway": {false, []string{good, good[:len(good)/2]}, load.ClassEarlyEnd, 10},
	} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, e load.Engine) {
				address := misbehave(t, c.reset, append([]string{good, good, good}, c.last...)...)
				r, err := load.Run(t.Context(), load.Plan{Address: address, Codec: codec(t, address), Count: 50, Engine: e}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if v := &r.Total; v.Failed[c.class] != c.bad || v.Failed[load.ClassOK]+v.Errors() != 50 {
					t.Errorf("%v", v.Failed)
				}
			})
		})
	}
}

// The load generator takes no malformed answer for a good one.
func TestMalformed(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":                    "",
		"not HTTP":                   "+OK hello\r\n\r\n",
		"no version":                 "HTTP/one 200 OK\r\nContent-Length: 0\r\n\r\n",
		"no status":                  "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n",
		"a head that ends early":     "HTTP/1.1 200 OK\r\nContent-Le",
		"a body that ends early":     "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
		"a length below 0":           "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"a length that overflows":    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"a length that is no number": "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n0123456789",
		"two lengths that differ":    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
		"a chunk without a size":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n",
		"chunks that end early":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
	} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, e load.Engine) {
				address := misbehave(t, false, answer)
				r, err := load.Run(t.Context(), load.Plan{Address: address, Codec: codec(t, address), Count: 3, Engine: e}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Total.Failed[load.ClassOK] != 0 || r.Total.Errors() < 3 {
					t.Errorf("%v", r.Total.Failed)
				}
			})
		})
	}
}
