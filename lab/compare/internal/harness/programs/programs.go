// Package programs holds the start and the end of each program of the comparisons, and helps
// with the programs that they start.
package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Main runs a program with the arguments behind its name. An interrupt or SIGTERM ends its
// context. An error is told on stderr, and makes the exit code 1, but for one that is
// [flag.ErrHelp]: then the flags have been listed.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Self is the path of the running program.
func Self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Beside is the path of a program in the folder of the running one.
func Beside(name string) string { return filepath.Join(filepath.Dir(Self()), name) }

// Find returns the path of a program that is looked for in PATH. The error for a missing one wraps
// [errors.ErrUnsupported].
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s here: %w", name, errors.ErrUnsupported)
	}
	return path, nil
}

// Missing returns the programs that Find does not find, with commas between them.
func Missing(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool {
		_, err := Find(name)
		return err == nil
	}), ", ")
}

// Build builds the package pkg, relative to the directory module, into the file program.
func Build(program, module, pkg string) error {
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, pkg)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, out)
	}
	return nil
}

// FreePort returns a port of this machine on which no program listens now. Another program may
// take it before the caller does.
func FreePort() (string, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(ports[0]), nil
}

// FreePorts is FreePort for several ports, no two of them the same.
func FreePorts(count int) (ports []int, err error) {
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// KeptPorts is FreePorts for ports on which programs listen again after they were stopped: the
// system gives them to no connection, as it does with those of FreePorts, which begin at 32768 on
// Linux.
func KeptPorts(count int) (ports []int, err error) {
	for tries := 0; len(ports) < count; tries++ {
		port := 10_000 + rand.IntN(22_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			if tries < 100*count {
				continue
			}
			return nil, err
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}
