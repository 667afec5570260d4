package h1

// proxyFields holds the names, by their length, of fields in which proxies send a service the
// address of a visitor, or the scheme, host and target of the request.
var proxyFields = byLength(
	"client-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "cf-connecting-ipv6", "cf-pseudo-ipv4", "fastly-client-ip", "fly-client-ip",
	"x-cluster-client-ip", "x-envoy-external-address", "x-azure-clientip", "x-azure-socketip", "x-appengine-user-ip", "x-remote-ip", "x-remote-addr",
	"x-originating-ip", "x-proxyuser-ip", "x-forwarded", "forwarded-for",
	"proxy-client-ip", "wl-proxy-client-ip", "http-client-ip", "http-x-forwarded-for", "http-x-forwarded", "http-forwarded-for", "http-forwarded",
	"http-x-cluster-client-ip", "x-appengine-remote-addr", "x-vercel-forwarded-for",
	"x-nf-client-connection-ip", "do-connecting-ip", "cloudfront-viewer-address", "incap-client-ip", "x-sucuri-clientip", "cdn-src-ip", "ali-cdn-real-ip",
	"cf-visitor", "cloudfront-forwarded-proto", "wl-proxy-ssl", "x-arr-ssl",
	"x-original-url", "x-original-uri", "x-original-host", "x-original-method", "x-original-proto", "x-original-for", "x-original-remote-addr",
	"x-original-forwarded-for", "x-rewrite-url", "x-host", "x-http-host-override", "x-scheme", "x-url-scheme", "front-end-https",
)

func byLength(names ...string) [][]string {
	var lists [][]string
	for _, name := range names {
		for len(lists) <= len(name) {
			lists = append(lists, nil)
		}
		lists[len(name)] = append(lists[len(name)], name)
	}
	return lists
}

// proxyField reports whether a field is one of proxyFields or begins with X-Forwarded-. Only a
// trusted proxy may send it. Other bytes count as a dash, as in [spoken].
func proxyField(name []byte) bool {
	const prefix = "x-forwarded-"
	if len(name) > len(prefix) && equalDashed(name[:len(prefix)], prefix) {
		return true
	}
	if len(name) >= len(proxyFields) {
		return false
	}
	for _, known := range proxyFields[len(name)] {
		if equalDashed(name, known) {
			return true
		}
	}
	return false
}
