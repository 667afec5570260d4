package busd

// action is what a signal asks for.
type action int

const (
	doNothing    action = iota
	doStop              // SIGINT
	doStopGently        // SIGTERM: nothing in lame duck mode, which ends by itself
	doReload            // SIGHUP
	doReopen            // SIGUSR1
	doLameDuck          // SIGUSR2
)
