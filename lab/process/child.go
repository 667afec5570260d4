package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// saidBytes is how much of a child's output is kept for errors.
const saidBytes = 4 << 10

// Child is a process that was started by Spawn. Its owner calls Stop.
type Child struct {
	name  string
	cmd   *exec.Cmd
	said  tail
	ended chan struct{} // closed when the process has ended and its output has been read
	err   error         // of its end; read it once ended is closed
}

// Spawn starts a child as Start does, and waits for its end in a goroutine. Errors call it name.
// The child keeps the end of its output for errors.
//
// stdout and stderr, if not nil, are called with each line of that output, from one goroutine
// each. Lines of stdout are not kept then.
func Spawn(name string, cmd *exec.Cmd, o Options, stdout, stderr func(line []byte)) (*Child, error) {
	c := &Child{name: name, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &c.said, &c.said
	if stdout != nil {
		cmd.Stdout = &lineWriter{each: stdout}
	}
	if stderr != nil {
		cmd.Stderr = &lineWriter{each: stderr, copied: &c.said}
	}
	wait, err := Start(cmd, o)
	if err != nil {
		return nil, err
	}
	go func() {
		c.err = wait()
		close(c.ended)
	}()
	return c, nil
}

// Pid returns the id of the process.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Said returns the end of the output so far.
func (c *Child) Said() string { return c.said.String() }

// Failure returns an error that says that the process has ended by itself. Call it once Ended is
// closed.
func (c *Child) Failure() error {
	return fmt.Errorf("%s has ended by itself (%v): %s", c.name, c.err, c.said.String())
}

// ExitError returns the error of the process's end, with the end of its output. Call it once Ended
// is closed.
func (c *Child) ExitError() error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", c.name, c.err, c.said.String())
}

// awaitEvery is the time between two calls of Await.
const awaitEvery = 5 * time.Millisecond

// Await calls ready until it succeeds. It fails when the process ends, or after a duration.
func (c *Child) Await(ctx context.Context, within time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticks := time.NewTicker(awaitEvery)
	defer ticks.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.ended:
			return c.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %w", c.name, ctx.Err(), err)
		case <-ticks.C:
		}
	}
}

// Hear waits for the next text of a channel that the functions of Spawn fill. It fails when the
// process ends and has said no more, or after a duration.
func (c *Child) Hear(ctx context.Context, within time.Duration, texts <-chan string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case text := <-texts:
		return text, nil
	case <-c.ended:
	case <-ctx.Done():
		return "", fmt.Errorf("%s is not ready: %w", c.name, ctx.Err())
	}
	select {
	case text := <-texts: // the last of its output
		return text, nil
	default:
		return "", c.Failure()
	}
}

// Lines returns a channel with room for some lines, and a function for Spawn that puts lines there.
// A line that no longer has room is dropped.
func Lines() (lines chan string, take func(line []byte)) {
	lines = make(chan string, 16)
	return lines, func(line []byte) {
		select {
		case lines <- string(line):
		default:
		}
	}
}

// Dials returns a function for Await that succeeds when an address accepts a connection.
func Dials(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// FreeAddress returns an address of loopback on which no program listens now, for a program that
// takes no port 0. Another program may take it before that one does.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Stop sends SIGTERM and waits for the end of the process. It kills a process that does not end
// within a duration. That is an error, as is a process that has ended by itself.
func (c *Child) Stop(within time.Duration) error {
	select {
	case <-c.ended:
		return c.Failure()
	default:
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return c.wait(within)
}

// wait waits for the end of the process, and kills one that does not end within a duration.
func (c *Child) wait(within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.ended:
		return nil
	case <-timer.C:
		err := errors.Join(c.cmd.Process.Kill(), fmt.Errorf("%s is still there after %v", c.name, within))
		<-c.ended
		return err
	}
}

// End is as Stop, for a program whose exit code counts.
func (c *Child) End(within time.Duration) error {
	if err := c.Stop(within); err != nil {
		return err
	}
	return c.ExitError()
}

// EndInput is as End, for a program that ends with its standard input.
func (c *Child) EndInput(input io.Closer, within time.Duration) error {
	_ = input.Close() // it may have ended
	if err := c.wait(within); err != nil {
		return err
	}
	return c.ExitError()
}

// Kill ends the process at once, as a crash would, and waits for its end. It is an error if the
// process has ended by itself.
func (c *Child) Kill() error {
	select {
	case <-c.ended:
		return c.Failure()
	default:
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.ended
	return nil
}

// tail keeps the end of the text that is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - saidBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// lineWriter passes on whole lines, without their ends.
type lineWriter struct {
	each   func(line []byte)
	copied *tail // of all that is written; nil = none
	rest   []byte
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w.copied != nil {
		_, _ = w.copied.Write(p)
	}
	w.rest = append(w.rest, p...)
	for {
		line, after, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.each(line)
		w.rest = append(w.rest[:0], after...)
	}
}
