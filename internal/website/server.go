package website

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/lifecycle"
)

// The timeouts for slow clients, and the bound on the head of a request. pacedConn bounds how
// slowly a client may read an answer.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute     // head and body; the body is not used
	idleTimeout    = 2 * time.Minute // between requests
	maxHeaderBytes = 16 << 10        // also bounds the number of ranges in one request
)

// overTLS is an HTTP server that speaks TLS.
type overTLS struct{ *http.Server }

// Serve implements lifecycle.Server.
func (s overTLS) Serve(l net.Listener) error { return s.ServeTLS(l, "", "") }

// Service serves the site to connections from l, over TLS if certificates is not nil.
func (s *Site) Service(l net.Listener, certificates *tls.Config) lifecycle.Service {
	long := &http.Server{
		Handler:                      s,
		TLSConfig:                    certificates,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // mostly clients that disconnect
	}
	if certificates != nil {
		return lifecycle.HTTP("http", overTLS{long}, pacedListener{l})
	}
	fast := plainhttp.New(plainhttp.Options{Answer: s.appendAnswer, Admits: s.admits, Fallback: long, Logger: s.log})
	return lifecycle.HTTP("http", fast, pacedListener{l})
}
