package wiretest

// ring is a queue of bytes over one circular buffer, which grows to the most
// that it ever held. Its user bounds it.
//
// Invariant: 0 <= head < len(buf) or buf is empty; 0 <= size <= len(buf).
type ring struct {
	buf  []byte
	head int // index of the oldest byte
	size int // bytes held
}

// minRing is the first size of a buffer: a few small frames.
const minRing = 512

// push appends a copy of p.
func (r *ring) push(p []byte) {
	r.reserve(len(p))
	if len(p) == 0 {
		return
	}
	tail := (r.head + r.size) % len(r.buf)
	n := copy(r.buf[tail:], p)
	copy(r.buf, p[n:])
	r.size += len(p)
}

// pop moves the oldest min(len(p), size) bytes into p and returns their number.
func (r *ring) pop(p []byte) int {
	p = p[:min(len(p), r.size)]
	if len(p) == 0 {
		return 0
	}
	n := copy(p, r.buf[r.head:])
	copy(p[n:], r.buf)
	r.head = (r.head + len(p)) % len(r.buf)
	r.size -= len(p)
	return len(p)
}

// truncate drops the youngest n bytes.
func (r *ring) truncate(n int) { r.size -= n }

// reserve makes room for n more bytes.
func (r *ring) reserve(n int) {
	if r.size+n <= len(r.buf) {
		return
	}
	capacity := max(minRing, len(r.buf))
	for capacity < r.size+n {
		capacity *= 2
	}
	grown := make([]byte, capacity)
	size := r.pop(grown)
	*r = ring{buf: grown, size: size}
}
