// Package programs helps with the programs that the comparisons start.
package programs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"paddock/lab/process"
)

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

// FreePort returns a port of this machine on which no program listens now.
func FreePort() (string, error) {
	at, err := process.FreeAddress()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(at)
	return port, err
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
