package load

import (
	"errors"
	"syscall"
)

// Class says how a request ended.
type Class uint8

// The classes. Everything but ClassOK is an error.
const (
	ClassOK          Class = iota
	ClassDNS               // the name has no address
	ClassRefused           // connect: no process listens
	ClassConnectTime       // connect: no answer in time
	ClassConnect           // connect: anything else
	ClassPorts             // connect: no free port (EADDRNOTAVAIL)
	ClassFiles             // connect: no free descriptor (EMFILE, ENFILE)
	ClassTLS               // the handshake of TLS failed
	ClassWrite             // the request could not be written
	ClassReset             // the connection was reset before the answer was complete
	ClassEarlyEnd          // the connection ended within an answer
	ClassClosed            // the connection ended before the answer began
	ClassParse             // the bytes are no answer of the protocol
	ClassProtocol          // an answer that was not asked for
	ClassStream            // the service ended the request alone (RST_STREAM)
	ClassGoAway            // the service ends the connection and did not take the request (GOAWAY)
	ClassTimeout           // no answer in time
	ClassStatus            // an answer that says that it failed: HTTP 400 and above, -ERR
	ClassBody              // an answer whose body is not the expected one
	ClassShed              // never sent: it was too late when its turn came
	ClassDropped           // never sent: no connection was idle
	Classes                // how many there are
)

var classNames = [Classes]string{
	"ok", "dns", "connect-refused", "connect-timeout", "connect", "out-of-ports", "out-of-files",
	"tls", "write", "reset", "eof-mid", "closed", "parse", "protocol", "rst-stream", "goaway", "timeout", "status",
	"body-mismatch", "shed", "dropped",
}

// String is the class's name in reports.
func (c Class) String() string { return nameOf(classNames[:], c) }

// Failed is an error with the class under which it is counted.
type Failed struct {
	Class Class
	Err   error
}

func (e *Failed) Error() string { return e.Class.String() + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *Failed) Unwrap() error { return e.Err }

// Cause says why a request was sent later than it was due.
type Cause uint8

// The causes. All but ConnWait are the generator's own.
const (
	OnTime    Cause = iota // within the bound of Plan.Tolerance
	ConnWait               // no connection was idle: the service was not done
	LoopLate               // the thread was busy, or did not run
	TimerLate              // the thread was woken too late
	Script                 // the request itself was not ready
	Causes                 // how many there are
)

var causeNames = [Causes]string{"on-time", "conn-wait", "loop-late", "timer-late", "script"}

// String is the cause's name in reports.
func (c Cause) String() string { return nameOf(causeNames[:], c) }

// classOf returns the class that an error carries, or the class of a system error.
func classOf(err error, otherwise Class) Class {
	if f, ok := errors.AsType[*Failed](err); ok {
		return f.Class
	}
	for _, of := range []struct {
		err   error
		class Class
	}{
		{syscall.ECONNREFUSED, ClassRefused},
		{syscall.EADDRNOTAVAIL, ClassPorts},
		{syscall.EMFILE, ClassFiles},
		{syscall.ENFILE, ClassFiles},
		{syscall.ECONNRESET, ClassReset},
		{syscall.EPIPE, ClassReset},
		{syscall.ETIMEDOUT, ClassConnectTime},
	} {
		if errors.Is(err, of.err) {
			return of.class
		}
	}
	return otherwise
}
