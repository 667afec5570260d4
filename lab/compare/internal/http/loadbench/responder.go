package loadbench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/process"
)

// responderTime is how long a responder may take to listen, and to end.
const responderTime = 10 * time.Second

// responder is a process of `paddock bench responder`.
type responder struct {
	*process.Child
	addr string
}

var _ webload.Service = (*responder)(nil)

// startResponder starts one with a law.
func startResponder(ctx context.Context, program, law string) (*responder, error) {
	listens := make(chan string, 1)
	child, err := process.Spawn("the responder", exec.Command(program, append([]string{"bench", "responder"}, strings.Fields(law)...)...),
		process.Options{Follows: true}, func(line []byte) {
			select {
			case listens <- strings.TrimSpace(string(line)):
			default: // its first line is the address
			}
		}, nil)
	if err != nil {
		return nil, err
	}
	r := &responder{Child: child}
	ctx, cancel := context.WithTimeout(ctx, responderTime)
	defer cancel()
	select {
	case r.addr = <-listens:
		return r, nil
	case <-child.Ended():
		return nil, child.Failure()
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("the responder does not listen: %w", ctx.Err()), r.Stop())
	}
}

// Addr implements webload.Service.
func (r *responder) Addr() string { return r.addr }

// Stop implements webload.Service.
func (r *responder) Stop() error {
	if err := r.Child.Stop(responderTime); err != nil {
		return err
	}
	return r.ExitError()
}
