package ab

// KeepAtMost bounds the requests that are kept one by one.
func (r *Recorder) KeepAtMost(n int) { r.limit = n }

// Forget makes room for more of them.
func (r *Recorder) Forget() { r.samples = r.samples[:0] }
