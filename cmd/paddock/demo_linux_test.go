package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDemoOpensTheBrowser: at the terminal of a desktop the demo hands its page to the browser, and
// without a desktop, or with --no-open, it does not.
func TestDemoOpensTheBrowser(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, display string
		args          []string
		opens         bool
	}{
		{"desktop", ":9", nil, true},
		{"no desktop", "", nil, false},
		{"asked for", "", []string{"--open"}, true},
		{"switched off", ":9", []string{"--no-open"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pages := filepath.Join(dir, "pages")
			if err := unix.Mkfifo(pages, 0o600); err != nil {
				t.Fatal(err)
			}
			opened, err := os.OpenFile(pages, os.O_RDWR, 0) // so that neither side waits for the other
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >%s\n", pages)
			if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			master, slave := pseudoTerminal(t)
			args := append([]string{
				"demo", "--vehicles", "10", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0",
			}, test.args...)
			cmd := exec.CommandContext(t.Context(), plain(t), args...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DISPLAY="+test.display, "WAYLAND_DISPLAY=", "SSH_CONNECTION=")
			cmd.Stdout = slave
			startOf(t, cmd)
			slave.Close()
			url := ""
			output := bufio.NewScanner(master)
			for url == "" && output.Scan() {
				url, _ = strings.CutPrefix(strings.TrimSpace(output.Text()), "Dashboard: ")
			}
			if test.opens {
				page, err := bufio.NewReader(opened).ReadString('\n')
				if err != nil || strings.TrimSpace(page) != url {
					t.Errorf("the browser was given %q, %v; the page is at %q", page, err, url)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if !test.opens {
				if n, _ := unix.IoctlGetInt(int(opened.Fd()), unix.TIOCINQ); n > 0 {
					t.Error("a browser was opened")
				}
			}
		})
	}
}

// pseudoTerminal opens both ends of a terminal: pts(4).
func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}
