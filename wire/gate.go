package wire

// gate lets any number of goroutines wait for something to change, each with a
// context of its own. All of them are woken, so that none can be forgotten; who
// still cannot go on waits again. It is guarded by its owner's lock.
type gate struct{ changed chan struct{} }

// wait returns what the next open closes.
func (g *gate) wait() <-chan struct{} {
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

func (g *gate) open() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
