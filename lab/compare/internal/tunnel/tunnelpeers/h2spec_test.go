package tunnelpeers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"paddock/tunnel/client"
)

// patience is the timeout of a case of h2spec. Many expect one of several ends of the connection,
// and none of them is silence.
const patience = 5 * time.Second

// known are the cases that the front does not pass, and why.
var known = map[string]string{
	"h2c http2/3.5/2": "what does not begin as HTTP/2 is a request of HTTP/1.1, and answered 400",

	"h2c http2/6.5.3/1": settingTwice, "TLS http2/6.5.3/1": settingTwice,
	"h2c http2/8.1.2.2/1": answered, "TLS http2/8.1.2.2/1": answered,
	"h2c http2/8.1.2.2/2": answered, "TLS http2/8.1.2.2/2": answered,
}

const (
	settingTwice = "net/http ends a connection whose settings say a value twice: nobody does so in good faith"
	answered     = "a malformed request is answered 400, as RFC 9113 section 8.1.1 permits"
)

// The front keeps to HTTP/2 as h2spec reads it, with TLS and without.
func TestH2Spec(t *testing.T) {
	own, _ := certificate(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "an answer of some length, so that windows can be too small for it")
	}))
	t.Cleanup(service.Close)
	plain, secure := carry(t, client.Tunnel{Target: service.Listener.Addr().String()}, own)
	for front, address := range map[string]string{"h2c": plain, "TLS": secure} {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := strconv.Atoi(port)
		c := &config.Config{
			Host: name, Port: at, Path: "/", Timeout: patience, MaxHeaderLen: 4000, Strict: true,
			TLS: front == "TLS", Insecure: true,
		}
		for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
			run(t, c, front, group)
		}
	}
}

// run runs the cases of a group and of those in it.
func run(t *testing.T, c *config.Config, front string, group *spec.TestGroup) {
	for i, test := range append(group.Tests, group.StrictTests...) {
		id := fmt.Sprintf("%s %s/%d", front, group.ID(), i+1)
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			conn, err := spec.Dial(c)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			err = test.Run(c, conn)
			switch reason := known[id]; {
			case err == nil && reason != "":
				t.Errorf("%s: passes now", test.Desc)
			case err != nil && err != spec.ErrSkipped && reason == "":
				t.Errorf("%s: %v\n%s", test.Desc, err, test.Requirement)
			}
		})
	}
	for _, g := range group.Groups {
		run(t, c, front, g)
	}
}
