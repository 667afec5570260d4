package admission

// Reason is why something was refused. It is also the label of a metric.
type Reason uint8

// The reasons.
const (
	NoBytes        Reason = iota // the request needs more bytes than the budget has left
	QueueFull                    // as many wait as may
	QueueTime                    // it has waited for as long as it may
	TooGreedy                    // its lane has half of everything while others wait
	TooManyStreams               // as many are open as may
	reasons
)

var reasonNames = [reasons]string{"bytes", "queue full", "queue time", "share", "streams"}

func (r Reason) String() string { return reasonNames[r] }

// Refusal is the error of work that was not let in. Nothing of it has begun.
type Refusal struct{ Reason Reason }

func (r *Refusal) Error() string { return "overloaded: " + r.Reason.String() }
