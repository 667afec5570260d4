package tunnel

// Stage is where on his way a visitor was who was refused for the reason.
func (r Reason) Stage() string {
	switch r {
	case NoRoute, Denied, Misdirected:
		return "route"
	case LinkBehind:
		return "link"
	case Unauthenticated:
		return "authorise"
	case Overloaded:
		return "permit"
	case ClientAway:
		return "session"
	case ClientFull, HintFull, ClientLost:
		return "client"
	case HintDown, Unreachable, Broken, TooLate:
		return "target"
	case Unintroduced:
		return "accept"
	case Gone:
		return "visitor"
	}
	return "head"
}

// Reasons are all there are.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for r := range all {
		all[r] = Reason(r)
	}
	return all
}
