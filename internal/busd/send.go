package busd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Send gives a running server a signal: "reload", or "reload=" with a process id or
// the path of a pid file behind it. Without either there must be exactly one process
// for which is says yes, by its arguments.
func Send(order, name string, is func(args []string) bool) error {
	word, target, targeted := strings.Cut(order, "=")
	sig, ok := commands[word]
	if !ok {
		return fmt.Errorf("unknown signal %q: it is one of %s", word, strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	}
	pids := []int{0}
	var err error
	if targeted && target != "" {
		pids[0], err = readPid(target)
	} else {
		pids, err = findProcesses(is)
	}
	switch {
	case err != nil:
		return err
	case len(pids) == 0:
		return fmt.Errorf("no %s processes running", name)
	case len(pids) > 1:
		return fmt.Errorf("multiple %s processes running: %v", name, pids)
	}
	process, err := os.FindProcess(pids[0])
	if err == nil {
		err = process.Signal(sig)
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = syscall.ESRCH
	}
	if err != nil {
		return fmt.Errorf("signal %q %d: %w", word, pids[0], err)
	}
	return nil
}

// readPid takes a process id, or the path of a file that holds one.
func readPid(target string) (int, error) {
	text := target
	if _, err := strconv.Atoi(target); err != nil {
		file, err := os.ReadFile(target)
		if err != nil {
			return 0, err
		}
		text = strings.TrimSpace(string(file))
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%s holds no process id", target)
	}
	return pid, nil
}

// findProcesses lists the processes of this machine, but for this one, that is says
// yes to.
func findProcesses(is func(args []string) bool) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, errors.New("cannot list the processes of this system: give a process id or a pid file")
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && len(text) > 0 && is(strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
