package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"paddock/cmd/paddock/output"
	"paddock/internal/process/config"
)

// Backup writes a backup of a running platform.
type Backup struct {
	Output  string `short:"o" required:"" placeholder:"FILE" help:"The file to write, a tar file; - is standard output."`
	Secrets bool   `name:"with-secrets" help:"Also write the secrets of webhooks, with which their requests are signed."`
	remote
}

// Run asks the platform for the backup.
func (b *Backup) Run(ctx context.Context, c *Console) (err error) {
	ctx, stop := interruptible(ctx) // so that no part of a file is left
	defer stop()
	path := "v1/backup"
	if b.Secrets {
		path += "?secrets=1"
	}
	res, err := b.open(ctx, http.MethodPost, path, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	shown := output.NewProgress(c.Stderr)
	defer shown.End()
	n, err := output.Write(c.Stdout, b.Output, func(w io.Writer) error {
		_, err := io.Copy(w, &output.Reader{Reader: res.Body, To: shown, Verb: "written"})
		return err
	})
	if err != nil || b.Output == "-" {
		return err
	}
	shown.End()
	fmt.Fprintf(c.Stdout, "%s: %v\n", b.Output, config.Size(n))
	return nil
}
