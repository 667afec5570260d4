package journal

// Usage returns the bytes of the journal's files, and the free bytes of their disk.
func (d *Disk) Usage() (used, free uint64, err error) {
	usage, err := d.fs.GetDiskUsage(d.dir)
	return d.db.Metrics().DiskSpaceUsage(), usage.AvailBytes, err
}

// EventBytes returns the bytes on disk of the events from a cursor on, roughly.
func (d *Disk) EventBytes(from uint64) (uint64, error) {
	n, err := d.db.EstimateDiskUsage(pieceKey(from), []byte{keyPiece + 1})
	return n, d.readError(err)
}

// RecordBytes returns the bytes on disk of the records from a number on, roughly.
func (d *Disk) RecordBytes(from uint64) (uint64, error) {
	n, err := d.db.EstimateDiskUsage(recordKey(from), []byte{keyRecord + 1})
	return n, d.readError(err)
}

// ValueBytes returns the bytes on disk of the values of a span, roughly.
func (d *Disk) ValueBytes(s Span) (uint64, error) {
	n, err := d.db.EstimateDiskUsage(metaKey(s.From), metaKey(s.To))
	return n, d.readError(err)
}
