// Package certificate serves the certificate of a pair of PEM files, and reads them again when they
// change, so that a renewed one is in use without a restart.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Interval is the time between two looks at the files.
const Interval = time.Second

// Files is a certificate of two files. It is safe for concurrent use.
type Files struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
	seen      string // of the files, see fingerprint; owned by Open, then by Run
}

// Open reads the files. The error names the one that cannot be read or used.
func Open(cert, key string) (*Files, error) {
	f := &Files{cert: cert, key: key}
	return f, f.read()
}

func (f *Files) read() error {
	f.seen = f.fingerprint() // before they are read: a later change is seen
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	f.current.Store(&pair)
	return nil
}

// Certificate is a GetCertificate of [tls.Config].
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Config returns a configuration for a server, of TLS 1.2 and 1.3.
func (f *Files) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.Certificate}
}

// Pinned returns a client's configuration that trusts the present certificate, whatever its name
// is, and no other. It is nil for nil.
func (f *Files) Pinned() *tls.Config {
	if f == nil {
		return nil
	}
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection takes its place
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, f.current.Load().Certificate[0]) {
				return errors.New("this is another certificate than the one of the files")
			}
			return nil
		},
	}
}

// Run reads the files again after each change, until ctx ends. Files that cannot be used change
// nothing, and are logged once.
func (f *Files) Run(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if f.fingerprint() == f.seen {
			continue
		}
		if err := f.read(); err != nil {
			log.Error("a changed certificate cannot be used; the earlier one stays", "cert", f.cert, "key", f.key, "error", err)
			continue
		}
		log.Info("certificate read again", "cert", f.cert, "expires", f.current.Load().Leaf.NotAfter)
	}
}

// fingerprint describes the sizes and times of the files.
func (f *Files) fingerprint() (text string) {
	for _, name := range []string{f.cert, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			text += err.Error()
			continue
		}
		text += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
	}
	return text
}
