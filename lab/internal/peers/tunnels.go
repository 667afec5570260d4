package peers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"paddock/lab/perf"
	"paddock/lab/process"
)

// Behind is the service that a tunnel leads to. It answers GET / with a status of success, by which
// the tunnel is known to stand.
type Behind struct {
	Target string // host:port
	Host   string // the name by which visitors ask for it
}

const tunnelConf = `server_addr: %q
tls_crt: %q
tls_key: %q
tunnels:
  web:
    proto: http
    addr: %q
    host: %q
`

// StartTunnel starts go-http-tunnel's server and its client. Both have one certificate, which is
// made for this run.
func StartTunnel(ctx context.Context, tunneld, tunnel string, b Behind) (*Stand, error) {
	return Start(ctx, "go-http-tunnel", func(s *Stand) error {
		link, err := process.FreeAddress()
		if err != nil {
			return err
		}
		crt, key, config := filepath.Join(s.Dir, "tls.crt"), filepath.Join(s.Dir, "tls.key"), filepath.Join(s.Dir, "tunnel.yml")
		text := fmt.Appendf(nil, tunnelConf, link, crt, key, b.Target, b.Host)
		if err := errors.Join(writeCertificate(crt, key), os.WriteFile(config, text, 0o600)); err != nil {
			return err
		}
		return s.pair(ctx, b, link,
			exec.Command(tunneld, "-httpAddr", s.addr, "-httpsAddr", "", "-tunnelAddr", link, "-tlsCrt", crt, "-tlsKey", key),
			exec.Command(tunnel, "-config", config, "start-all"))
	})
}

// StartKoding starts a server and a client on the library koding/tunnel, which has no programs. The
// program is called as
//
//	koding-tunnel server ADDR HOST TOKEN    // listens, and knows the client of HOST by its token
//	koding-tunnel client ADDR TARGET TOKEN  // connects to the server, and answers from a service
func StartKoding(ctx context.Context, program string, b Behind) (*Stand, error) {
	const token = "bench" // of no worth: both sides are on loopback
	return Start(ctx, Koding, func(s *Stand) error {
		return s.pair(ctx, b, s.addr,
			exec.Command(program, "server", s.addr, b.Host, token), exec.Command(program, "client", s.addr, b.Target, token))
	})
}

// pair starts a tunnel's server and, once that accepts connections at link, its client.
func (s *Stand) pair(ctx context.Context, b Behind, link string, server, client *exec.Cmd) error {
	if err := s.Run(ctx, Process{Cmd: server, Ready: process.Dials(link)}); err != nil {
		return err
	}
	return s.Run(ctx, Process{Cmd: client, Ready: Answers(s.addr, "/", b.Host, false)})
}

// writeCertificate makes a certificate and its key, as PEM.
func writeCertificate(crt, key string) error {
	pair, err := perf.SelfSigned()
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
