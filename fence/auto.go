package fence

// Below autoSmall parts a look at every box is faster than any search; a set that was larger
// goes back only at half of it, so that one at the limit does not change with each edit.
const autoSmall = 32

// autoWriter is the writer of a kind that suits the size of the set.
type autoWriter struct {
	small, large func() writer
	writer       writer // the one in use
	isLarge      bool
}

// newAutoWriter makes a writer that uses one of two kinds: one for small sets, one for large ones.
func newAutoWriter(small, large func() writer) writer {
	return &autoWriter{small: small, large: large, writer: small()}
}

func (w *autoWriter) replace(old, successor *entry) { w.writer.replace(old, successor) }

// current is the writer in use.
func (w *autoWriter) current() writer { return w.writer }

// publish builds everything anew where the kind changes.
func (w *autoWriter) publish(t *table) index {
	large := t.parts > autoSmall || w.isLarge && t.parts > autoSmall/2
	if large != w.isLarge {
		w.isLarge, w.writer = large, w.small()
		if large {
			w.writer = w.large()
		}
		for e := range t.all() {
			w.writer.replace(nil, e)
		}
	}
	return w.writer.publish(t)
}
