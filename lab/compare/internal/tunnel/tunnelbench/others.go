package tunnelbench

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"

	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
)

// start starts a peer's processes, the last of which is ready when the service answers through it.
func start(ctx context.Context, name string, up func(*peers.Stand) error) (*stand, error) {
	p, err := peers.Start(ctx, name, up)
	if err != nil {
		return nil, err
	}
	return &stand{front: p.Addr(), pids: p.Pids(), stop: p.Stop}, nil
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
	link, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	return start(ctx, contender, func(p *peers.Stand) error { return b.runRathole(ctx, p, program, contender, link, target) })
}

// runRathole starts both sides.
func (b *Bench) runRathole(ctx context.Context, p *peers.Stand, program, contender, link, target string) error {
	server, client := fmt.Sprintf(ratholeServer, link, p.Addr()), fmt.Sprintf(ratholeClient, link, target)
	switch contender {
	case ratholeTLS:
		pack, root, err := b.certificate()
		if err != nil {
			return err
		}
		server += fmt.Sprintf("[server.transport]\ntype = \"tls\"\n[server.transport.tls]\npkcs12 = \"%s\"\npkcs12_password = \"bench\"\n", pack)
		client += fmt.Sprintf("[client.transport]\ntype = \"tls\"\n[client.transport.tls]\ntrusted_root = \"%s\"\nhostname = \"localhost\"\n", root)
	case ratholeNoise:
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		text := base64.StdEncoding.EncodeToString
		server += fmt.Sprintf("[server.transport]\ntype = \"noise\"\n[server.transport.noise]\nlocal_private_key = \"%s\"\n", text(key.Bytes()))
		client += fmt.Sprintf("[client.transport]\ntype = \"noise\"\n[client.transport.noise]\nremote_public_key = \"%s\"\n", text(key.PublicKey().Bytes()))
	}
	files := [2]string{filepath.Join(p.Dir, "server.toml"), filepath.Join(p.Dir, "client.toml")}
	if err := errors.Join(os.WriteFile(files[0], []byte(server), 0o600), os.WriteFile(files[1], []byte(client), 0o600)); err != nil {
		return err
	}
	if err := p.Run(ctx, peers.Process{Cmd: exec.Command(program, "--server", files[0])}); err != nil {
		return err
	}
	return p.Run(ctx, peers.Process{Cmd: exec.Command(program, "--client", files[1]), Ready: peers.Answers(p.Addr(), "/", "", true)})
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
	link, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	key := filepath.Join(b.Dir, "ssh-key")
	if _, err := os.Stat(key); err != nil {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	host, port, err := net.SplitHostPort(link)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(b.Dir, "sshd.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, sshdConfig, link, key, key+".pub"), 0o600); err != nil {
		return nil, err
	}
	return start(ctx, ssh, func(p *peers.Stand) error {
		if err := p.Run(ctx, peers.Process{Cmd: exec.Command(server, "-D", "-f", config), Ready: process.Dials(link)}); err != nil {
			return err
		}
		return p.Run(ctx, peers.Process{Ready: peers.Answers(p.Addr(), "/", "", true), Cmd: exec.Command(client, "-N", "-F", "none", "-i", key, "-p", port, "-o", "StrictHostKeyChecking=no",
			"-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes", "-o", "LogLevel=ERROR", "-R", p.Addr()+":"+target, who.Username+"@"+host)})
	})
}
