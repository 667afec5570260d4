package tunnel

// End is how a connection ended that was carried as it is; it is also the word for a log.
type End string

// The ends.
const (
	Closed       End = "closed"  // both directions ended well
	CutByVisitor End = "visitor" // the visitor has reset it, or took nothing for too long
	CutByTarget  End = "target"  // the target, or its client, has reset it
	CutSilent    End = "silent"  // one direction had ended, and the other one was silent for Limits.Linger
	CutLost      End = "lost"    // the connection of the client has ended
	CutStopped   End = "stopped" // the server has
	CutSomewhere End = "cut"     // a direct one, by the visitor or the target
)
