package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"paddock/internal/netio/listen"
	"paddock/lab/perf"
	"paddock/lab/process"
)

const (
	// serverStart is how long a server of our own may take until it listens.
	serverStart = 10 * time.Second
	// serverStop is how long it may take to end.
	serverStop = 15 * time.Second
)

// target is the server to measure: the one that was named, or a second process
// of this program, which stop ends.
func (b *wireCmd) target(ctx context.Context, c *Console) (t perf.Target, stop func() error, err error) {
	t = perf.Target{Addr: b.Addr, Token: b.Token, Reconnect: b.Reconnect}
	stop = func() error { return nil }
	if t.Session, err = b.session(); err != nil {
		return t, nil, err
	}
	pin := b.Pin
	if b.Addr == "" {
		if pin != "" {
			return t, nil, usagef("--pin is about the server of --addr")
		}
		if t.Addr, pin, stop, err = b.ownServer(ctx, c); err != nil {
			return t, nil, err
		}
	}
	t.Network = "tcp"
	if listen.IsUnix(t.Addr) {
		t.Network, t.Addr = "unix", strings.TrimPrefix(t.Addr, "unix:")
	}
	if b.TLS || pin != "" {
		if t.TLS, err = perf.ClientTLS(pin); err != nil {
			return t, nil, errors.Join(usageError(err), stop())
		}
	}
	return t, stop, nil
}

// session is the name that was given, zero if none was.
func (b *wireCmd) session() (id [16]byte, err error) {
	if b.Session == "" {
		return id, nil
	}
	given, err := hex.DecodeString(b.Session)
	if err != nil || len(given) != len(id) {
		return id, usagef("--session: want %d hexadecimal digits", 2*len(id))
	}
	if !b.Reconnect {
		return id, usagef("--session goes with --reconnect")
	}
	copy(id[:], given)
	return id, nil
}

// ownServer starts this program again as a server, on a port of its own, and
// reads from its first line where it listens. It lives as long as its standard
// input: also if we are killed it ends.
func (b *wireCmd) ownServer(ctx context.Context, c *Console) (addr, fingerprint string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", nil, err
	}
	args := []string{"wire", "serve", "--addr", "127.0.0.1:0", "--with-parent"}
	switch {
	case c.LogLevel != "":
	case b.byLoad(): // an empty connection is made first, to see that the server is there
		args = append(args, "--log-level", "error")
	default:
		args = append(args, "--log-level", "warn")
	}
	if b.TLS {
		args = append(args, "--tls")
	}
	if b.Profile != "" {
		args = append(args, "--profile", b.Profile+".server")
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "PADDOCK_WIRE_SERVE_TOKEN="+b.Token)
	cmd.WaitDelay = serverStop
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", "", nil, err
	}
	lines, take := process.Lines()
	child, err := process.Spawn("the server of our own", cmd, process.Options{}, take, func(line []byte) { fmt.Fprintf(c.Stderr, "%s\n", line) })
	if err != nil {
		return "", "", nil, err
	}
	stop = func() error { return child.EndInput(stdin, serverStop) }
	line, err := child.Hear(ctx, serverStart, lines)
	if err != nil {
		return "", "", nil, errors.Join(fmt.Errorf("the server of our own did not start: %w", err), stop())
	}
	addr, fingerprint, _ = strings.Cut(line, " ")
	fmt.Fprintf(c.Stderr, "no --addr: started a server as process %d on %s\n", child.Pid(), addr)
	return addr, fingerprint, stop, nil
}
