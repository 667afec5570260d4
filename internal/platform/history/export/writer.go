package export

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Format is the form of a table.
type Format string

// The forms of tables.
const (
	Parquet Format = "parquet" // compressed by zstd
	CSV     Format = "csv"     // RFC 4180, with a line of names
	NDJSON  Format = "ndjson"  // an object on each line
)

const (
	// groupRows and groupBytes bound a row group of Parquet, which is in memory until it is
	// complete; bytes count the columns of JSON.
	groupRows  = 512 << 10
	groupBytes = 64 << 20
	// buffered is the number of bytes that are written at once.
	buffered = 256 << 10
)

// writer writes rows.
type writer[T row] interface {
	Write(rows []T) error
	Close() error // ends the table, but does not close the writer below
}

func newWriter[T row](f Format, w io.Writer) (writer[T], error) {
	out := bufio.NewWriterSize(w, buffered)
	switch f {
	case Parquet:
		return &parquetWriter[T]{GenericWriter: parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Zstd)), out: out}, nil
	case CSV:
		c := &csvWriter[T]{Writer: csv.NewWriter(out)}
		return c, c.Writer.Write(columns[T]())
	case NDJSON:
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return &jsonWriter[T]{e, out}, nil
	}
	return nil, fmt.Errorf("export: no format %q", f)
}

type parquetWriter[T row] struct {
	*parquet.GenericWriter[T]
	out         *bufio.Writer
	rows, bytes int // of the row group
}

// Write implements writer.
func (w *parquetWriter[T]) Write(rows []T) error {
	from := 0
	for i := range rows {
		w.rows++
		if w.bytes += rows[i].size(); w.rows < groupRows && w.bytes < groupBytes {
			continue
		}
		if _, err := w.GenericWriter.Write(rows[from : i+1]); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		from, w.rows, w.bytes = i+1, 0, 0
	}
	_, err := w.GenericWriter.Write(rows[from:])
	return err
}

// Close implements writer.
func (w *parquetWriter[T]) Close() error {
	if err := w.GenericWriter.Close(); err != nil {
		return err
	}
	return w.out.Flush()
}

type csvWriter[T row] struct {
	*csv.Writer
	fields []string
}

// Write implements writer.
func (w *csvWriter[T]) Write(rows []T) error {
	for i := range rows {
		w.fields = rows[i].fields(w.fields[:0])
		if err := w.Writer.Write(w.fields); err != nil {
			return err
		}
	}
	return nil
}

// Close implements writer.
func (w *csvWriter[T]) Close() error {
	w.Flush()
	return w.Error()
}

type jsonWriter[T row] struct {
	*json.Encoder
	out *bufio.Writer
}

// Write implements writer.
func (w *jsonWriter[T]) Write(rows []T) error {
	for i := range rows {
		if err := w.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close implements writer.
func (w *jsonWriter[T]) Close() error { return w.out.Flush() }
