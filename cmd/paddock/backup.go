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

	"paddock/internal/platform"
	"paddock/internal/process/config"
)

// backupCmd writes a backup of a running platform.
type backupCmd struct {
	Output string `short:"o" required:"" placeholder:"FILE" help:"The file to write, a tar file; - is standard output."`
	Server string `placeholder:"URL" default:"http://127.0.0.1:8080" help:"Address of the platform."`
	Token  string `placeholder:"TOKEN" help:"The platform's token, if it has one (default $PADDOCK_HTTP_TOKEN)."`
}

// Run asks the platform for the backup.
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
	shown := c.progress()
	defer shown.end()
	n, err := writeOutput(c, b.Output, func(w io.Writer) error {
		_, err := io.Copy(w, &shownReader{Reader: res.Body, to: shown, verb: "written"})
		return err
	})
	if err != nil || b.Output == "-" {
		return err
	}
	shown.end()
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
	shown := c.progress()
	defer shown.end()
	if err := platform.Restore(&shownReader{Reader: in, to: shown, verb: "read"}, dir); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	shown.end()
	fmt.Fprintf(c.Stdout, "restored into %s; start it with: paddock up --data %s\n", dir, dir)
	return nil
}
