package http1

// Arena holds requests as they are sent, one behind another in one piece of memory.
// Request number k of a run is its message k mod Len. An arena is filled, and then used by
// any number of goroutines. The zero value is empty.
type Arena struct {
	bytes    []byte
	messages []place
}

// place is where a message is in the arena.
type place struct {
	begin, end int
	head       int32
	form       Form
	target     uint16
}

// Add appends a request.
func (a *Arena) Add(r *Request) error {
	begin := len(a.bytes)
	bytes, head, form, err := r.Append(a.bytes)
	if err != nil {
		return err
	}
	a.bytes = bytes
	a.messages = append(a.messages, place{begin, len(bytes), int32(head), form, 0})
	return nil
}

// AddBodies appends a request for each body, like r but for that.
func (a *Arena) AddBodies(r Request, bodies [][]byte) error {
	room := 0
	for _, b := range bodies {
		room += len(b)
	}
	for i, b := range bodies {
		if r.Body = b; b == nil {
			r.Body = []byte{}
		}
		if err := a.Add(&r); err != nil {
			return err
		}
		if i == 0 { // the heads are about as long as the first
			a.reserve(room + len(bodies)*(len(a.bytes)-len(b)+maxDigits))
		}
	}
	return nil
}

// reserve makes room for so many bytes more.
func (a *Arena) reserve(n int) {
	if cap(a.bytes)-len(a.bytes) < n {
		a.bytes = append(make([]byte, 0, len(a.bytes)+n), a.bytes...)
	}
}

// Len is the number of requests.
func (a *Arena) Len() int { return len(a.messages) }

// Thread returns the arena, which all threads read.
func (a *Arena) Thread(int, int) Source { return a }

// Make gives request number k of a run. It is valid as long as the arena.
func (a *Arena) Make(k int64) (Message, error) {
	if len(a.messages) == 0 {
		return Message{}, errNoRequests
	}
	m := &a.messages[remainder(uint64(k), uint64(len(a.messages)))]
	return Message{a.bytes[m.begin:m.end:m.end], int(m.head), m.form, m.target}, nil
}

// remainder is k mod n, for n > 0. To divide takes long with 64 bits, and few runs need them.
func remainder(k, n uint64) uint64 {
	if (k|n)>>32 == 0 {
		return uint64(uint32(k) % uint32(n))
	}
	return k % n
}
