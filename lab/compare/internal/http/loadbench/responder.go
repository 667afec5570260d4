package loadbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/process"
)

// responderTime is how long a responder may take to listen, and to end.
const responderTime = 10 * time.Second

// responder is a process of `paddock bench responder`.
type responder struct {
	addr string
	cmd  *exec.Cmd
	wait func() error
}

var _ webload.Service = (*responder)(nil)

// startResponder starts one with a law.
func startResponder(ctx context.Context, program, law string) (*responder, error) {
	r := &responder{cmd: exec.Command(program, append([]string{"bench", "responder"}, strings.Fields(law)...)...)}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.wait, err = process.Start(r.cmd, process.Options{Follows: true}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, responderTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !stop() || err != nil {
		return nil, errors.Join(fmt.Errorf("the responder does not listen: %w", errors.Join(err, ctx.Err())), r.Stop())
	}
	r.addr = strings.TrimSpace(line)
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
	return r, nil
}

// Addr implements webload.Service.
func (r *responder) Addr() string { return r.addr }

// Pid implements webload.Service.
func (r *responder) Pid() int { return r.cmd.Process.Pid }

// Stop implements webload.Service.
func (r *responder) Stop() error {
	err := r.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(responderTime, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	return errors.Join(err, r.wait())
}
