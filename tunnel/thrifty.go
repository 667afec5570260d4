package tunnel

import "net"

// littleRoom is how much an idle connection is read with that has to have a buffer.
const littleRoom = 2 << 10

// thriftyReader reads from a connection that takes a buffer to wait: a small one as long as
// little comes. It serves one goroutine.
type thriftyReader struct {
	conn   net.Conn
	little []byte
	much   bool // the last read has filled its buffer
}

// next waits until something has come, which is b[1:1+n]; b is the caller's, who puts it
// back.
func (t *thriftyReader) next() (b *record, n int, err error) {
	if !t.much {
		if t.little == nil {
			t.little = make([]byte, littleRoom)
		}
		n, err = t.conn.Read(t.little)
		t.much = n == len(t.little)
		if n == 0 {
			return nil, 0, err
		}
		b = records.Get().(*record)
		copy(b[1:], t.little[:n])
		return b, n, nil
	}
	b = records.Get().(*record)
	n, err = t.conn.Read(b[1:])
	t.much = n > littleRoom
	if n == 0 {
		records.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}
