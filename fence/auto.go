package fence

// Below autoSmall parts a look at every box is faster than any search; a set that was larger
// goes back only at half of it, so that one at the limit does not change with each edit.
const autoSmall = 32

// autoWriter is the writer of a kind that suits the size of the set.
type autoWriter struct {
	options Options // Kind is the one in use
	writer  writer
}

func newAutoWriter(o Options) writer {
	o.Kind = KindBBox
	return &autoWriter{o, newWriter(o)}
}

func (w *autoWriter) replace(old, successor *entry) { w.writer.replace(old, successor) }

// cellWriterOf is the writer of a cellmap that w is or has, nil if there is none.
func cellWriterOf(w writer) *cellWriter {
	if a, ok := w.(*autoWriter); ok {
		w = a.writer
	}
	c, _ := w.(*cellWriter)
	return c
}

// publish builds everything anew where the kind changes.
func (w *autoWriter) publish(t *table) Index {
	kind := w.options.Kind
	switch {
	case t.parts > autoSmall:
		kind = DefaultKind
	case t.parts <= autoSmall/2:
		kind = KindBBox
	}
	if kind != w.options.Kind {
		w.options.Kind = kind
		w.writer = newWriter(w.options)
		for e := range t.all() {
			w.writer.replace(nil, e)
		}
	}
	return w.writer.publish(t)
}
