// Command dist makes the files of a release, see package dist. `make dist` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"paddock/packaging/internal/dist"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var b dist.Build
	flag.StringVar(&b.Root, "root", "..", "directory of the product's module")
	flag.StringVar(&b.Out, "out", "../artifacts/dist", "directory of the files")
	flag.StringVar(&b.Version, "version", "", "version (default that of git describe)")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "dist [flags] [TARGET...], where TARGET is of %v (default all)\n", dist.All)
		flag.PrintDefaults()
	}
	flag.Parse()
	targets, err := dist.ParseTargets(flag.Args())
	if err != nil {
		return err
	}
	for _, dir := range []*string{&b.Root, &b.Out} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if err := b.Describe(); err != nil {
		return err
	}
	return b.Release(ctx, targets, func(file string) { fmt.Println(file) })
}
