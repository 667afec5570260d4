package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/terminal"
)

// backupCmd writes a backup of a running platform.
type backupCmd struct {
	Output string `short:"o" required:"" placeholder:"FILE" help:"The file to write, a tar file; - is standard output."`
	Server string `placeholder:"URL" default:"http://127.0.0.1:8080" help:"Address of the platform."`
	Token  string `placeholder:"TOKEN" help:"The platform's token, if it has one (default $PADDOCK_HTTP_TOKEN)."`
}

// Run asks the platform for the backup. A file that is not whole is removed.
func (b *backupCmd) Run(ctx context.Context, c *console) (err error) {
	address, err := url.JoinPath(b.Server, "v1/backup")
	if err != nil {
		return usagef("--server %s: %w", b.Server, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return usagef("--server %s: %w", b.Server, err)
	}
	if b.Token == "" {
		b.Token = os.Getenv("PADDOCK_HTTP_TOKEN")
	}
	if b.Token != "" {
		req.Header.Set("Authorization", "Bearer "+b.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%w: is the platform running there? --server names another address", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // only a help
		return fmt.Errorf("%s: %s: %s", b.Server, res.Status, strings.TrimSpace(string(text)))
	}
	line := terminal.NewStatusLine(c.Stderr)
	defer line.Show("")
	if b.Output == "-" {
		_, err := copyShown(c.Stdout, res.Body, line, "written")
		return err
	}
	partial := b.Output + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := copyShown(f, res.Body, line, "written")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, b.Output)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", b.Output, err), os.Remove(partial))
	}
	line.Show("")
	fmt.Fprintf(c.Stdout, "%s: %v\n", b.Output, config.Size(n))
	return nil
}

// restoreCmd makes a data directory of a backup.
type restoreCmd struct {
	File string `arg:"" help:"The backup; - is standard input."`
	Data string `placeholder:"DIR" help:"The data directory (default as for up). It must not have a journal."`
}

// Run restores, and says how to go on.
func (r *restoreCmd) Run(c *console) error {
	dir, err := dataDir(r.Data)
	if err != nil {
		return err
	}
	if dir == "" {
		return usageError{errors.New("--data off: name the directory to restore into")}
	}
	in := c.Stdin
	if r.File != "-" {
		f, err := os.Open(r.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	line := terminal.NewStatusLine(c.Stderr)
	defer line.Show("")
	if err := platform.Restore(&shown{Reader: in, line: line, verb: "read"}, dir); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	line.Show("")
	fmt.Fprintf(c.Stdout, "restored into %s; start it with: paddock up --data %s\n", dir, dir)
	return nil
}

// shown is a reader that shows how many bytes have passed.
type shown struct {
	io.Reader
	line *terminal.StatusLine
	verb string
	n    int64
	next time.Time
}

func (s *shown) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.n += int64(n)
	if now := time.Now(); now.After(s.next) {
		s.next = now.Add(200 * time.Millisecond)
		s.line.Show(fmt.Sprintf("%d MiB %s", s.n>>20, s.verb))
	}
	return n, err
}

// copyShown copies, and shows the bytes meanwhile.
func copyShown(w io.Writer, r io.Reader, line *terminal.StatusLine, verb string) (int64, error) {
	return io.Copy(w, &shown{Reader: r, line: line, verb: verb})
}
