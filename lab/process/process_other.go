//go:build !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// endWithParent does nothing: there is no such signal. Children that follow see the end of the
// pipe.
func endWithParent(*exec.Cmd, bool) {}

// parentDeath returns a channel with room for one value.
func parentDeath() chan os.Signal { return make(chan os.Signal, 1) }

var errUse = fmt.Errorf("the use of a process is read from Linux's /proc: %w", errors.ErrUnsupported)

// Read is not there.
func Read(int) (Use, error) { return Use{}, errUse }

// CPU is not there.
func CPU(int) (time.Duration, error) { return 0, errUse }

// Processors is not there.
func Processors() (user, system, idle, steal time.Duration, err error) { return 0, 0, 0, 0, errUse }

// Target is not there.
type Target struct{}

// WatchTarget returns nil: it reads Linux's /proc.
func WatchTarget(_, _ string) *Target { return nil }

// Since returns nil.
func (*Target) Since() *TargetUse { return nil }
