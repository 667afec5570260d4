package wire

// SetSentBefore says how many posts of the session other connections carried.
func SetSentBefore(c *Config, n uint64) { c.sentBefore = n }
