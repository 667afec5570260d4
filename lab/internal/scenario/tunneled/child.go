package tunneled

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"paddock/lab/process"
)

const (
	// startWithin bounds the time until a process prints the awaited line.
	startWithin = 30 * time.Second
	// stopWithin is how long it may take to end after SIGTERM.
	stopWithin = 15 * time.Second
)

// child is a process that prints on its standard output how it is reached.
type child struct {
	*process.Child
	name  string
	lines chan string // of its standard output; lines that no caller awaits are dropped
}

// spawn starts a process of our program, at a place if that is not nil.
func spawn(place func(start func() error) error, name, program string, args ...string) (*child, error) {
	c := &child{name: name, lines: make(chan string, 16)}
	cmd := exec.Command(program, args...)
	cmd.Env = process.Environment()
	var err error
	c.Child, err = process.Spawn(name, cmd, process.Options{Follows: true, Place: place}, func(line []byte) {
		select {
		case c.lines <- string(line):
		default:
		}
	}, nil)
	return c, err
}

// await gives the rest of the next line that begins with these words, trimmed.
func (c *child) await(ctx context.Context, begin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		select {
		case <-c.Ended():
			if len(c.lines) == 0 { // it cannot print any more
				return "", c.Failure()
			}
		case line := <-c.lines:
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
	if err := c.Stop(stopWithin); err != nil {
		return err
	}
	return c.ExitError()
}
