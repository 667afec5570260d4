package load

import "math/rand/v2"

// resamples is how many there are of a run: for the ends of an interval of 95 %.
const resamples = 1000

// draws are resamples of a run of so many parts, each of as many parts as the run: blocks
// of parts that follow one another, of which the last may be shorter.
type draws struct {
	parts, block, rest int // rest is the length of the last block
	// starts are those of the blocks, for one resample after the other. They lie on a circle, so
	// that the ends are drawn as often as the middle.
	starts []int8
}

// newDraws always draws the same.
func newDraws(parts, block int) *draws {
	blocks := (parts + block - 1) / block
	d := &draws{parts: parts, block: block, rest: parts - (blocks-1)*block, starts: make([]int8, resamples*blocks)}
	rng := rand.New(rand.NewPCG(uint64(parts), resamples))
	for i := range d.starts {
		d.starts[i] = int8(rng.IntN(parts))
	}
	return d
}

// sums sets, for each resample, its sum over the values of its parts.
func (d *draws) sums(sums, of []float64) {
	whole, rest := d.blockSums(of, d.block), d.blockSums(of, d.rest)
	blocks := len(d.starts) / resamples
	for i := range sums {
		starts := d.starts[i*blocks : (i+1)*blocks]
		last := blocks - 1
		sum := rest[starts[last]]
		for _, at := range starts[:last] {
			sum += whole[at]
		}
		sums[i] = sum
	}
}

// blockSums gives the sums of blocks of a length, by where they start.
func (d *draws) blockSums(of []float64, length int) (sums [maxParts]float64) {
	for at := range d.parts {
		for i := range length {
			sums[at] += of[(at+i)%d.parts]
		}
	}
	return sums
}
