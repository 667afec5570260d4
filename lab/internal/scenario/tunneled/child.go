package tunneled

import (
	"context"
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
	lines chan string // of its standard output
}

// spawn starts a process of our program, at a place if that is not nil.
func spawn(place func(start func() error) error, name, program string, args ...string) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = process.Environment()
	lines, take := process.Lines()
	c, err := process.Spawn(name, cmd, process.Options{Follows: true, Place: place}, take, nil)
	return &child{c, lines}, err
}

// await gives the rest of the next line that begins with these words, trimmed.
func (c *child) await(ctx context.Context, begin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		line, err := c.Hear(ctx, startWithin, c.lines)
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(line, begin); ok {
			return strings.TrimSpace(rest), nil
		}
	}
}

// stop ends it.
func (c *child) stop() error {
	if c == nil || c.Child == nil {
		return nil
	}
	return c.End(stopWithin)
}
