package access

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// Repeated wrong tokens pause an address. Loopback addresses and connections that have sent the
// right token before are not paused.
func TestGuardPausesStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard("right")
		request := func(from, token string) *http.Request {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if r.RemoteAddr = from; token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return r
		}
		old := request("192.0.2.1:1", "right")
		old = old.WithContext(ConnContext(t.Context(), nil))
		judge := func(r *http.Request, want Verdict) {
			t.Helper()
			if got := g.Judge(r); got != want {
				t.Errorf("verdict %d on %s, want %d", got, r.RemoteAddr, want)
			}
		}
		judge(old, Admitted)
		for range 20 {
			judge(request("192.0.2.1:2", ""), Refused) // no token was tried
			judge(request("127.0.0.1:2", "wrong"), Refused)
		}
		for range 5 {
			judge(request("192.0.2.1:3", "wrong"), Refused)
		}
		judge(request("192.0.2.1:4", "wrong"), Paused)
		judge(request("192.0.2.1:4", "right"), Paused)
		judge(old, Admitted)
		judge(request("192.0.2.2:4", "right"), Admitted)
		judge(request("127.0.0.1:4", "right"), Admitted)
		paused, free := net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}), net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 2)})
		if g.Admits(paused, "Bearer right") || !g.Admits(free, "Bearer right") || g.Admits(free, "Bearer wrong") {
			t.Error("the short way judges otherwise")
		}
		if n := g.Paused(); n != 2 {
			t.Errorf("%d are counted, want 2", n)
		}
		time.Sleep(2 * time.Second)
		judge(request("192.0.2.1:4", "right"), Admitted)
		if open := NewGuard(""); open.Judge(request("192.0.2.1:4", "wrong")) != Admitted || !open.Admits(paused, "x") {
			t.Error("an empty token asks for something")
		}
	})
}
