//go:build unix

package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
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
	case "parent of a child that follows":
		parent(exec.Command(os.Args[0]), process.Options{Follows: true})
	case "parent":
		parent(exec.Command("sleep", "1000"), process.Options{})
	}
	select {} // a child waits for Follow, and a parent to be killed
}

// parent makes a directory, starts a child that shares its output, and prints the result.
func parent(cmd *exec.Cmd, o process.Options) {
	dir, _, err := process.TempDir("start-test-")
	fmt.Println(dir)
	cmd.Env = append(os.Environ(), role+"=child")
	cmd.Stdout = os.Stdout
	if err == nil {
		_, err = process.Start(cmd, o)
	}
	if err != nil || !o.Follows {
		fmt.Println("started:", err)
	}
}

// A child ends when its parent is killed, and removes the directories of the parent.
func TestStartEndsWithParent(t *testing.T) {
	for _, parent := range []string{"parent of a child that follows", "parent"} {
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
		if _, err := os.Stat(strings.TrimSpace(dir)); follows && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory is left: %v", parent, err)
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
