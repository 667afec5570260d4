package ab

// KeepAtMost bounds the requests that are kept one by one.
func (r *Recorder) KeepAtMost(n int) { r.limit = n }
