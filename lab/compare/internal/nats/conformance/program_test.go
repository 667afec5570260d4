package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// patience bounds a run of a test program by how many tests it is to run.
func patience(tests int) time.Duration {
	return min(time.Minute+time.Duration(tests)*5*time.Second, 10*time.Minute)
}

// command makes one that is ended with everything that it has started: servers,
// most of all.
func command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// output runs a command that must succeed and returns its standard output. The error has its
// standard error.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := command(ctx, dir, env, name, args...)
	var out, diagnosis bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnosis
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, diagnosis.Bytes())
	}
	return out.Bytes(), nil
}

// testProgram runs a program that fails if a test fails: that is no error here. It ends processes
// that the program leaves running, and the program itself.
func testProgram(ctx context.Context, bound time.Duration, dir string, env []string, name string, args ...string) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := command(bounded, dir, env, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || bounded.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return out.String(), err
}
