//go:build !linux

package load

import (
	"errors"
	"runtime"
)

// readMachine returns the use of the process and the machine so far, where it is known.
func readMachine() MachineUse {
	return MachineUse{Processors: runtime.GOMAXPROCS(0), GCPause: gcPause()}
}

const haveEpoll = false

func newEpoll(*Plan) (engine, error) {
	return nil, errors.New("load: the epoll engine runs on Linux only; use the portable one")
}
