// Package process starts and stops processes that are measured, and reads their use of processor
// time, memory and descriptors. It is outside lab/internal because tests of cmd/paddock use it.
package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// follows is the variable that tells a child to call Follow. Its value lists the directories
// that the child removes.
const follows = "PADDOCK_BENCH_FOLLOWS"

// separator stands between two directories of the list. A name that holds it is not listed.
const separator = "\n"

// Options say how Start starts a child.
type Options struct {
	// Follows says that the child is this program, which calls Follow: it reads its standard
	// input until that ends.
	Follows bool
	// Place, if not nil, calls start, and may prepare the thread for it.
	Place func(start func() error) error
}

// Start starts a child that ends with this process, however this process ends. A child that
// follows sees the end of a pipe. On Linux, each child gets a signal from the kernel besides:
// SIGTERM, or where it follows, one that Follow alone waits for. The caller calls wait once, as
// it would call cmd.Wait.
//
// The kernel sends the signal when the thread that started the child ends. So a goroutine keeps
// the thread until wait returns.
func Start(cmd *exec.Cmd, o Options) (wait func() error, err error) {
	if o.Follows {
		if _, err := cmd.StdinPipe(); err != nil { // cmd.Wait closes it
			return nil, err
		}
		cmd.Env = append(cmd.Environ(), follows+"="+temporary.list())
	}
	endWithParent(cmd, o.Follows)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := cmd.Start
		if o.Place != nil {
			start = func() error { return o.Place(cmd.Start) }
		}
		started <- start()
		<-ended
	}()
	if err := <-started; err != nil {
		close(ended)
		return nil, err
	}
	return func() error {
		defer close(ended)
		return cmd.Wait()
	}, nil
}

// CombinedOutput runs a child to its end, as cmd.CombinedOutput does. The child ends with this
// process.
func CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	wait, err := Start(cmd, Options{})
	if err != nil {
		return nil, err
	}
	err = wait()
	return out.Bytes(), err
}

// Follow ends this process with code when its parent ends, if the parent has started it as a
// child that follows. It is called once, at the start of the program.
func Follow(code int) {
	list, ok := os.LookupEnv(follows)
	if !ok {
		return
	}
	_ = os.Unsetenv(follows)       // of no meaning to others; the name is valid
	signal.Ignore(syscall.SIGPIPE) // of a log that the parent read: the directories come first
	ended := parentDeath()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end, too
		ended <- os.Interrupt
	}()
	go func() {
		<-ended
		for _, dir := range strings.Split(list, separator) {
			if removable(dir) { // whatever the variable says
				removeUsed(dir)
			}
		}
		os.Exit(code)
	}()
}

// removeUsed removes a directory in which this process and others still make files, which would
// keep RemoveAll from its end. A new name hides it from them first. An error has no reader, since
// the parent is gone.
func removeUsed(dir string) {
	hidden := dir + ".removed"
	if os.Rename(dir, hidden) != nil {
		hidden = dir
	}
	for range 3 { // a file may be on its way into it
		if os.RemoveAll(hidden) == nil {
			return
		}
	}
}

// temporary are the directories of TempDir that are not removed yet.
var temporary directories

type directories struct {
	mu  sync.Mutex
	all []string
}

// list returns the directories as the value of a variable.
func (d *directories) list() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.all, separator)
}

// benchPrefix begins the names of directories of TempDirIn, so that Follow removes no others.
const benchPrefix = "paddock-bench-"

// removable reports whether a directory can be one of TempDir or TempDirIn.
func removable(dir string) bool {
	return filepath.Dir(dir) == filepath.Clean(os.TempDir()) || strings.HasPrefix(filepath.Base(dir), benchPrefix)
}

// TempDir makes a temporary directory. If this process ends without a call of remove, children
// that follow it and were started later remove the directory.
func TempDir(pattern string) (dir string, remove func() error, err error) {
	return tempDir("", pattern)
}

// TempDirIn does the same below another directory than that of the system.
func TempDirIn(parent, name string) (dir string, remove func() error, err error) {
	if parent, err = filepath.Abs(parent); err != nil {
		return "", nil, err
	}
	return tempDir(parent, benchPrefix+name+"-")
}

func tempDir(parent, pattern string) (dir string, remove func() error, err error) {
	if dir, err = os.MkdirTemp(parent, pattern); err != nil {
		return "", nil, err
	}
	temporary.mu.Lock()
	defer temporary.mu.Unlock()
	if !strings.Contains(dir, separator) {
		temporary.all = append(temporary.all, dir)
	}
	return dir, func() error {
		temporary.mu.Lock()
		defer temporary.mu.Unlock()
		temporary.all = slices.DeleteFunc(temporary.all, func(d string) bool { return d == dir })
		return os.RemoveAll(dir)
	}, nil
}

// Environment is ours without the settings of the program that is to be started: it gets
// those of its arguments.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PADDOCK_") })
}

// Use is the use of resources by a process at a moment; CPU is the sum so far.
type Use struct {
	CPU         time.Duration
	Resident    int64 // bytes
	MaxResident int64 // bytes, at any time so far
	Written     int64 // bytes that it has given to disks so far; 0 = unknown
	Descriptors int
	Threads     int
}

// Profile writes a profile of this process's CPU to a file until stop is called. Without a file
// it does nothing.
func Profile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
