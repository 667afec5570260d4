package fence

// Sampled says whether the i-th of many runs that have nothing to do with each other is one of
// those that there is time for: without the race detector each is.
func Sampled(i int) bool { return i%Slowdown == 0 }
