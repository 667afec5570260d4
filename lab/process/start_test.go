//go:build unix

package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/process"
)

// role is the variable that makes this test a parent or a child.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "child":
		process.Follow(130)
		fmt.Println("follows")
	case "child that writes":
		process.Follow(130)
		fmt.Println("follows")
		for dir, n := os.Getenv("PROCESS_TEST_DIR"), 0; ; n++ {
			_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(os.Getpid(), n)), nil, 0o600) // fails once dir is gone
		}
	case "parent of a child that follows":
		parent("child", exec.Command(os.Args[0]), process.Options{Follows: true})
	case "parent of a child that writes":
		parent("child that writes", exec.Command(os.Args[0]), process.Options{Follows: true})
	case "parent":
		parent("child", exec.Command("sleep", "1000"), process.Options{})
	}
	select {} // a child waits for Follow, and a parent to be killed
}

// parent makes a directory, starts a child that shares its output, and prints the result.
func parent(child string, cmd *exec.Cmd, o process.Options) {
	dir, _, err := process.TempDir("start-test-")
	fmt.Println(dir)
	cmd.Env = append(os.Environ(), role+"="+child, "PROCESS_TEST_DIR="+dir)
	cmd.Stdout = os.Stdout
	if err == nil {
		_, err = process.Start(cmd, o)
	}
	if err != nil || !o.Follows {
		fmt.Println("started:", err)
	}
}

// A child ends when its parent is killed, and removes the directories of the parent, also while it
// makes files there.
func TestStartEndsWithParent(t *testing.T) {
	for _, parent := range []string{"parent of a child that follows", "parent of a child that writes", "parent"} {
		follows := parent != "parent"
		if !follows && runtime.GOOS != "linux" {
			continue // it takes the kernel's signal
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), role+"="+parent, "TMPDIR="+t.TempDir())
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		cmd.Stdout = write
		if err := errors.Join(cmd.Start(), write.Close(), read.SetReadDeadline(time.Now().Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(read)
		dir, err1 := in.ReadString('\n')
		line, err2 := in.ReadString('\n')
		if err := errors.Join(err1, err2); err != nil || line != "follows\n" && line != "started: <nil>\n" {
			t.Errorf("%s: %q, %v", parent, line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()                                     // killed
		if _, err := io.Copy(io.Discard, in); err != nil { // returns when the child has ended, too
			t.Errorf("%s: the child is left: %v", parent, err)
		}
		if left, err := os.ReadDir(filepath.Dir(dir)); follows && (err != nil || len(left) > 0) {
			t.Errorf("%s: left in the temporary directory: %v, %v", parent, left, err)
		}
	}
}

// A child outlives the thread of the goroutine that called Start, and ends when it is told to.
func TestStartKeepsChild(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	var wait func() error
	var err error
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // without an unlock: the thread ends
		wait, err = process.Start(cmd, process.Options{})
	}()
	if <-started; err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, "hello"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := errors.Join(in.Close(), wait()); err != nil {
		t.Error(err)
	}
	if _, err := process.Start(exec.CommandContext(t.Context(), "/nowhere"), process.Options{Follows: true}); err == nil {
		t.Error("a program that is not there starts")
	}
}
