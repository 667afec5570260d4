package fence

// Ref is the ordinal of a fence in its set, ascending in load order. It is stable for the
// life of the process: replacing a fence keeps it, and a deleted one's is never used again.
type Ref uint32

// Index finds the fences that hold a point. It is immutable and safe for any number of
// goroutines. Every kind gives the same answers.
type Index interface {
	// Append appends to dst the refs of the fences that hold the point, ascending and
	// without duplicates. lon, lat in degrees WGS84. It does not allocate if dst has room.
	Append(dst []Ref, lon, lat float64) []Ref

	// AppendBatch appends one answer for each point to dst. It panics if lon and lat differ
	// in length. It does not allocate if dst has room.
	AppendBatch(dst *Batch, lon, lat []float64)

	Stats() Stats
}

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

// appendEach fills the batch by one call of find for each point.
func (b *Batch) appendEach(lon, lat []float64, find func(dst []Ref, lon, lat float64) []Ref) {
	b.begin(lon, lat)
	for i := range lon {
		b.Refs = find(b.Refs, lon[i], lat[i])
		b.Offsets = append(b.Offsets, uint32(len(b.Refs)))
	}
}

// begin makes the batch ready for the answers for columns of one length.
func (b *Batch) begin(lon, lat []float64) {
	if len(lon) != len(lat) {
		panic("fence: AppendBatch: lon and lat differ in length")
	}
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
}

// Stats describes an index. Bytes is an estimate of what it holds beside the fences' own
// geometry and properties.
type Stats struct {
	Kind   Kind
	Fences int
	Parts  int
	Edges  int
	Bytes  int64
}

// writer builds the indexes of one set, one after the other. It belongs to the set's writer;
// what it publishes is immutable, however the writer goes on.
type writer interface {
	// replace takes out old and puts in its successor. Either may be nil. Entries are
	// put in by ascending ref at first, in any order later.
	replace(old, successor *entry)
	// publish gives the index of what is in now. t holds the same entries.
	publish(t *table) Index
}
