package h1

import (
	"net/netip"
	"strings"
	"testing"
)

// forwarded returns the forwarded form of a visitor's head, without its first two lines and its
// last.
func forwarded(t testing.TB, text string, how Forward) string {
	t.Helper()
	how.Head = new(Head)
	if err := how.Head.ParseVisitor([]byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	out, err := how.Append(nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if err := new(Head).Parse(out, LinkRequest); err != nil {
		t.Fatalf("%q: forwarded as %q: %v", text, out, err)
	}
	return string(out)
}

// ours holds the fields that a front writes.
const ours = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\nX-Real-Ip: 192.0.2.1\r\n" +
	"Forwarded: for=192.0.2.1;host=\"a\";proto=http\r\nX-Request-Id: 7\r\n"

func TestForward(t *testing.T) {
	const id = "X-Request-Id: 7\r\n"
	visitor := Forward{Peer: netip.MustParseAddrPort("192.0.2.1:80")}
	for name, c := range map[string]struct {
		how        Forward
		line       string // of the request
		text, want string // fields after Host; <ours> in want stands for ours
	}{
		"as it is":               {line: "GET /a?b=%20", text: "Accept: */*\r\n", want: "Accept: */*\r\n<ours>"},
		"beyond ASCII":           {line: "GET /\xc3\xa9", want: "<ours>"},
		"of one hop":             {text: "Connection: X-A, close\r\nx-a: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: b\r\nY: 2\r\n", want: "Y: 2\r\n<ours>"},
		"lies":                   {text: "X-Forwarded-For: 10.0.0.1\r\nX_Real_Ip: 10.0.0.1\r\nForwarded: for=1\r\n", want: "<ours>"},
		"a length":               {line: "POST /", text: "Content-Length: 3\r\n", want: "<ours>Content-Length: 3\r\n"},
		"no body, which is said": {line: "POST /", want: "<ours>Content-Length: 0\r\n"},
		"chunks and trailers": {
			line: "POST /", text: "Transfer-Encoding: chunked\r\nTrailer: X, Host\r\nTE: deflate, trailers\r\n",
			want: "<ours>Transfer-Encoding: chunked\r\nTrailer: x\r\nTE: trailers\r\n",
		},
		"password of the tunnel": {how: Forward{StripAuth: true}, text: "Authorization: Basic eA==\r\nZ: 1\r\n", want: "Z: 1\r\n<ours>"},
		"password of the target": {text: "Authorization: Basic eA==\r\n", want: "Authorization: Basic eA==\r\n<ours>"},
		"upgrade":                {how: Forward{Upgrade: "websocket"}, text: "Connection: Upgrade\r\nUpgrade: websocket\r\n", want: "<ours>Connection: Upgrade\r\nUpgrade: websocket\r\n"},
		"a proxy that is trusted": {
			how: Forward{Trusted: true}, text: "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Host: b\r\nX-Forwarded-Proto: https\r\nX-Real-Ip: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\n",
			want: "X-Forwarded-For: 10.0.0.1, 192.0.2.1\r\nX-Forwarded-Host: b\r\nX-Forwarded-Proto: https\r\nX-Real-Ip: 10.0.0.1\r\n" +
				"Forwarded: for=10.0.0.1, for=192.0.2.1;host=\"a\";proto=http\r\nX-Request-Id: 7\r\n",
		},
	} {
		how := c.how
		how.Peer = visitor.Peer
		if c.line == "" {
			c.line = "GET /"
		}
		got := forwarded(t, c.line+" HTTP/1.1\r\nHost: a\r\n"+id+c.text+"\r\n", how)
		line := strings.ReplaceAll(c.line, "\xc3\xa9", "%C3%A9")
		if want := line + " HTTP/1.1\r\nHost: a\r\n" + strings.ReplaceAll(c.want, "<ours>", ours) + "\r\n"; got != want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// claims holds fields with which a visitor can claim another address or target.
var claims = []string{
	"Client-Ip", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "CF-Connecting-IPv6", "CF-Pseudo-IPv4", "Fastly-Client-IP", "Fly-Client-IP",
	"X-Cluster-Client-IP", "X-Envoy-External-Address", "X-Azure-ClientIP", "X-Azure-SocketIP", "X-Appengine-User-IP", "X-Remote-IP", "X-Remote-Addr",
	"X-Originating-IP", "X-ProxyUser-IP", "X-Forwarded", "Forwarded-For", "X-Forwarded-By", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Client-Cert",
	"X-Original-URL", "X-Original-URI", "X-Original-Host", "X-Original-Method", "X-Original-Proto", "X-Original-For", "X-Original-Remote-Addr", "X-Original-Forwarded-For",
	"Proxy-Client-IP", "WL-Proxy-Client-IP", "HTTP_CLIENT_IP", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED", "HTTP_FORWARDED_FOR", "HTTP_FORWARDED",
	"HTTP_X_CLUSTER_CLIENT_IP", "X-Appengine-Remote-Addr", "X-Vercel-Forwarded-For",
	"X-Nf-Client-Connection-Ip", "DO-Connecting-IP", "CloudFront-Viewer-Address", "Incap-Client-IP", "X-Sucuri-ClientIP", "Cdn-Src-Ip", "Ali-Cdn-Real-Ip",
	"CF-Visitor", "CloudFront-Forwarded-Proto", "WL-Proxy-SSL", "X-ARR-SSL",
	"X-Rewrite-URL", "X-Host", "X-HTTP-Host-Override", "X-Scheme", "X-Url-Scheme", "Front-End-Https",
}

// A visitor's claims are not forwarded, in any spelling. The claims of a trusted proxy are, and so
// are names that only look like these.
func TestForwardClaims(t *testing.T) {
	peer := netip.MustParseAddrPort("192.0.2.1:80")
	const head = "GET / HTTP/1.1\r\nHost: a\r\n"
	for _, name := range claims {
		for _, spelled := range []string{
			name, strings.ToLower(name), strings.ReplaceAll(strings.ToUpper(name), "-", "_"), strings.ReplaceAll(name, "-", "."), strings.Replace(name, "-", "+", 1),
		} {
			field := spelled + ": 6.6.6.6\r\n"
			if got := forwarded(t, head+field+"X-Request-Id: 7\r\n\r\n", Forward{Peer: peer}); got != head+ours+"\r\n" {
				t.Errorf("%s of a visitor: %q", spelled, got)
			}
			if got := forwarded(t, head+field+"X-Request-Id: 7\r\n\r\n", Forward{Peer: peer, Trusted: true}); got != head+field+ours+"\r\n" {
				t.Errorf("%s of a proxy: %q", spelled, got)
			}
		}
	}
	for _, name := range []string{"Client-Id", "X-Forwarder", "X-Original-Name", "X-Hosts", "X-Http-Method-Override", "X-Real-Id", "CF-Connecting-IPs", "X"} {
		field := name + ": 1\r\n"
		if got := forwarded(t, head+field+"X-Request-Id: 7\r\n\r\n", Forward{Peer: peer}); got != head+field+ours+"\r\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzForward checks that any accepted request of a visitor is forwarded as one head, which the
// other side accepts with the same meaning.
func FuzzForward(f *testing.F) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a:80\r\n\r\n", "GET http://a/b HTTP/1.0\r\nHost: a\r\nConnection: x\r\nX: y\r\n\r\n",
		"POST /\xff?# HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: a\r\n\r\n",
	} {
		f.Add([]byte(text), false, "")
		f.Add([]byte(text), true, "websocket")
	}
	f.Fuzz(func(t *testing.T, text []byte, trusted bool, upgrade string) {
		var h, link Head
		if h.ParseVisitor(text) != nil {
			return
		}
		if !IsAll(upgrade, TokenByte) {
			upgrade = ""
		}
		how := Forward{Head: &h, Trusted: trusted, Upgrade: upgrade}
		out, err := how.Append(nil)
		if err != nil || len(out) > MaxHead {
			return // refused
		}
		if err := link.Parse(out, LinkRequest); err != nil {
			t.Fatalf("%q: forwarded as %q: %v", text, out, err)
		}
		if string(link.Method) != string(h.Method) || string(link.Host) != string(h.Host) || link.BodySize() != h.BodySize() || string(link.Upgrade) != upgrade {
			t.Fatalf("%q: forwarded as %q", text, out)
		}
	})
}
