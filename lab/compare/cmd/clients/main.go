// Command clients runs the same programs in several NATS clients against
// nats-server and against Paddock, and fails where their output differs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"paddock/lab/compare/internal/nats/clientscheck"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := clientscheck.Options{Report: os.Stdout}
	flag.StringVar(&o.Reference, "reference", "bin/nats-server", "nats-server's `program`")
	flag.StringVar(&o.Ours, "ours", "bin/paddock", "our `program`")
	flag.StringVar(&o.Folder, "folder", "lab/compare/clients", "`folder` with configs and golden")
	flag.BoolVar(&o.Update, "update", false, "write the golden files from nats-server's runs")
	flag.Func("client", "a client's program, as `NAME=COMMAND`; may be repeated", func(text string) error {
		client, err := clientscheck.ParseClient(text)
		o.Clients = append(o.Clients, client)
		return err
	})
	flag.Func("only", "run only scenarios whose name contains one of these `words`, split by commas", func(text string) error {
		o.Only = strings.Split(text, ",")
		return nil
	})
	flag.Func("skip", "leave out this `scenario`; may be repeated", func(text string) error {
		o.Skip = append(o.Skip, text)
		return nil
	})
	flag.Parse()
	if len(o.Clients) == 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := clientscheck.Check(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}
