package wire

import "paddock/internal/wire/frame"

// whenSlotFree registers a function to call when a local slot is free. A nil function is
// ignored. c.mu is held.
func (c *Conn) whenSlotFree(id frame.Slot, free func()) {
	if free == nil {
		return
	}
	if c.slotFree == nil {
		c.slotFree = map[frame.Slot]func(){}
	}
	c.slotFree[id] = free
	c.m.Watch(id)
}

// tellSlotFree calls the functions of the slots that have become free. c.mu is held.
func (c *Conn) tellSlotFree() {
	for _, id := range c.m.Watched {
		free := c.slotFree[id]
		delete(c.slotFree, id)
		free()
	}
	c.m.Watched = c.m.Watched[:0]
}

// endSlotFree calls all registered functions when the connection ends. c.mu is held.
func (c *Conn) endSlotFree() {
	for _, free := range c.slotFree {
		free()
	}
	c.slotFree, c.m.Watched = nil, nil
}
