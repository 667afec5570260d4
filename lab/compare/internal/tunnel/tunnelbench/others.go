package tunnelbench

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"time"

	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/process"
)

// stopWithin is how long another's process may take to end.
const stopWithin = 5 * time.Second

// pair is the server and the client of a peer.
type pair struct{ children []*process.Child }

// run starts one of them.
func (p *pair) run(program string, args ...string) error {
	child, err := process.Spawn(program, exec.Command(program, args...), process.Options{}, nil, nil)
	if err == nil {
		p.children = append(p.children, child)
	}
	return err
}

// stop ends both, the client first.
func (p *pair) stop() error {
	for _, child := range slices.Backward(p.children) {
		_ = child.Stop(stopWithin) // its failures are of no interest here
	}
	return nil
}

// readyWithin is how long a tunnel may take until it brings an answer.
const readyWithin = 15 * time.Second

// stand returns the pair as one, once the server at front has answered.
func (p *pair) stand(ctx context.Context, front string) (*stand, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err := p.children[len(p.children)-1].Await(ctx, readyWithin, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+front+"/", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no answer through the tunnel: %w", err), p.stop())
	}
	s := &stand{front: front, stop: p.stop}
	for _, child := range p.children {
		s.pids = append(s.pids, child.Pid())
	}
	return s, nil
}

// addresses finds free ones of loopback.
func addresses(n int) (all []string, err error) {
	for range n {
		port, err := programs.FreePort()
		if err != nil {
			return nil, err
		}
		all = append(all, net.JoinHostPort("127.0.0.1", port))
	}
	return all, nil
}

const ratholeServer = `[server]
bind_addr = "%s"
default_token = "bench"
[server.services.web]
bind_addr = "%s"
`

const ratholeClient = `[client]
remote_addr = "%s"
default_token = "bench"
[client.services.web]
local_addr = "%s"
`

// rathole starts its two sides.
func (b *Bench) rathole(ctx context.Context, contender, target string) (*stand, error) {
	program, err := programs.Find(b.Rathole)
	if err != nil {
		return nil, err
	}
	at, err := addresses(2)
	if err != nil {
		return nil, err
	}
	server, client := fmt.Sprintf(ratholeServer, at[0], at[1]), fmt.Sprintf(ratholeClient, at[0], target)
	switch contender {
	case ratholeTLS:
		pack, root, err := b.certificate()
		if err != nil {
			return nil, err
		}
		server += fmt.Sprintf("[server.transport]\ntype = \"tls\"\n[server.transport.tls]\npkcs12 = \"%s\"\npkcs12_password = \"bench\"\n", pack)
		client += fmt.Sprintf("[client.transport]\ntype = \"tls\"\n[client.transport.tls]\ntrusted_root = \"%s\"\nhostname = \"localhost\"\n", root)
	case ratholeNoise:
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		text := base64.StdEncoding.EncodeToString
		server += fmt.Sprintf("[server.transport]\ntype = \"noise\"\n[server.transport.noise]\nlocal_private_key = \"%s\"\n", text(key.Bytes()))
		client += fmt.Sprintf("[client.transport]\ntype = \"noise\"\n[client.transport.noise]\nremote_public_key = \"%s\"\n", text(key.PublicKey().Bytes()))
	}
	p := &pair{}
	for _, side := range []struct{ name, text string }{{"server", server}, {"client", client}} {
		file := filepath.Join(b.Dir, "rathole-"+side.name+".toml")
		if err := os.WriteFile(file, []byte(side.text), 0o600); err != nil {
			return nil, errors.Join(err, p.stop())
		}
		if err := p.run(program, "--"+side.name, file); err != nil {
			return nil, errors.Join(err, p.stop())
		}
	}
	return p.stand(ctx, at[1])
}

// certificate makes one for localhost, in the form for rathole, with its root.
func (b *Bench) certificate() (pack, root string, err error) {
	program, err := programs.Find("openssl")
	if err != nil {
		return "", "", err
	}
	key := filepath.Join(b.Dir, "rathole.key")
	root, pack = filepath.Join(b.Dir, "rathole.crt"), filepath.Join(b.Dir, "rathole.p12")
	if _, err := os.Stat(pack); err == nil {
		return pack, root, nil
	}
	for _, args := range [][]string{
		{"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", root},
		{"pkcs12", "-export", "-inkey", key, "-in", root, "-out", pack, "-passout", "pass:bench"},
	} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("openssl: %w: %s", err, out)
		}
	}
	return pack, root, nil
}

const sshdConfig = `ListenAddress %s
HostKey %s
AuthorizedKeysFile %s
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
PermitRootLogin prohibit-password
`

// ssh starts an sshd of its own, and ssh -R to it.
func (b *Bench) ssh(ctx context.Context, target string) (*stand, error) {
	server, err := programs.Find(b.SSHD)
	if err != nil {
		return nil, err
	}
	client, err := programs.Find(b.SSH)
	if err != nil {
		return nil, err
	}
	keygen, err := programs.Find("ssh-keygen")
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, err
	}
	at, err := addresses(2)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(b.Dir, "ssh-key")
	if _, err := os.Stat(key); err != nil {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	config := filepath.Join(b.Dir, "sshd.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, sshdConfig, at[0], key, key+".pub"), 0o600); err != nil {
		return nil, err
	}
	p := &pair{}
	if err := p.run(server, "-D", "-f", config); err != nil {
		return nil, err
	}
	if err := p.children[0].Await(ctx, stopWithin, process.Dials(at[0])); err != nil {
		return nil, errors.Join(err, p.stop(), errors.New(p.children[0].Said()))
	}
	host, port, err := net.SplitHostPort(at[0])
	if err == nil {
		err = p.run(client, "-N", "-F", "none", "-i", key, "-p", port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			"-o", "ExitOnForwardFailure=yes", "-o", "LogLevel=ERROR", "-R", at[1]+":"+target, who.Username+"@"+host)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p.stand(ctx, at[1])
}
