package wire

// Whoever has little to say lets the others who are about to speak add to it before he
// writes: one write for all of them. He who is alone has no use for that, and it is dear:
// at each yield the scheduler wakes another thread to look for work.
const (
	// aloneTurns is after how many turns in a row that have brought nobody it ends. Where
	// many speak, so many do not happen.
	aloneTurns = 16
	// aloneProbe is in which turn from there it is tried again.
	aloneProbe = 64
)

// company tells whether others are likely to add to what is about to be written. It is
// guarded by Conn.mu.
type company struct {
	alone uint32 // turns since somebody has
}

// likely begins a turn.
func (c *company) likely() bool {
	c.alone++
	return c.alone <= aloneTurns || c.alone%aloneProbe == 0
}

// came says that somebody has something to add.
func (c *company) came() { c.alone = 0 }
