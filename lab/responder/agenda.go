package responder

// appointment is an answer to give at an instant.
type appointment struct {
	at     int64 // ns
	c      *conn
	number uint32 // of the answer on its connection
}

// agenda is a heap of appointments, the next one first.
type agenda []appointment

func (a *agenda) add(x appointment) {
	h := append(*a, x)
	i := len(h) - 1
	for ; i > 0 && h[(i-1)/2].at > x.at; i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = x
	*a = h
}

// take removes the next one. There must be one.
func (a *agenda) take() appointment {
	h := *a
	first, x := h[0], h[len(h)-1]
	h[len(h)-1] = appointment{}
	h = h[:len(h)-1]
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].at < h[child].at {
			child++
		}
		if h[child].at >= x.at {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = x
	}
	*a = h
	return first
}
