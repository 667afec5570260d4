package tunnelbench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"paddock/lab/process"
)

// perfRate is how often a second the processes are looked at: a rate that beats with nothing.
const perfRate = "997"

// profile records where processes spend their time, in the kernel too, until stop: perf
// writes it into a file, for `perf report -i`.
func profile(file string, pids []int) (stop func() error, err error) {
	program, err := exec.LookPath("perf")
	if err != nil {
		return nil, fmt.Errorf("--profile takes perf: %w", err)
	}
	list := make([]string, len(pids))
	for i, pid := range pids {
		list[i] = strconv.Itoa(pid)
	}
	cmd := exec.Command(program, "record", "--quiet", "-g", "-F", perfRate, "-o", file, "-p", strings.Join(list, ","))
	var said strings.Builder
	cmd.Stderr = &said
	wait, err := process.Start(cmd, process.Options{})
	if err != nil {
		return nil, err
	}
	return func() error {
		_ = cmd.Process.Signal(syscall.SIGINT)
		err := wait() // by that signal, when all is written
		if at, missing := os.Stat(file); missing != nil || at.Size() == 0 {
			return errors.Join(fmt.Errorf("perf: %s", said.String()), err)
		}
		return nil
	}, nil
}
