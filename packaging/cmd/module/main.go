// Command module makes a copy of the tree with another module path, builds it and tests it, see
// package rename. `make module` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"paddock/packaging/internal/rename"
)

// step is a command in a directory of the copy.
type step struct {
	dir  string
	args []string
}

// some are the steps of a short test: everything compiles, and the rules of the tree hold.
var some = []step{
	{".", []string{"go", "build", "./..."}},
	{".", []string{"go", "test", "./internal/arch", "./internal/process/...", "./fence/geojson", "./wire/protocol", "./docs/..."}},
	{"lab/compare", []string{"go", "build", "./..."}},
	{"packaging", []string{"go", "vet", "./..."}},
}

// all are the steps of all tests.
var all = []step{
	{".", []string{"go", "vet", "./..."}},
	{".", []string{"go", "test", "./..."}},
	{"lab/compare", []string{"go", "vet", "./..."}},
	{"lab/compare", []string{"go", "test", "./..."}},
	{"packaging", []string{"go", "vet", "./..."}},
	{"packaging", []string{"go", "test", "./..."}},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

func run() error {
	root := flag.String("root", "..", "directory of the tree")
	to := flag.String("copy", "", "directory of the copy, which must not be there (default a temporary one)")
	tests := flag.String("tests", "some", "some, all or none")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "module [flags] HOST/OWNER/paddock")
		flag.PrintDefaults()
	}
	flag.Parse()
	steps := map[string][]step{"some": some, "all": all, "none": {}}[*tests]
	if flag.NArg() != 1 || flag.Arg(0) == "" || steps == nil {
		flag.Usage()
		return errors.New("one module path is needed: make module MODULE=example.com/owner/paddock")
	}
	rewriter, err := rename.New(*root, flag.Arg(0))
	if err != nil {
		return err
	}
	if *to == "" {
		dir, err := os.MkdirTemp("", "module-")
		if err != nil {
			return err
		}
		*to = filepath.Join(dir, "paddock")
	}
	if _, err := os.Stat(*to); err == nil {
		return fmt.Errorf("%s is there already", *to)
	}
	if err := rewriter.Copy(*root, *to); err != nil {
		return err
	}
	fmt.Printf("%s is in %s\n", flag.Arg(0), *to)
	for _, s := range steps {
		fmt.Printf("%s: %v\n", s.dir, s.args)
		cmd := exec.Command(s.args[0], s.args[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(*to, s.dir), os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %v: %w", s.dir, s.args, err)
		}
	}
	return nil
}
