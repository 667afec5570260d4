package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// table prints lines with aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, head ...string) *table {
	t := &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

// row adds a line. Control characters of its texts, which may be anything, reach no terminal.
func (t *table) row(cells ...string) {
	for i, text := range cells {
		cells[i] = plain(text)
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t")) // the error is that of flush
}

func (t *table) flush() error { return t.w.Flush() }

// plain returns a text without control characters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// pageSize is the number of elements that one request of a list asks for.
const pageSize = 1000

// listing prints the elements of a list of the API, page by page: as a table whose columns are as
// wide as those of the page need, or as an array of JSON objects.
type listing[T any] struct {
	*remote
	path   string
	query  url.Values
	member string // of the answer, which has the elements
	json   bool
	most   int // elements; 0: all

	head  []string
	cells func(element *T) []string
}

// print asks for the pages and prints them. It holds one page at a time.
func (l *listing[T]) print(ctx context.Context, c *Console) error {
	out := bufio.NewWriter(c.Stdout)
	printed := 0
	var t *table
	if !l.json {
		t = newTable(out, l.head...)
	}
	l.query.Set("after", "")
	for {
		left := l.most - printed
		l.query.Set("limit", strconv.Itoa(pageSize))
		if l.most > 0 {
			l.query.Set("limit", strconv.Itoa(min(pageSize, left)))
		}
		var page map[string]json.RawMessage
		if err := l.ask(ctx, &page, http.MethodGet, withQuery(l.path, l.query), nil, nil); err != nil {
			return err
		}
		var elements []json.RawMessage
		var next string
		if err := json.Unmarshal(page[l.member], &elements); err != nil {
			return fmt.Errorf("the answer of %s: %s: %w", l.found.url, l.member, err)
		}
		if raw := page["next"]; raw != nil {
			if err := json.Unmarshal(raw, &next); err != nil {
				return fmt.Errorf("the answer of %s: next: %w", l.found.url, err)
			}
		}
		for _, e := range elements {
			if err := l.element(out, t, e, printed); err != nil {
				return err
			}
			printed++
		}
		if t != nil {
			if err := t.flush(); err != nil {
				return err
			}
		}
		if next == "" || l.most > 0 && printed >= l.most {
			break
		}
		if err := out.Flush(); err != nil {
			return err
		}
		l.query.Set("after", next)
	}
	if l.json {
		endArray(out, printed)
	}
	return out.Flush()
}

func (l *listing[T]) element(out *bufio.Writer, t *table, raw json.RawMessage, printed int) error {
	if l.json {
		return arrayElement(out, raw, printed)
	}
	var e T
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the answer of %s: %s: %w", l.found.url, l.member, err)
	}
	t.row(l.cells(&e)...)
	return nil
}

// arrayElement writes an element of an array, as printJSON would. The error of the writer is left
// to its Flush.
func arrayElement(out *bufio.Writer, raw json.RawMessage, printed int) error {
	before := ",\n  "
	if printed == 0 {
		before = "[\n  "
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "  ", "  "); err != nil {
		return err
	}
	_, _ = out.WriteString(before)
	_, _ = out.Write(b.Bytes())
	return nil
}

func endArray(out *bufio.Writer, printed int) {
	if printed == 0 {
		_, _ = out.WriteString("[]\n")
		return
	}
	_, _ = out.WriteString("\n]\n")
}

// instant returns the time of a flag as a parameter: a time of RFC 3339, or a duration before now.
func instant(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z"), nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return "", usagef("--%s %s: neither a time of RFC 3339 such as 2026-01-31T15:04:05Z, nor a duration before now such as 10m", flag, text)
	}
	return text, nil
}
