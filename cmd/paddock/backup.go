package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"paddock/internal/platform"
	"paddock/internal/process/config"
)

// backupCmd writes a backup of a running platform.
type backupCmd struct {
	Output  string `short:"o" required:"" placeholder:"FILE" help:"The file to write, a tar file; - is standard output."`
	Secrets bool   `name:"with-secrets" help:"Also write the secrets of webhooks, with which their requests are signed."`
	remote
}

// Run asks the platform for the backup.
func (b *backupCmd) Run(ctx context.Context, c *console) (err error) {
	path := "v1/backup"
	if b.Secrets {
		path += "?secrets=1"
	}
	res, err := b.open(ctx, http.MethodPost, path, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
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
