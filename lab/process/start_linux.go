package process

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// orphaned is the signal by which the kernel tells a child that follows that its parent is gone.
// The services take SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 for their own purposes.
const orphaned = syscall.SIGPWR

// endWithParent has the kernel send a signal to the child when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd, follows bool) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if follows {
		cmd.SysProcAttr.Pdeathsig = orphaned
	}
}

// parentDeath returns a channel that gets the kernel's signal. One more value finds room.
func parentDeath() chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, orphaned)
	return c
}
