//go:build !linux

package load

import "runtime"

// readMachine is what the process and the machine have done so far, as far as it is known.
func readMachine() MachineUse {
	return MachineUse{Processors: runtime.GOMAXPROCS(0), GCPause: gcPause()}
}
