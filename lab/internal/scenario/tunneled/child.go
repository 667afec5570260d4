package tunneled

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"paddock/lab/process"
)

const (
	// startWithin is how long a process may take until it says what is awaited.
	startWithin = 30 * time.Second
	// stopWithin is how long it may take to end after SIGTERM.
	stopWithin = 15 * time.Second
	// lastWords is how much of a process's log is kept for an error, in bytes.
	lastWords = 4 << 10
)

// child is a process whose standard output says how it is reached.
type child struct {
	name  string
	cmd   *exec.Cmd
	wait  func() error
	lines chan string   // of its standard output; closed at its end
	ended chan struct{} // closed when it has ended
	err   error         // of its end; read it once ended is closed
	said  tail
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	n, err := t.Buffer.Write(b)
	t.Next(max(t.Len()-lastWords, 0))
	return n, err
}

// spawn starts a process of our program, at a place if that is not nil.
func spawn(place func(start func() error) error, name, program string, args ...string) (*child, error) {
	c := &child{name: name, cmd: exec.Command(program, args...), lines: make(chan string, 16), ended: make(chan struct{})}
	c.cmd.Env = process.Environment()
	c.cmd.Stderr = &c.said
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.wait, err = process.Start(c.cmd, process.Options{Follows: true, Place: place}); err != nil {
		return nil, err
	}
	go c.run(out)
	return c, nil
}

// run reads what the process prints, until it ends. Lines that nobody awaits any more are
// dropped.
func (c *child) run(out io.Reader) {
	defer close(c.ended)
	in := bufio.NewScanner(out)
	for in.Scan() {
		select {
		case c.lines <- in.Text():
		default:
		}
	}
	close(c.lines)
	c.err = c.wait()
}

// await gives the rest of the next line that begins with these words, trimmed.
func (c *child) await(ctx context.Context, begin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				<-c.ended
				return "", fmt.Errorf("%s has ended (%v): %s", c.name, c.err, c.said.String())
			}
			if rest, ok := strings.CutPrefix(line, begin); ok {
				return strings.TrimSpace(rest), nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("%s does not say %q: %w", c.name, begin, ctx.Err())
		}
	}
}

// stop ends the process, and says if it had ended by itself or did not end in peace.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	select {
	case <-c.ended:
		return fmt.Errorf("%s has ended by itself (%v): %s", c.name, c.err, c.said.String())
	default:
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.AfterFunc(stopWithin, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	<-c.ended
	if c.err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, c.err, c.said.String())
	}
	return nil
}
