// Package clientscheck runs the same programs of a NATS client against two servers, nats-server and
// ours, and compares their output.
//
// A program is given the name of a scenario and prints one line for each thing
// that its user would notice: a message, an error, an event. It writes nothing
// that differs from run to run, so its output against nats-server is kept in a
// file, and every run of either server has to repeat it.
//
// A line that begins with @ asks the runner for something that only it can do,
// such as to start the server again or to stop the program for a while. The
// program goes on when it has read a line from the runner.
package clientscheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options select the scenarios, and name the files.
type Options struct {
	Reference string // nats-server
	Ours      string // our program; it runs under the name nats-server
	Folder    string // with configs and golden
	Clients   []Client
	Only      []string // parts of names of scenarios; empty = all
	Skip      []string // names of scenarios to leave out
	Update    bool     // write the golden files from the reference
	Report    io.Writer
}

// ErrDiffers is the error when not every cell of the table is the same.
var ErrDiffers = errors.New("the programs' output differs")

// Check runs every program against both servers and writes differences and the
// table.
func Check(ctx context.Context, o Options) error {
	c, err := newCheck(o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	table := newTable(o.Clients)
	for _, s := range Scenarios() {
		if !selected(s.Name, o.Only) || slices.Contains(o.Skip, s.Name) {
			continue
		}
		for _, client := range o.Clients {
			table.add(s, client, c.compare(ctx, client, s))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	table.write(o.Report)
	if table.bad > 0 {
		return fmt.Errorf("%w in %d of %d cells", ErrDiffers, table.bad, table.cells)
	}
	return nil
}

func selected(name string, only []string) bool {
	for _, part := range only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(only) == 0
}

// check holds the data that all comparisons share.
type check struct {
	Options
	dir     string
	ours    string // the link to our program
	configs string
}

func newCheck(o Options) (*check, error) {
	dir, err := os.MkdirTemp("", "clients-")
	if err != nil {
		return nil, err
	}
	c := &check{Options: o, dir: dir, ours: filepath.Join(dir, "nats-server")}
	folder, err := filepath.Abs(o.Folder)
	c.Folder, c.configs = folder, filepath.Join(folder, "configs")
	target, targetErr := filepath.Abs(o.Ours)
	reference, referenceErr := filepath.Abs(o.Reference)
	c.Reference = reference
	return c, errors.Join(err, targetErr, referenceErr, os.Symlink(target, c.ours))
}

// compare returns the text of a cell of the table.
func (c *check) compare(ctx context.Context, client Client, s Scenario) cell {
	if _, none := s.Without[client.Name]; none {
		return absent
	}
	want, err := c.run(ctx, client, s, c.Reference)
	if err != nil {
		return c.failed("nats-server", client, s, err)
	}
	if cell, err := c.golden(client, s, want); err != nil || cell != same {
		if err != nil {
			return c.failed("nats-server", client, s, err)
		}
		return cell
	}
	return c.ourCell(ctx, client, s, want)
}

// ourCell runs the program against ours, where the reference made it print want.
func (c *check) ourCell(ctx context.Context, client Client, s Scenario, want string) cell {
	known, err := c.explained(client, s)
	if err != nil {
		return c.failed("ours", client, s, err)
	}
	got, err := c.run(ctx, client, s, c.ours)
	switch {
	case err != nil:
		if got != "" {
			c.differs("ours", client, s, want, got)
		}
		return c.failed("ours", client, s, err)
	case known != "" && got == known:
		return explained
	case known != "" && got == want:
		return c.failed("ours", client, s, errors.New("the difference that is explained is no more"))
	case got == want:
		return same
	}
	c.differs("ours", client, s, want, got)
	return different
}

// run has a directory of its own, with new keys.
func (c *check) run(ctx context.Context, client Client, s Scenario, program string) (string, error) {
	dir, err := os.MkdirTemp(c.dir, "run-")
	if err != nil {
		return "", err
	}
	m, err := newMaterial(dir)
	if err != nil {
		return "", err
	}
	v, err := newServer(program, m, c.configs, s)
	if err != nil {
		return "", err
	}
	return run(ctx, client, s, v, c.configs)
}

// golden compares the reference's output with the kept one, or keeps it.
func (c *check) golden(client Client, s Scenario, output string) (cell, error) {
	file := filepath.Join(c.Folder, "golden", client.Name, s.Name+".txt")
	if c.Update {
		return same, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(output), 0o644))
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		return stale, err
	}
	if string(kept) != output {
		c.differs("nats-server", client, s, string(kept), output)
		return stale, nil
	}
	return same, nil
}

// explained returns our output where it is known to differ from nats-server's; "" where there is no
// such difference. The file's first line has the reason.
func (c *check) explained(client Client, s Scenario) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.Folder, "explained", client.Name, s.Name+".txt"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	reason, output, _ := strings.Cut(string(text), "\n")
	if err == nil && !strings.HasPrefix(reason, "# ") {
		err = fmt.Errorf("explained/%s/%s.txt gives no reason", client.Name, s.Name)
	}
	return output, err
}

func (c *check) failed(server string, client Client, s Scenario, err error) cell {
	fmt.Fprintf(c.Report, "%s, %s, %s: %v\n", s.Name, client.Name, server, err)
	if server == "ours" {
		return different
	}
	return stale
}

// differs writes the lines of which one side has none, as they come.
func (c *check) differs(server string, client Client, s Scenario, want, got string) {
	fmt.Fprintf(c.Report, "%s, %s, %s differs:\n", s.Name, client.Name, server)
	for _, line := range difference(want, got) {
		fmt.Fprintln(c.Report, "   ", line)
	}
}

// Client is one client library with its program.
type Client struct {
	Name    string
	Command []string
}

// ParseClient reads NAME=COMMAND, whose words are split at spaces.
func ParseClient(text string) (Client, error) {
	name, command, _ := strings.Cut(text, "=")
	words := strings.Fields(command)
	if name == "" || len(words) == 0 {
		return Client{}, fmt.Errorf("%q is not NAME=COMMAND", text)
	}
	return Client{name, words}, nil
}
