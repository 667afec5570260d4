package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/cmd/paddock/output"
	"paddock/internal/platform/doctor/bundle"
	"paddock/internal/process/config"
	"paddock/internal/process/version"
)

// BugReport writes an archive about a running platform.
type BugReport struct {
	URL       string `arg:"" optional:"" placeholder:"URL" help:"Address of the platform, in place of --server."`
	Output    string `short:"o" placeholder:"FILE" help:"The file to write, a .tar.gz (default paddock-bugreport-TIME.tar.gz); - is standard output."`
	Positions bool   `help:"Leave coordinates in, and add the last position of each object, up to 1000."`
	remote
}

// Help describes what the archive holds.
func (*BugReport) Help() string {
	return `The archive has the version, the configuration in effect, the results of paddock doctor, metrics, the last 1000 lines of the log, counts and last rejections of each interface, sets without their shapes, rules, the state of webhooks and sinks, and the goroutines. Tokens, keys, secrets of webhooks, passwords in addresses and keys of devices are taken out of all of it, and coordinates too without --positions. Names of sets, fences, fleets and objects stay: look at it before it leaves your hands.

    paddock bugreport -o report.tar.gz
    paddock bugreport https://fleet.example.org --positions`
}

// Run asks the platform for its archive, adds what this side sees, and prints what the file holds.
func (b *BugReport) Run(ctx context.Context, c *Console) error {
	ctx, stop := interruptible(ctx) // so that no part of a file is left
	defer stop()
	if b.URL != "" {
		b.Server = b.URL
	}
	d := &Doctor{remote: b.remote}
	report, err := d.examine(ctx, nil)
	if err != nil {
		return err
	}
	path := "v1/bugreport"
	if b.Positions {
		path += "?positions=1"
	}
	res, err := b.open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	now := time.Now().UTC()
	name := "paddock-bugreport-" + now.Format("20060102T150405Z")
	if b.Output == "" {
		b.Output = name + ".tar.gz"
	}
	var files []bundle.File
	n, err := output.Write(c.Stdout, b.Output, func(to io.Writer) error {
		w := bundle.NewWriter(to, strings.TrimSuffix(filepath.Base(name), ".tar.gz"), now, &bundle.Redactor{Positions: b.Positions})
		w.Text("client.txt", []byte(version.Get().String()+"\n"))
		w.JSON("client-doctor.json", report)
		if files, err = w.Copy(res.Body); err != nil {
			return fmt.Errorf("the answer of %s: %w", res.Request.URL.Host, err)
		}
		return w.Close()
	})
	if err != nil || b.Output == "-" {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s: %v\n", b.Output, config.Size(n))
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range append(files, bundle.File{Name: "client.txt"}, bundle.File{Name: "client-doctor.json"}) {
		fmt.Fprintf(table, "  %s\t%s\n", f.Name, contents[f.Name])
	}
	return table.Flush()
}

// contents describes the files of the archive.
var contents = map[string]string{
	"version.txt":        "the build of the platform",
	"configuration.txt":  "the settings in effect, each with its place; keys by name, variables by name",
	"doctor.json":        "the results of the platform's checks",
	"metrics.txt":        "all metrics",
	"log.txt":            "the last 1000 lines of the log",
	"doors.json":         "counts and last rejections of each interface",
	"sets.json":          "sets, without their shapes",
	"rules.json":         "the first 1000 rules",
	"deliveries.json":    "the state of webhooks and sinks, without their addresses",
	"goroutines.txt":     "what the platform's goroutines do",
	"objects.json":       "the last positions of the first 1000 objects",
	"client.txt":         "the build of this program",
	"client-doctor.json": "the results of paddock doctor from here",
}
