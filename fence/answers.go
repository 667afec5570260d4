package fence

// Batch holds answers in compressed sparse rows: answer i is Refs[Offsets[i]:Offsets[i+1]].
// The zero Batch is ready to use. One holds at most 2^32-1 refs.
type Batch struct {
	Offsets []uint32
	Refs    []Ref
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Offsets, b.Refs = b.Offsets[:0], b.Refs[:0] }

// Len is the number of answers.
func (b *Batch) Len() int { return max(len(b.Offsets)-1, 0) }

// Answer is the i-th answer, borrowed until the batch changes.
func (b *Batch) Answer(i int) []Ref { return b.Refs[b.Offsets[i]:b.Offsets[i+1]] }

// Stats describes an index. Bytes is an estimate of what it holds beside the fences' own
// geometry and properties.
type Stats struct {
	Kind   Kind
	Fences int
	Parts  int
	Edges  int
	Bytes  int64
}
