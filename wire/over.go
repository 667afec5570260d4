package wire

// Watch lets the slot of a request or stream of ours be told of when it is free: the
// peer's last frame has come, and ours has been sent.
func (m *Machine) Watch(id Slot) {
	if s, own, is := m.find(id); own && is == isLive {
		s.set(watched)
	}
}

// whenOver remembers what is to be called when a slot of ours is free; nil is
// nothing. c.mu is held.
func (c *Conn) whenOver(id Slot, over func()) {
	if over == nil {
		return
	}
	if c.over == nil {
		c.over = map[Slot]func(){}
	}
	c.over[id] = over
	c.m.Watch(id)
}

// tellOver calls what waits for the slots that have become free. c.mu is held.
func (c *Conn) tellOver() {
	for _, id := range c.m.watched {
		over := c.over[id]
		delete(c.over, id)
		over()
	}
	c.m.watched = c.m.watched[:0]
}

// endOver calls all of it: the connection has ended. c.mu is held.
func (c *Conn) endOver() {
	for _, over := range c.over {
		over()
	}
	c.over, c.m.watched = nil, nil
}
