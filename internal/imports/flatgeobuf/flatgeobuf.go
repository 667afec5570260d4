// Package flatgeobuf reads FlatGeobuf files (flatgeobuf.org, version 3). The spatial index is
// passed over.
package flatgeobuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
)

// The fields of tables, in the order of the schema.
const (
	headerGeometryType = 2
	headerColumns      = 7
	headerCount        = 8
	headerNodeSize     = 9
	headerCRS          = 10

	columnName = 0
	columnType = 1

	crsOrganization = 0
	crsCode         = 1
	crsName         = 2
	crsText         = 4
	crsCodeText     = 5

	featureGeometry   = 0
	featureProperties = 1
	featureColumns    = 2
)

const (
	nodeBytes   = 40 // of the index: a box of doubles, and an offset
	defaultNode = 16
	maxColumns  = 65_536
)

// Is reports whether the bytes begin as a file of version 3 does.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte("fgb\x03fgb")) }

// header is what the header of a file says about its features.
type header struct {
	kind     byte // of geometries; 0 if each says its own
	columns  []column
	count    uint64 // of features; 0 if it is not known
	nodeSize uint16
}

// column is a property.
type column struct {
	name string
	kind byte
}

// Read reads a file. Altitudes and measures are left out. Each feature of the file is found by its
// number, from 0 on in the order of the file. A file with another coordinate reference system than
// WGS 84 is refused by its name; without one its coordinates are taken as they are, which a finding
// says.
func Read(in *feature.Input, out feature.Sink) error {
	if !Is(in.Data) || len(in.Data) < 12 {
		return in.Errorf("it is no FlatGeobuf file of version 3")
	}
	text, rest, err := sized(in.Data[8:])
	if err != nil {
		return in.Errorf("header: %w", err)
	}
	h, err := readHeader(text, out)
	if err != nil {
		return in.Errorf("header: %w", err)
	}
	index, err := h.indexBytes()
	if err == nil && index > uint64(len(rest)) {
		err = errors.New("the file ends within it")
	}
	if err != nil {
		return in.Errorf("index: %w", err)
	}
	rest = rest[index:]
	n := 0
	for ; len(rest) > 0; n++ {
		var one []byte
		if one, rest, err = sized(rest); err != nil {
			return in.Errorf("feature %d: %w", n, err)
		}
		f := &feature.Feature{Place: feature.Place{Unit: "feature", Number: n}}
		if err := h.feature(one, f); err != nil {
			out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", err))
			continue
		}
		if err := out.Take(f); err != nil {
			return err
		}
	}
	if h.count > 0 && uint64(n) != h.count {
		out.Note(feature.Refused(feature.Place{}, geojson.CodeInvalidGeometry, "%d features, the header names %d: the file is cut", n, h.count))
	}
	return nil
}

// sized cuts off a buffer that has its size before it.
func sized(b []byte) (one, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("the file ends within it")
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	if size > uint64(len(b)-4) {
		return nil, nil, errors.New("the file ends within it")
	}
	return b[4 : 4+size : 4+size], b[4+size:], nil
}

func readHeader(text []byte, out feature.Sink) (h header, err error) {
	t, err := rootOf(text)
	if err != nil {
		return h, err
	}
	if h.kind, err = t.byte(headerGeometryType); err != nil {
		return h, err
	}
	if h.columns, err = columnsOf(&t, headerColumns); err != nil {
		return h, err
	}
	if h.count, err = t.uint64(headerCount); err != nil {
		return h, err
	}
	if h.nodeSize, err = t.uint16(headerNodeSize, defaultNode); err != nil {
		return h, err
	}
	crs, ok, err := t.table(headerCRS)
	switch {
	case err != nil:
		return h, err
	case !ok:
		out.Note(feature.Noted(feature.Place{}, geojson.CodeCRS, "the file names no coordinate reference system: the coordinates are taken as longitude and latitude in WGS 84"))
		return h, nil
	}
	return h, checkCRS(&crs)
}

// columnsOf reads the columns of a header or a feature; nil if it has none. A buffer may name one
// column many times, so their names are bounded by the size of the buffer.
func columnsOf(t *table, field int) (columns []column, err error) {
	room := len(t.buf)
	err = t.tables(field, func(in *table) error {
		name, err := in.text(columnName)
		if err != nil {
			return err
		}
		if room -= len(name); room < 0 {
			return errors.New("more names of columns than the bytes can hold")
		}
		kind, err := in.byte(columnType)
		if columns = append(columns, column{name, kind}); len(columns) > maxColumns {
			return fmt.Errorf("over %d columns", maxColumns)
		}
		return err
	})
	return columns, err
}

// checkCRS refuses other systems than WGS 84.
func checkCRS(t *table) error {
	code, err := t.int32(crsCode)
	if err != nil {
		return err
	}
	var texts [6]string
	for _, i := range []int{crsOrganization, crsName, crsText, crsCodeText} {
		if texts[i], err = t.text(i); err != nil {
			return err
		}
	}
	organization := texts[crsOrganization]
	switch {
	case code == 4326 && (organization == "" || organization == "EPSG"), organization == "OGC" && texts[crsCodeText] == "CRS84":
		return nil
	case code == 0 && texts[crsText] != "":
		return feature.CheckCRS(texts[crsText])
	}
	name := texts[crsName]
	if code != 0 {
		if organization == "" {
			organization = "EPSG"
		}
		name = organization + ":" + strconv.Itoa(int(code)) + " " + name
	}
	return feature.OtherCRS(name)
}

// indexBytes returns the size of the index behind the header.
func (h *header) indexBytes() (uint64, error) {
	if h.nodeSize == 0 || h.count == 0 {
		return 0, nil
	}
	if h.nodeSize == 1 {
		return 0, errors.New("nodes of one entry")
	}
	if h.count > 1<<40 {
		return 0, fmt.Errorf("%d features", h.count)
	}
	nodes := h.count
	for n := h.count; n > 1; {
		n = (n + uint64(h.nodeSize) - 1) / uint64(h.nodeSize)
		nodes += n
	}
	if h.count == 1 {
		nodes++ // a root above the one leaf
	}
	return nodes * nodeBytes, nil
}
